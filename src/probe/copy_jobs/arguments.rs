//! Sources and destination in the command line of cp, mv, install, rsync, tar or scp. Pure.
//!
//! The parser understands only enough to distinguish sources from options and destination. A word
//! that is mistaken for a source does not exist as a file, and counts nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Programs whose arguments are parsed, by the kernel's name for them.
pub const COPY_PROGRAMS: [&[u8]; 6] = [b"cp", b"mv", b"install", b"rsync", b"tar", b"scp"];

/// How the copied bytes are determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMethod {
    /// From the files below the destination.
    DestinationFiles,
    /// From the bytes that the process has read: there is no destination to check.
    ReadBytes,
    /// From the bytes that the process has written to an archive: with a header for each file, they
    /// are more than the files hold.
    ArchiveBytes,
}

/// Which directories a copy enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnteredDirectories {
    /// None: directories that are named as sources are left out.
    None,
    /// Those on the file system of the source.
    OneFileSystem,
    /// All.
    All,
}

/// Sources and destination of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOrder {
    /// Files and directories to copy.
    pub sources: Vec<PathBuf>,
    /// Destination: a directory, an archive, or another machine.
    pub destination: Option<PathBuf>,
    /// Base directory of relative sources, where the command sets one.
    pub directory: Option<PathBuf>,
    /// How the copied bytes are determined.
    pub count_method: CountMethod,
    /// Per source, whether a directory stands for its content instead of itself: for rsync, when
    /// the name ends in a slash.
    pub copies_contents: Vec<bool>,
    /// Whether the program changes its working directory, so that relative paths are relative to
    /// another one: rsync changes into the directories of its sources.
    pub changes_directory: bool,
    /// Which directories below the sources it enters.
    pub entered_directories: EnteredDirectories,
}

/// Short options with a value, and long options whose value is the next argument.
struct ValueOptions {
    short: &'static [u8],
    long: &'static [&'static str],
}

const CP_OPTIONS: ValueOptions = ValueOptions {
    short: b"tS",
    long: &["target-directory", "suffix"],
};
const INSTALL_OPTIONS: ValueOptions = ValueOptions {
    short: b"tSmog",
    long: &["target-directory", "suffix", "mode", "owner", "group"],
};
const RSYNC_OPTIONS: ValueOptions = ValueOptions {
    short: b"efBTM",
    long: &[
        "rsh",
        "filter",
        "exclude",
        "exclude-from",
        "include",
        "include-from",
        "files-from",
        "block-size",
        "temp-dir",
        "bwlimit",
        "remote-option",
        "password-file",
        "log-file",
        "partial-dir",
        "compare-dest",
        "copy-dest",
        "link-dest",
        "backup-dir",
        "suffix",
        "timeout",
        "port",
        "out-format",
        "chmod",
        "chown",
        "max-size",
        "min-size",
        "rsync-path",
    ],
};
/// Options of rsync by which it leaves out what its sources contain.
const RSYNC_FILTERS: (&[u8], &[&str]) = (
    b"fFC",
    &[
        "filter",
        "exclude",
        "exclude-from",
        "include",
        "include-from",
        "files-from",
        "cvs-exclude",
        "max-size",
        "min-size",
    ],
);
/// Beginnings of the long options by which tar leaves out what its sources contain, or reads their
/// names from a file.
const TAR_FILTERS: [&[u8]; 6] = [
    b"--exclude",
    b"--files-from",
    b"--listed-incremental",
    b"--newer",
    b"--after-date",
    b"--no-recursion",
];
const SCP_OPTIONS: ValueOptions = ValueOptions {
    short: b"cDFiJloPSX",
    long: &[],
};

/// The copy that the arguments, each terminated by a zero byte, request from the program with this
/// name; `None` for a single file, which has its own offset, and for anything that cannot be sized:
/// what a filter leaves out is not to be read.
#[must_use]
pub fn parse_copy_order(name: &[u8], arguments: &[u8]) -> Option<CopyOrder> {
    let mut words: Vec<&[u8]> = arguments.split(|byte| *byte == 0).skip(1).collect();
    // The zero byte after the last one.
    words.pop_if(|last| last.is_empty());
    match name {
        b"cp" => parse_cp(&words, &CP_OPTIONS, |parsed| {
            parsed.entered_directories((b"raR", &["recursive", "archive"]))
        }),
        b"mv" => parse_cp(&words, &CP_OPTIONS, |_| EnteredDirectories::All),
        b"install" => parse_cp(&words, &INSTALL_OPTIONS, |_| EnteredDirectories::None),
        b"rsync" => parse_rsync(&words),
        b"tar" => parse_tar(&words),
        b"scp" => parse_scp(&words),
        _ => None,
    }
}

