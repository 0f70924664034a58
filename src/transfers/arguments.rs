//! What the command lines of programs name that work on several files: their sources, their
//! destination, and what their progress is measured by. Pure.
//!
//! The parser understands only enough to tell files from options. A word that is mistaken for a source
//! does not exist as a file, and counts nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How the bytes that are done are determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMethod {
    /// From the files below the destination.
    DestinationFiles,
    /// From the bytes that the process has read: there is no destination to check.
    ReadBytes,
    /// From the bytes that the process has written to an archive, which has a header for each file.
    ArchiveBytes,
    /// From the bytes that the process has written: a stream of the contents.
    WrittenBytes,
}

/// What a program is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOrder {
    /// Files and directories to read.
    pub sources: Vec<PathBuf>,
    /// Destination: a directory, an archive, or another machine; `None` for a pipe or nothing.
    pub destination: Option<PathBuf>,
    /// Base directory of relative sources, where the command sets one.
    pub directory: Option<PathBuf>,
    /// How the bytes that are done are determined.
    pub count_method: CountMethod,
    /// Whether it is rsync: it changes into the directories of its sources, and a directory whose name
    /// ends in a slash stands for its content.
    pub is_rsync: bool,
    /// Whether it enters directories; otherwise those that are named as sources are left out.
    pub enters_directories: bool,
    /// Whether it leaves out what lies on another file system than its source (`cp -x`).
    pub stays_on_file_system: bool,
}

/// Options: letters of short ones, and names of long ones.
type Options = &'static str;

/// The command line of a program.
struct Program {
    /// Its names, as the kernel has them.
    names: &'static str,
    /// Options with a value: short ones, and long ones whose value is the next argument.
    valued: Options,
    /// Options by which it enters directories; `None` for a program that always does.
    recursive_by: Option<Options>,
    /// Options by which it leaves out files, or takes their names from elsewhere.
    unsized_by: Options,
    /// Options whose value is the destination.
    destination_by: Options,
    /// Whether its last argument is the destination, without such an option.
    has_destination_last: bool,
    /// How its progress is measured, with a destination on this machine.
    count_method: CountMethod,
    /// Whether `HOST:PATH` is on another machine.
    is_remote_possible: bool,
}

const RSYNC_VALUED: Options = "e f B T M rsh filter exclude exclude-from include include-from files-from \
    bwlimit log-file partial-dir link-dest backup-dir temp-dir port timeout max-size min-size rsync-path";
const RSYNC_FILTERS: Options = "f F C filter exclude exclude-from include include-from files-from \
    cvs-exclude max-size min-size server";
const TAR_VALUED: Options = "f C b V I T X g N file directory files-from exclude exclude-from";
const TAR_FILTERS: Options = "T X g N exclude exclude-from exclude-vcs exclude-caches exclude-backups \
    exclude-tag files-from listed-incremental newer newer-mtime after-date no-recursion";
/// Programs that compute checksums.
pub(super) const CHECKSUMS: &str = "b2sum b3sum cksum crc32 md5sum sha1sum sha224sum sha256sum sha384sum \
    sha512sum shasum sum xxhsum";
/// Programs that compress or decompress.
pub(super) const COMPRESSORS: &str = "brotli bunzip2 bzip2 gunzip gzip lbzip2 lz4 lzop pbzip2 pigz pixz unxz \
    unzstd xz zstd zstdmt";

const COPY: Program = Program {
    names: "cp",
    valued: "t S target-directory suffix",
    recursive_by: Some("r a R recursive archive"),
    unsized_by: "",
    destination_by: "t target-directory",
    has_destination_last: true,
    count_method: CountMethod::DestinationFiles,
    is_remote_possible: false,
};
const READ: Program = Program {
    names: "cat",
    valued: "",
    recursive_by: Some(""),
    destination_by: "",
    has_destination_last: false,
    count_method: CountMethod::ReadBytes,
    ..COPY
};
const PROGRAMS: [Program; 9] = [
    COPY,
    Program {
        names: "mv",
        recursive_by: None,
        ..COPY
    },
    Program {
        names: "rsync",
        valued: RSYNC_VALUED,
        recursive_by: Some("r a recursive archive"),
        unsized_by: RSYNC_FILTERS,
        destination_by: "",
        is_remote_possible: true,
        ..COPY
    },
    Program {
        names: "scp",
        valued: "c D F i J l o P S X",
        recursive_by: Some("r"),
        destination_by: "",
        count_method: CountMethod::ReadBytes,
        is_remote_possible: true,
        ..COPY
    },
    READ,
    Program {
        names: CHECKSUMS,
        valued: "a l algorithm length",
        unsized_by: "c check",
        ..READ
    },
    Program {
        names: COMPRESSORS,
        valued: "S T C F M o D p b suffix threads format memlimit",
        recursive_by: Some("r recursive"),
        unsized_by: "l list files files0 filelist",
        ..READ
    },
    Program {
        names: "tar",
        valued: TAR_VALUED,
        recursive_by: None,
        unsized_by: TAR_FILTERS,
        destination_by: "f file",
        has_destination_last: false,
        count_method: CountMethod::ArchiveBytes,
        ..COPY
    },
    // What an incremental stream contains is not known.
    Program {
        names: "btrfs",
        valued: "c p f i proto",
        recursive_by: None,
        unsized_by: "c p i no-data",
        count_method: CountMethod::WrittenBytes,
        ..READ
    },
];

