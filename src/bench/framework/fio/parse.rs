//! The job of a fio command that [`FioJob::command_lines`] has written.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::line::{FILE_CONDITION, LineFormat, SCRATCH_COMMAND, scratch_space_condition};
use super::{FioFile, FioJob, FioLimits, FioZones};
use crate::engine::{BlockSize, CacheMode, DataKind, IoOperation, SyncMode};
use crate::files::shell;

/// The file and the job of these command lines; `None` for any lines that [`FioJob::command_lines`], of
/// this version or an earlier one, would not write, to the byte.
#[must_use]
pub fn parse_command_lines(text: &str) -> Option<(FioFile, FioJob)> {
    let command = text.lines().last()?;
    let (file, words) = match command.strip_prefix(SCRATCH_COMMAND[0]) {
        Some(inner) => scratch_command(inner)?,
        None => existing_file_command(command)?,
    };
    let job = FioOptions::of(&words)?.job()?;
    // A job of other lines has no meaning here: what a comment says may not hold for it.
    let mut written = LineFormat::ALL
        .map(|format| job.lines_of_format(&file, format))
        .into_iter();
    let is_own = job.is_consistent() && written.any(|lines| lines.as_deref() == Ok(text));
    is_own.then_some((file, job))
}

fn scratch_command(inner: &str) -> Option<(FioFile, Vec<String>)> {
    let (directory, fio) = inner
        .strip_suffix(SCRATCH_COMMAND[2])?
        .rsplit_once(SCRATCH_COMMAND[1])?;
    let words = texts(shell::split_line(fio)?)?;
    let bytes = FioOptions::of(&words)?.number("filesize")?;
    // Earlier versions wrote no condition.
    let condition = scratch_space_condition(bytes);
    let directory = directory.strip_suffix(&*condition).unwrap_or(directory);
    let [directory]: [Vec<u8>; 1] = shell::split_line(directory)?.try_into().ok()?;
    let file = FioFile::Scratch {
        directory: to_path(directory),
        bytes,
    };
    Some((file, words))
}

fn existing_file_command(command: &str) -> Option<(FioFile, Vec<String>)> {
    if command.starts_with("fio ") {
        return unconditional_command(command, FioFile::Device);
    }
    let file = match command.starts_with(FILE_CONDITION) {
        true => FioFile::File,
        false => FioFile::Device,
    };
    // The name of the file can contain the same characters.
    let mut ends = command.match_indices(" && fio ");
    ends.find_map(|(at, _)| unconditional_command(&command[at + " && ".len()..], file))
}

fn unconditional_command(
    command: &str,
    file: fn(PathBuf) -> FioFile,
) -> Option<(FioFile, Vec<String>)> {
    let mut words = shell::split_line(command)?;
    let path = single_file(words.pop()?.strip_prefix(b"--filename=")?)?;
    Some((file(to_path(path)), texts(words)?))
}

fn to_path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
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

/// fio's options by name.
struct FioOptions<'a>(HashMap<&'a str, &'a str>);

impl<'a> FioOptions<'a> {
    fn of(words: &'a [String]) -> Option<Self> {
        let (_fio, words) = words.split_first()?;
        let option = |word: &'a String| {
            let option = word.strip_prefix("--")?;
            Some(option.split_once('=').unwrap_or((option, "")))
        };
        words.iter().map(option).collect::<Option<_>>().map(Self)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.0.get(name)?.parse().ok()
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.0.get(name) == Some(&value)
    }

    fn job(&self) -> Option<FioJob> {
        let (operation, sequential) = self.operation()?;
        Some(FioJob {
            operation,
            sequential,
            zipf: self
                .0
                .get("random_distribution")
                .and_then(|value| value.strip_prefix("zipf:")?.parse().ok()),
            block_size: self.block_size()?,
            block_align: self.number("blockalign"),
            depth: self.number("iodepth")?,
            numjobs: self.number("numjobs")?,
            offset: self.number("offset")?,
            size: self.number("size")?,
            zones: self.zones(),
            limits: self.limits(),
            ramp: self.time("ramp_time").unwrap_or_default(),
            cache_mode: self.cache_mode(),
            sync_mode: self.sync_mode(),
            data_kind: self.data_kind()?,
            seed: self.number("randseed").unwrap_or_default(),
        })
    }

    fn operation(&self) -> Option<(IoOperation, bool)> {
        let mixed = || {
            let percent: f64 = self.number("rwmixread")?;
            Some(IoOperation::Mixed {
                reads: percent / 100.0,
            })
        };
        Some(match *self.0.get("rw")? {
            "read" => (IoOperation::Read, true),
            "randread" => (IoOperation::Read, false),
            "write" => (IoOperation::Write, true),
            "randwrite" => (IoOperation::Write, false),
            "rw" => (mixed()?, true),
            "randrw" => (mixed()?, false),
            _ => return None,
        })
    }

    fn block_size(&self) -> Option<BlockSize> {
        let Some(range) = self.0.get("bsrange") else {
            return self.number("bs").map(BlockSize::Fixed);
        };
        let (from, to) = range.split_once('-')?;
        Some(BlockSize::Range(from.parse().ok()?, to.parse().ok()?))
    }

    fn zones(&self) -> Option<FioZones> {
        let zone_bytes: u64 = self.number("zonesize")?;
        let zone_stride = zone_bytes.checked_add(self.number("zoneskip")?)?;
        Some(FioZones {
            zone_bytes,
            zone_stride,
        })
    }

    fn limits(&self) -> FioLimits {
        let requests = self.number("number_ios");
        FioLimits {
            runtime: self.time("runtime"),
            // Beside a number of requests it may only make room for them.
            bytes: match requests {
                Some(_) if self.makes_room() => None,
                _ => self.number("io_size"),
            },
            requests,
        }
    }

    /// Whether the limit in bytes is the one that a job with a limit of requests alone has.
    fn makes_room(&self) -> bool {
        let room = || {
            let requests: u64 = self.number("number_ios")?;
            Some(FioJob::room_for_requests(requests, self.block_size()?))
        };
        self.number("io_size") == room()
    }

    fn time(&self, name: &str) -> Option<Duration> {
        let text = self.0.get(name)?;
        if let Some(micros) = text.strip_suffix("us") {
            return micros.parse().ok().map(Duration::from_micros);
        }
        match text.strip_suffix("ms") {
            Some(millis) => millis.parse().ok().map(Duration::from_millis),
            None => text.parse().ok().map(Duration::from_secs),
        }
    }

    fn cache_mode(&self) -> CacheMode {
        match (self.is("direct", "1"), self.is("invalidate", "1")) {
            (true, _) => CacheMode::Bypass,
            (false, true) => CacheMode::Drop,
            (false, false) => CacheMode::Keep,
        }
    }

    fn sync_mode(&self) -> SyncMode {
        match self.0.get("sync") {
            Some(&"dsync") => SyncMode::DataSync,
            Some(_) => SyncMode::Sync,
            None => SyncMode::None,
        }
    }

    fn data_kind(&self) -> Option<DataKind> {
        if self.has("buffer_compress_percentage") {
            return self
                .number("buffer_compress_percentage")
                .map(DataKind::Compressible);
        }
        Some(
            match (self.has("zero_buffers"), self.has("dedupe_percentage")) {
                (true, _) => DataKind::Zero,
                (false, true) => DataKind::Repeated,
                (false, false) => DataKind::Random,
            },
        )
    }
}