/// Operands and the values of options.
struct ParsedArguments<'a> {
    operands: Vec<&'a [u8]>,
    /// Value of `-t` or `--target-directory`.
    target: Option<&'a [u8]>,
    /// Letters of the short options, without those of values.
    letters: Vec<u8>,
    /// Names of the long options, without their values.
    names: Vec<&'a [u8]>,
}

impl ParsedArguments<'_> {
    /// Whether it has one of these options. A long option may be abbreviated (getopt_long(3)).
    fn has_option(&self, letters: &[u8], names: &[&str]) -> bool {
        let is_abbreviated =
            |own: &[u8]| !own.is_empty() && names.iter().any(|it| it.as_bytes().starts_with(own));
        self.letters.iter().any(|letter| letters.contains(letter))
            || self.names.iter().any(|own| is_abbreviated(own))
    }

    fn entered_directories(&self, recursion: (&[u8], &[&str])) -> EnteredDirectories {
        if !self.has_option(recursion.0, recursion.1) {
            EnteredDirectories::None
        } else if self.has_option(b"x", &["one-file-system"]) {
            EnteredDirectories::OneFileSystem
        } else {
            EnteredDirectories::All
        }
    }
}

fn parse_arguments<'a>(words: &[&'a [u8]], valued: &ValueOptions) -> ParsedArguments<'a> {
    let mut parsed = ParsedArguments {
        operands: Vec::new(),
        target: None,
        letters: Vec::new(),
        names: Vec::new(),
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if word == b"--" {
            parsed.operands.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix(b"--") {
            let (name, value) = match long.iter().position(|byte| *byte == b'=') {
                Some(at) => (&long[..at], Some(&long[at + 1..])),
                None => (long, None),
            };
            let known = valued.long.iter().any(|option| option.as_bytes() == name);
            let value = value.or_else(|| known.then(|| words.next()).flatten());
            if name == b"target-directory" {
                parsed.target = value;
            }
            parsed.names.push(name);
        } else if word.len() > 1 && word[0] == b'-' {
            // The first option that takes a value takes the rest of the word, or the next word.
            let taking = (1..word.len()).find(|at| valued.short.contains(&word[*at]));
            let last_letter = taking.unwrap_or(word.len() - 1);
            parsed.letters.extend(&word[1..=last_letter]);
            if let Some(at) = taking {
                let rest = &word[at + 1..];
                let value = if rest.is_empty() {
                    words.next()
                } else {
                    Some(rest)
                };
                if word[at] == b't' {
                    parsed.target = value;
                }
            }
        } else {
            parsed.operands.push(word);
        }
    }
    parsed
}