/// What the arguments, each terminated by a zero byte, request from the program with this name; `None`
/// for anything that cannot be sized: what a filter leaves out is not to be read.
#[must_use]
pub fn parse_copy_order(name: &[u8], arguments: &[u8]) -> Option<CopyOrder> {
    let mut words: Vec<&[u8]> = arguments.split(|byte| *byte == 0).skip(1).collect();
    // The zero byte after the last one.
    words.pop_if(|last| last.is_empty());
    let program = PROGRAMS.iter().find(|it| has_word(it.names, name))?;
    let mut parsed = ParsedArguments::new(&words, program.valued, name == b"tar");
    match name {
        b"tar" if !parsed.has_option("c create") => return None,
        b"btrfs" if parsed.operands.first() != Some(&&b"send"[..]) => return None,
        _ => {}
    }
    if name == b"btrfs" {
        parsed.operands.remove(0);
    }
    if parsed.has_option(program.unsized_by) || parsed.operands.contains(&&b"-"[..]) {
        return None;
    }
    let mut destination = parsed.value_of(program.destination_by);
    if destination.is_none() && program.has_destination_last {
        destination = Some(parsed.operands.pop()?);
    }
    // Standard output.
    let destination = destination.filter(|it| *it != b"-");
    let is_remote = |word: &[u8]| program.is_remote_possible && is_remote(word);
    if parsed.operands.is_empty() || parsed.operands.iter().any(|it| is_remote(it)) {
        return None;
    }
    // The letter means another thing to tar.
    let staying = match name {
        b"tar" => "one-file-system",
        _ => "x one-file-system",
    };
    let stays_on_file_system = name == b"btrfs" || parsed.has_option(staying);
    let recursive = program.recursive_by;
    let enters_directories = recursive.is_none_or(|options| parsed.has_option(options));
    let directory = (name == b"tar").then(|| parsed.value_of("C directory"));
    Some(CopyOrder {
        sources: parsed
            .operands
            .iter()
            .map(|it| path_from_bytes(it))
            .collect(),
        destination: destination.map(path_from_bytes),
        directory: directory.flatten().map(path_from_bytes),
        count_method: if destination.is_some_and(is_remote) {
            CountMethod::ReadBytes
        } else {
            program.count_method
        },
        is_rsync: name == b"rsync",
        enters_directories,
        stays_on_file_system,
    })
}

fn has_word(list: &str, word: &[u8]) -> bool {
    list.split_ascii_whitespace()
        .any(|it| it.as_bytes() == word)
}

/// Operands and options.
#[derive(Default)]
struct ParsedArguments<'a> {
    operands: Vec<&'a [u8]>,
    /// Letters of the short options, and names of the long ones, each with its value.
    options: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

