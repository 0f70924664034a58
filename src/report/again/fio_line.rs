//! fio's line of a run, checked against what this program writes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::bench::framework::benchmark::Description;
use crate::bench::framework::fio;
use crate::bench::framework::fio::SCRATCH_COMMAND;
use crate::safe_text::SafeText;
use crate::session::document::BenchmarkRun;
use crate::shell;

/// Options that this program uses in fio lines; none of them starts a program or names a file.
const FIO_OPTIONS: &[&str] = &[
    "name",
    "rw",
    "ioengine",
    "bs",
    "bsrange",
    "iodepth",
    "numjobs",
    "thread",
    "group_reporting",
    "offset",
    "size",
    "rwmixread",
    "zonemode",
    "zonesize",
    "zonerange",
    "zoneskip",
    "blockalign",
    "random_distribution",
    "randseed",
    "norandommap",
    "time_based",
    "runtime",
    "ramp_time",
    "io_size",
    "number_ios",
    "direct",
    "invalidate",
    "sync",
    "refill_buffers",
    "lat_percentiles",
    "allow_file_create",
    "filesize",
    "readonly",
];
/// Options of fio lines that write, in addition.
const FIO_WRITE_OPTIONS: [&str; 5] = [
    "zero_buffers",
    "dedupe_percentage",
    "buffer_compress_percentage",
    "buffer_compress_chunk",
    "overwrite",
];

/// The lines of a text, where they are a command that this program writes for the run's benchmark and
/// target, with a comment that tells what the command overwrites if it does; `None` for any other text.
pub(super) fn checked(
    benchmark: Option<&Description>,
    run: &BenchmarkRun,
    text: &str,
) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let (comment, command) = match lines[..] {
        [command] => (None, command),
        [comment, command] => (Some(comment), command),
        _ => return None,
    };
    let file = TestFile::of_command(command)?;
    // Every path ends with an empty one, such as that of the target `.`.
    let names_file = Path::new(run.target.path.as_str()).file_name().is_some();
    if !(file.is_scratch || names_file) || !is_target(run, &file.path) {
        return None;
    }
    let options = fio_options(&file.arguments, file.is_scratch)?;
    if !(file.is_scratch || options.keeps_files()) {
        return None;
    }
    let expected = match file.is_scratch {
        true => Some(options.scratch_comment(&file.path)?),
        false if options.writes() => {
            // A read benchmark of somebody else's document overwrites nothing.
            let may_write = benchmark.is_some_and(|it| it.may_write);
            Some(
                options
                    .overwrite_comment(&file.path)
                    .filter(|_| may_write)?,
            )
        }
        false => None,
    };
    (comment == expected.as_deref()).then(|| lines.into_iter().map(str::to_owned).collect())
}

/// The file of a fio command.
struct TestFile {
    /// The file, or the directory in which the command creates one.
    path: Vec<u8>,
    /// Whether the command creates the file and deletes it.
    is_scratch: bool,
    /// fio's arguments without the file.
    arguments: Vec<String>,
}

impl TestFile {
    fn of_command(command: &str) -> Option<Self> {
        if let Some(inner) = command.strip_prefix(SCRATCH_COMMAND[0]) {
            let (directory, fio) = inner
                .strip_suffix(SCRATCH_COMMAND[2])?
                .rsplit_once(SCRATCH_COMMAND[1])?;
            let [path]: [Vec<u8>; 1] = shell::split_line(directory)?.try_into().ok()?;
            return Some(Self {
                path,
                is_scratch: true,
                arguments: texts(shell::split_line(fio)?)?,
            });
        }
        let mut arguments = shell::split_line(command)?;
        let path = single_file(arguments.pop()?.strip_prefix(b"--filename=")?)?;
        // A path without a file name, such as one of only dots, can only be a directory.
        Path::new(OsStr::from_bytes(&path)).file_name()?;
        Some(Self {
            path,
            is_scratch: false,
            arguments: texts(arguments)?,
        })
    }
}