fn parse_cp(
    words: &[&[u8]],
    valued: &ValueOptions,
    entered: impl Fn(&ParsedArguments<'_>) -> EnteredDirectories,
) -> Option<CopyOrder> {
    let mut parsed = parse_arguments(words, valued);
    let destination = match parsed.target {
        Some(target) => target,
        None => parsed.operands.pop()?,
    };
    let contents = vec![false; parsed.operands.len()];
    let order = copy_order(
        &parsed.operands,
        contents,
        Some(destination),
        CountMethod::DestinationFiles,
    )?;
    Some(CopyOrder {
        entered_directories: entered(&parsed),
        ..order
    })
}

/// rsync(1): `HOST:PATH` and `rsync://` are remote, a trailing slash means the content.
fn parse_rsync(words: &[&[u8]]) -> Option<CopyOrder> {
    // The local end of a connection tells the remote one what to send.
    if words.contains(&&b"--server"[..]) {
        return None;
    }
    let mut parsed = parse_arguments(words, &RSYNC_OPTIONS);
    let destination = parsed.operands.pop()?;
    let has_filter = parsed.has_option(RSYNC_FILTERS.0, RSYNC_FILTERS.1);
    if has_filter || parsed.operands.iter().any(|source| is_remote(source)) {
        return None;
    }
    let contents = parsed
        .operands
        .iter()
        .map(|it| it.ends_with(b"/"))
        .collect();
    let measure = if is_remote(destination) {
        CountMethod::ReadBytes
    } else {
        CountMethod::DestinationFiles
    };
    let order = copy_order(&parsed.operands, contents, Some(destination), measure)?;
    Some(CopyOrder {
        changes_directory: true,
        entered_directories: parsed.entered_directories((b"ra", &["recursive", "archive"])),
        ..order
    })
}

fn parse_scp(words: &[&[u8]]) -> Option<CopyOrder> {
    let mut parsed = parse_arguments(words, &SCP_OPTIONS);
    let destination = parsed.operands.pop()?;
    if parsed.operands.iter().any(|source| is_remote(source)) {
        return None;
    }
    let contents = vec![false; parsed.operands.len()];
    let order = copy_order(
        &parsed.operands,
        contents,
        Some(destination),
        CountMethod::ReadBytes,
    )?;
    Some(CopyOrder {
        entered_directories: parsed.entered_directories((b"r", &[])),
        ..order
    })
}

/// tar(1) creating an archive: `tar cf OUT DIR`, `tar -czf OUT -C BASE DIR`.
fn parse_tar(words: &[&[u8]]) -> Option<CopyOrder> {
    let (mut creates, mut archive, mut directory) = (false, None, None);
    let mut sources = Vec::new();
    let mut entered = EnteredDirectories::All;
    let mut words = words.iter().copied();
    let mut first = true;
    while let Some(word) = words.next() {
        let bundle = match word.strip_prefix(b"-") {
            Some(rest) if !rest.starts_with(b"-") && !rest.is_empty() => Some(rest),
            None if first => Some(word),
            _ => None,
        };
        first = false;
        if let Some(bundle) = bundle {
            for (at, letter) in bundle.iter().enumerate() {
                // With a dash the rest of the word may be the value.
                let rest = &bundle[at + 1..];
                let whole = word.starts_with(b"-") && !rest.is_empty();
                let mut value = || if whole { Some(rest) } else { words.next() };
                match letter {
                    b'c' => creates = true,
                    b'f' => archive = value(),
                    b'C' => directory = value(),
                    b'T' | b'X' | b'g' | b'N' => return None,
                    b'b' | b'V' | b'I' => {
                        value();
                    }
                    _ => continue,
                }
                if whole && b"fCbVI".contains(letter) {
                    break;
                }
            }
        } else if word == b"--create" {
            creates = true;
        } else if let Some(value) = word.strip_prefix(b"--file=") {
            archive = Some(value);
        } else if let Some(value) = word.strip_prefix(b"--directory=") {
            directory = Some(value);
        } else if TAR_FILTERS.iter().any(|filter| word.starts_with(filter)) {
            return None;
        } else if word.starts_with(b"--one-file") {
            entered = EnteredDirectories::OneFileSystem;
        } else if !word.starts_with(b"--") {
            sources.push(word);
        }
    }
    let contents = vec![false; sources.len()];
    let mut order = copy_order(&sources, contents, archive, CountMethod::ArchiveBytes)?;
    order.directory = directory.map(path_from_bytes);
    order.entered_directories = entered;
    creates.then_some(order)
}

fn copy_order(
    sources: &[&[u8]],
    contents: Vec<bool>,
    destination: Option<&[u8]>,
    measure: CountMethod,
) -> Option<CopyOrder> {
    let order = CopyOrder {
        sources: sources
            .iter()
            .map(|source| path_from_bytes(source))
            .collect(),
        destination: destination.map(path_from_bytes),
        directory: None,
        count_method: measure,
        copies_contents: contents,
        changes_directory: false,
        entered_directories: EnteredDirectories::None,
    };
    (!order.sources.is_empty()).then_some(order)
}

fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A colon before any slash separates a host name.
fn is_remote(word: &[u8]) -> bool {
    let local = word.split(|byte| *byte == b'/').next().unwrap_or(word);
    local.contains(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(line: &str) -> Option<(Vec<String>, Option<String>, CountMethod)> {
        let arguments: String = line.split(' ').map(|word| format!("{word}\0")).collect();
        let name = line.split(' ').next().unwrap_or_default();
        let order = parse_copy_order(name.as_bytes(), arguments.as_bytes())?;
        let text = |path: &PathBuf| path.display().to_string();
        Some((
            order.sources.iter().map(text).collect(),
            order.destination.as_ref().map(text),
            order.count_method,
        ))
    }

    fn expected(
        sources: &[&str],
        destination: &str,
        measure: CountMethod,
    ) -> Option<(Vec<String>, Option<String>, CountMethod)> {
        let sources = sources.iter().map(|it| (*it).to_owned()).collect();
        Some((sources, Some(destination.to_owned()), measure))
    }

    #[test]
    fn copy_arguments_are_separated_from_options() {
        use CountMethod::{DestinationFiles, ReadBytes};
        assert_eq!(
            of("cp -a tree /backup"),
            expected(&["tree"], "/backup", DestinationFiles)
        );
        assert_eq!(
            of("cp -rt /backup a b"),
            expected(&["a", "b"], "/backup", DestinationFiles)
        );
        assert_eq!(
            of("mv --target-directory=/b -- -x y"),
            expected(&["-x", "y"], "/b", DestinationFiles)
        );
        assert_eq!(
            of("rsync -a --log-file log --bwlimit=1m src/ /dst"),
            expected(&["src/"], "/dst", DestinationFiles)
        );
        assert_eq!(
            of("rsync -a src host:/dst"),
            expected(&["src"], "host:/dst", ReadBytes)
        );
        assert_eq!(of("rsync -a host:/src /dst"), None);
        assert_eq!(of("rsync --server -logDtpre.iLsfxC . /dst"), None);
        assert_eq!(
            of("scp -P 22 -r tree host:"),
            expected(&["tree"], "host:", ReadBytes)
        );
    }

    #[test]
    fn tar_arguments_are_parsed_only_when_creating() {
        use CountMethod::ArchiveBytes;
        assert_eq!(
            of("tar czf out.tgz a b"),
            expected(&["a", "b"], "out.tgz", ArchiveBytes)
        );
        assert_eq!(
            of("tar -cf out.tar a"),
            expected(&["a"], "out.tar", ArchiveBytes)
        );
        assert_eq!(
            of("tar -c -C /srv -fout.tar a"),
            expected(&["a"], "out.tar", ArchiveBytes)
        );
        assert_eq!(of("tar xf in.tar a"), None);
        assert_eq!(
            of("tar --create --file=o a"),
            expected(&["a"], "o", ArchiveBytes)
        );
    }

    #[test]
    fn copy_that_leaves_out_what_a_filter_names_is_not_sized() {
        for line in [
            "rsync -a --exclude *.o src/ /dst",
            "rsync -a --exclude=*.o src/ /dst",
            "rsync -aF src/ /dst",
            "rsync -aC src/ /dst",
            "rsync -a -f merge,rules src/ /dst",
            "rsync -a --filter=-/x src/ /dst",
            "rsync -a --include-from names src/ /dst",
            "rsync -a --files-from names src/ /dst",
            "tar cf out.tar --exclude=cache a b",
            "tar -cf out.tar -X names a b",
            "tar cfT out.tar names",
            "tar cf out.tar --exclude-vcs a",
            "tar -c -g state -f out.tar a",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn directories_that_a_copy_enters_follow_from_its_options() {
        let entered = |line: &str| {
            let arguments: String = line.split(' ').map(|word| format!("{word}\0")).collect();
            let name = line.split(' ').next().unwrap_or_default();
            let order = parse_copy_order(name.as_bytes(), arguments.as_bytes());
            order.map(|order| order.entered_directories)
        };
        use EnteredDirectories::{All, None, OneFileSystem};
        for (line, expected) in [
            ("cp a b /backup", None),
            ("cp -p a b /backup", None),
            ("cp -a a b", All),
            ("cp -rx a b", OneFileSystem),
            ("cp --recursive --one-file-system a b", OneFileSystem),
            ("cp --rec a b", All),
            ("mv a b", All),
            ("install a b /dst", None),
            ("rsync -aHAXx / /mnt", OneFileSystem),
            ("rsync -a --one-file-system / /mnt", OneFileSystem),
            ("rsync -e ssh-xr a host:", None),
            ("rsync -a a host:", All),
            ("scp a b host:", None),
            ("scp -r a host:", All),
            ("tar cf out a", All),
            ("tar --one-file-system -cf out a", OneFileSystem),
        ] {
            assert_eq!(entered(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn command_without_sources_yields_no_copy_order() {
        assert_eq!(of("cp"), None);
        assert_eq!(of("cp a"), None);
        assert_eq!(of("cat a b"), None);
    }

    proptest! {
        #[test]
        fn copy_argument_parser_accepts_any_bytes(arguments: Vec<u8>, name in 0..6_usize) {
            let _ = parse_copy_order(COPY_PROGRAMS[name], &arguments);
        }
    }
}