impl<'a> ParsedArguments<'a> {
    /// With `has_bundle`, the first word is short options also without a dash, and the values of its
    /// letters are the next words.
    fn new(words: &[&'a [u8]], valued: Options, has_bundle: bool) -> Self {
        let mut parsed = Self::default();
        let mut words = words.iter().copied();
        if has_bundle
            && let Some(first) = words.clone().next()
            && !first.starts_with(b"-")
        {
            words.next();
            for letter in first.chunks(1) {
                parsed.add_letters(letter, valued, &mut words);
            }
        }
        while let Some(word) = words.next() {
            if word == b"--" {
                parsed.operands.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix(b"--") {
                let mut parts = long.splitn(2, |byte| *byte == b'=');
                let name = parts.next().unwrap_or(long);
                let mut value = parts.next();
                if value.is_none() && has_word(valued, name) {
                    value = words.next();
                }
                parsed.options.push((name, value));
            } else if word.len() > 1 && word[0] == b'-' {
                parsed.add_letters(&word[1..], valued, &mut words);
            } else {
                parsed.operands.push(word);
            }
        }
        parsed
    }

    /// Short options in one word: the first that takes a value takes the rest of it, or the next word.
    fn add_letters(
        &mut self,
        letters: &'a [u8],
        valued: Options,
        words: &mut impl Iterator<Item = &'a [u8]>,
    ) {
        for (at, own) in letters.chunks(1).enumerate() {
            if has_word(valued, own) {
                let rest = Some(&letters[at + 1..]).filter(|rest| !rest.is_empty());
                let value = rest.or_else(|| words.next());
                return self.options.push((own, value));
            }
            self.options.push((own, None));
        }
    }

    /// The value of the last of these options. A long option may be abbreviated (getopt_long(3)).
    fn value_of(&self, options: Options) -> Option<&'a [u8]> {
        let mut own = self.options.iter().rev();
        own.find(|(own, _)| is_option(own, options))?.1
    }

    fn has_option(&self, options: Options) -> bool {
        self.options.iter().any(|(own, _)| is_option(own, options))
    }
}

/// Whether a letter, or a name or the beginning of one, is one of these options.
fn is_option(own: &[u8], options: Options) -> bool {
    /// A shorter beginning is an option of its own (`--file`, `--files-from`).
    const MIN_ABBREVIATION: usize = 5;
    let mut options = options.split_ascii_whitespace().map(str::as_bytes);
    options.any(|it| it == own || (own.len() >= MIN_ABBREVIATION && it.starts_with(own)))
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

    fn parse(line: &str) -> Option<CopyOrder> {
        let arguments: String = line.split(' ').map(|word| format!("{word}\0")).collect();
        let name = line.split(' ').next().unwrap_or_default();
        parse_copy_order(name.as_bytes(), arguments.as_bytes())
    }

    #[test]
    fn sources_and_destination_are_told_from_options() {
        use CountMethod::{ArchiveBytes, DestinationFiles, ReadBytes, WrittenBytes};
        for (line, sources, destination, method) in [
            ("cp -a /a /b", "/a", Some("/b"), DestinationFiles),
            (
                "cp -t /to -S .bak a b",
                "a b",
                Some("/to"),
                DestinationFiles,
            ),
            ("mv -- -a -b to", "-a -b", Some("to"), DestinationFiles),
            (
                "rsync -a --bwlimit=8m -e ssh src/ dst",
                "src/",
                Some("dst"),
                DestinationFiles,
            ),
            ("rsync -a a host:b", "a", Some("host:b"), ReadBytes),
            ("scp -r -P 22 a b host:", "a b", Some("host:"), ReadBytes),
            ("tar cf out a b", "a b", Some("out"), ArchiveBytes),
            ("tar -czf out -C /base a", "a", Some("out"), ArchiveBytes),
            ("tar cf - tree", "tree", None, ArchiveBytes),
            ("tar c --file=out a", "a", Some("out"), ArchiveBytes),
            ("sha256sum a b c", "a b c", None, ReadBytes),
            ("gzip -9 -S .z a b", "a b", None, ReadBytes),
            ("cat a b", "a b", None, ReadBytes),
            ("btrfs send -f out sub", "sub", None, WrittenBytes),
        ] {
            let order = parse(line).unwrap_or_else(|| panic!("{line}"));
            let text = |path: &PathBuf| path.display().to_string();
            let found: Vec<String> = order.sources.iter().map(text).collect();
            let to = order.destination.as_ref().map(text);
            assert_eq!(
                (found.join(" "), to.as_deref(), order.count_method),
                (sources.to_owned(), destination, method),
                "{line}"
            );
        }
    }

    #[test]
    fn what_cannot_be_sized_has_no_order() {
        for line in [
            "cp",
            "dd if=a of=b",
            "tar xf archive",
            "tar cf out --exclude=x a",
            "rsync -a --exclude x a b",
            "rsync -a host:a b",
            "rsync --server . b",
            "scp host:a b",
            "sha256sum -c SUMS",
            "cat a -",
            "gzip -l a b",
            "btrfs send -p old new",
            "btrfs receive to",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn directories_are_entered_as_the_options_say() {
        for (line, expected) in [
            ("cp a b c", false),
            ("cp -ax a b", true),
            ("rsync --archive a b", true),
            ("mv a b", true),
            ("md5sum a b", false),
        ] {
            assert_eq!(parse(line).unwrap().enters_directories, expected, "{line}");
        }
    }
}