/// The words as text: fio's options are ASCII.
fn texts(words: Vec<Vec<u8>>) -> Option<Vec<String>> {
    let texts = words.into_iter().map(String::from_utf8);
    texts.collect::<Result<_, _>>().ok()
}

/// The file of a value of fio's `filename`, where a colon that is not escaped separates files.
fn single_file(value: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(value.len());
    for byte in value {
        if *byte == b':' && path.pop() != Some(b'\\') {
            return None;
        }
        path.push(*byte);
    }
    Some(path)
}

/// Whether a path of a fio line, which is absolute, is the run's target, whose path may be
/// relative.
fn is_target(run: &BenchmarkRun, path: &[u8]) -> bool {
    let named = Path::new(run.target.path.as_str());
    let named = named.strip_prefix(".").unwrap_or(named);
    path.starts_with(b"/") && Path::new(SafeText::from_bytes(path).as_str()).ends_with(named)
}

/// fio's options, each once.
struct FioOptions<'a>(HashMap<&'a str, &'a str>);

/// The options of a fio command, if this program uses all of them: those of writes where the command
/// writes, or creates its file.
fn fio_options(words: &[String], is_scratch: bool) -> Option<FioOptions<'_>> {
    let (program, words) = words.split_first()?;
    let mut options = HashMap::new();
    for word in words {
        let option = word.strip_prefix("--")?;
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let is_known = FIO_OPTIONS.contains(&name) || FIO_WRITE_OPTIONS.contains(&name);
        if !is_known || options.insert(name, value).is_some() {
            return None;
        }
    }
    let options = FioOptions(options);
    let is_own_engine = options.0.get("ioengine") == Some(&"io_uring");
    let is_for_writes = FIO_WRITE_OPTIONS
        .iter()
        .any(|it| options.0.contains_key(it));
    let may_write = is_scratch || options.writes();
    (program == "fio" && is_own_engine && (may_write || !is_for_writes)).then_some(options)
}

impl FioOptions<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }

    /// Anything but the two that only read.
    fn writes(&self) -> bool {
        !matches!(self.0.get("rw"), Some(&("read" | "randread")))
    }

    /// Whether fio creates no file, and changes none where it only reads: it would lengthen a file that
    /// ends before the range that it reads.
    fn keeps_files(&self) -> bool {
        let has = |name, value| self.0.get(name) == Some(&value);
        has("allow_file_create", "0") && (self.writes() || has("readonly", ""))
    }

    /// Bytes that all jobs transfer at most, as [`crate::bench::FioJob::max_bytes`] has it; `None`
    /// where only time limits them.
    fn max_bytes(&self) -> Option<u64> {
        let sizes = self.0.get("bsrange").or_else(|| self.0.get("bs"))?;
        let (_, largest) = sizes.rsplit_once('-').unwrap_or(("", sizes));
        let largest: u64 = largest.parse().ok()?;
        let beyond = match self.0.contains_key("bsrange") {
            true => largest.saturating_sub(1),
            false => 0,
        };
        let requests = self.number("number_ios");
        let of_requests = requests.map(|requests| requests.saturating_mul(largest));
        let of_bytes = self.number("io_size").map(|it| it.saturating_add(beyond));
        let each = [of_requests, of_bytes].into_iter().flatten().min()?;
        Some(each.saturating_mul(self.number("numjobs")?))
    }

    /// The comment before a command that overwrites a part of a file.
    fn overwrite_comment(&self, path: &[u8]) -> Option<String> {
        let (offset, size) = (self.number("offset")?, self.number("size")?);
        let most = self.max_bytes().unwrap_or(u64::MAX).min(size);
        let range = offset..offset.checked_add(size)?;
        fio::overwrite_comment(most, path, range)
    }

    /// The comment before a command with a file of its own.
    fn scratch_comment(&self, directory: &[u8]) -> Option<String> {
        let bytes = self.number("filesize")?;
        fio::scratch_comment(directory, bytes, self.writes(), self.max_bytes())
    }
}
