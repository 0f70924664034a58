//! Shell command lines of a fio job.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{FioJob, FioLimits};
use crate::drive::medium::strip_trailing_slash;
use crate::drive::{RESERVE_BYTES, RESERVE_DIVISOR, Target, TargetKind};
use crate::engine::{BlockSize, CacheMode, DataKind, IoOperation, SyncMode};
use crate::files::shell;
use crate::session::document::FioGap;

/// The file that a job reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FioFile {
    /// An existing block device.
    Device(PathBuf),
    /// An existing file.
    File(PathBuf),
    /// A file created for the job in a directory and deleted afterwards.
    Scratch {
        /// The directory.
        directory: PathBuf,
        /// Size of the file in bytes.
        bytes: u64,
    },
}

impl FioFile {
    /// The file of a target as named by the user.
    ///
    /// # Errors
    /// When fio cannot open it, or would open another file.
    pub fn from_target(target: &Target, named: &Path) -> Result<Self, FioGap> {
        // The command may be run in another working directory.
        let path =
            std::path::absolute(strip_trailing_slash(named)).map_err(|_| FioGap::TargetName)?;
        match target.kind {
            TargetKind::Simulated => Err(FioGap::SimulatedDrive),
            // fio only receives the name of the file that mktemp creates in the directory.
            TargetKind::ScratchFile => Ok(Self::Scratch {
                directory: path,
                bytes: target.size_bytes,
            }),
            TargetKind::BlockDevice | TargetKind::File if !is_accepted_by_fio(&path) => {
                Err(FioGap::TargetName)
            }
            TargetKind::BlockDevice => Ok(Self::Device(path)),
            TargetKind::File => Ok(Self::File(path)),
        }
    }
}

/// The parts of a command that creates its own file, around its directory and fio's words. It clears
/// `file` first: an inherited variable of that name would be deleted as a file. Not `--unlink=1`: a job
/// that ends early would remove the file before another job opens it.
pub(super) const SCRATCH_COMMAND: [&str; 3] = [
    "(file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && cd -- ",
    " && file=$(mktemp diskscope-fio.XXXXXXXXXX) && ",
    " --filename=\"$file\")",
];

/// The beginning of a command that runs only if there is a regular file, and one that is long enough. fio
/// deletes a file that ends before the range that it writes, in order to lay it out anew, also with
/// `--allow_file_create=0` and with `--overwrite=1` (filesetup.c, `extend_file`).
pub(super) const FILE_CONDITION: &str = "[ -f ";
/// A command that fails if a block device, or a part of it, is mounted, swap or a part of another device:
/// these hold it exclusively. fio itself compares names with those in the mount table, and with no
/// others. Its package requires Python on most distributions; where there is none, nothing is written.
const OPEN_EXCLUSIVELY: &str =
    "python3 -Ic 'import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)'";

/// The words before the options that keep fio from creating a file: the program and the name of the job.
const GUARDS_AT: usize = 2;

/// The lines that a version of this program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// This version.
    Current,
    /// Without a condition on the free space.
    WithoutSpace,
    /// Like this, with the options that keep fio from creating a file behind all others.
    GuardsAtEnd,
}

impl LineFormat {
    /// All, the newest first.
    pub(super) const ALL: [Self; 3] = [Self::Current, Self::WithoutSpace, Self::GuardsAtEnd];

    fn guards_at(self) -> usize {
        match self {
            Self::Current | Self::WithoutSpace => GUARDS_AT,
            Self::GuardsAtEnd => usize::MAX,
        }
    }
}

/// Commands that fail if the file system of a path, which is quoted, has not so many bytes beside the reserve
/// that a run leaves free: the smaller one of two. stat(1) prints terms for the shell's arithmetic.
fn space_conditions(path: &str, bytes: u64) -> String {
    format!(
        "{{ [ $(($(stat -fc '%a*%S-{RESERVE_BYTES}' {path}))) -ge {bytes} ] || \
         [ $(($(stat -fc '(%a-%b/{RESERVE_DIVISOR})*%S' {path}))) -ge {bytes} ]; }}"
    )
}

/// What is between a directory and the rest of a command that creates its own file there.
pub(super) fn scratch_space_condition(bytes: u64) -> String {
    let space = space_conditions(".", bytes);
    format!(" && {space} && [ $(($(stat -fc '%a*%S/2' .))) -ge {bytes} ]")
}

/// Whether fio opens exactly this file: it cuts names at `#` and `;`, which begin comments in a job
/// file, and strips trailing white space.
fn is_accepted_by_fio(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let cut = name.iter().any(|byte| b"#;".contains(byte));
    // The C library's isspace(3) includes the vertical tab.
    let trimmed = name
        .last()
        .is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x0b);
    !cut && !trimmed
}

impl FioJob {
    /// The command lines for a POSIX shell. If the job writes, the first line is a comment with the
    /// maximum number of bytes overwritten.
    ///
    /// # Errors
    /// When no command on one line can contain the name of the file.
    pub fn command_lines(&self, file: &FioFile) -> Result<String, FioGap> {
        self.lines_of_format(file, LineFormat::Current)
    }

    /// The lines of this version or an earlier one.
    pub(super) fn lines_of_format(
        &self,
        file: &FioFile,
        format: LineFormat,
    ) -> Result<String, FioGap> {
        let lines = match file {
            FioFile::Device(path) | FioFile::File(path) => {
                let line = self.existing_file_line(path, format.guards_at());
                match self.is_write() {
                    true => join_lines(
                        self.overwrite_comment(file, format),
                        self.conditional(file, format, line),
                    ),
                    false => line,
                }
            }
            FioFile::Scratch { directory, bytes } => {
                let directory = directory.as_os_str().as_encoded_bytes();
                let comment = self.scratch_comment(directory, *bytes, format);
                let line = self.scratch_file_line(directory, *bytes, format);
                join_lines(comment, line)
            }
        };
        lines.ok_or(FioGap::TargetName)
    }

    /// The file is the last word: the beginning of a line that was cut has no file, and creates none.
    fn existing_file_line(&self, path: &Path, guards_at: usize) -> Option<String> {
        let mut words = self.arguments();
        let mut rest = words.split_off(guards_at.min(words.len()));
        words.push("--allow_file_create=0".to_owned());
        if !self.is_write() {
            words.push("--readonly".to_owned());
        }
        words.append(&mut rest);
        let mut words: Vec<Vec<u8>> = words.into_iter().map(Vec::from).collect();
        words.push([b"--filename=", &*escaped_filename(path)].concat());
        shell::command_line(words)
    }

    /// A command on an existing file that runs only if this is still what it was, has all bytes of the range,
    /// and needs no new blocks or leaves the reserve free, or if nothing holds the device.
    fn conditional(
        &self,
        file: &FioFile,
        format: LineFormat,
        command: Option<String>,
    ) -> Option<String> {
        let quote = |path: &Path| shell::quote_word(path.as_os_str().as_encoded_bytes());
        let condition = match file {
            FioFile::Device(path) => {
                let node = quote(path)?;
                format!("[ -b {node} ] && {OPEN_EXCLUSIVELY} {node} && ")
            }
            FioFile::File(path) => {
                let (file, end) = (quote(path)?, self.end()?);
                let length =
                    format!("{FILE_CONDITION}{file} ] && [ $(stat -Lc %s {file}) -ge {end} ] && ");
                match format {
                    LineFormat::Current => {
                        let no_holes = format!("[ $(($(stat -Lc '%b*%B-%s' {file}))) -ge 0 ]");
                        let space = space_conditions(&file, end);
                        format!("{length}{{ {no_holes} || {space}; }} && ")
                    }
                    LineFormat::WithoutSpace | LineFormat::GuardsAtEnd => length,
                }
            }
            FioFile::Scratch { .. } => return None,
        };
        Some(condition + &command?)
    }

    /// The comment that tells what the job overwrites of an existing file, for example
    /// `# overwrites 4096 bytes of /dev/sda at most, between byte 0 and byte 8192`. The path is quoted:
    /// some shells execute a comment that is typed.
    fn overwrite_comment(&self, file: &FioFile, format: LineFormat) -> Option<String> {
        let (path, shorter) = match (file, format) {
            (FioFile::Device(path), _) => (path, ""),
            (FioFile::File(path), LineFormat::Current) => (
                path,
                ", and nothing of a shorter file, or of one with holes where a twentieth of the file system, at most 1 GiB, would not stay free",
            ),
            (FioFile::File(path), LineFormat::WithoutSpace | LineFormat::GuardsAtEnd) => {
                (path, ", and nothing of a shorter file")
            }
            (FioFile::Scratch { .. }, _) => return None,
        };
        Some(format!(
            "# overwrites {} bytes of {} at most, between byte {} and byte {}{shorter}",
            self.max_overwritten_bytes(),
            shell::quote_word(path.as_os_str().as_encoded_bytes())?,
            self.offset,
            self.end()?,
        ))
    }

    /// The comment before a command with a file of its own in a directory; `None` for a directory that cannot
    /// be quoted.
    fn scratch_comment(
        &self,
        directory: &[u8],
        file_bytes: u64,
        format: LineFormat,
    ) -> Option<String> {
        let amount = match self.max_bytes() {
            Some(most) if self.is_write() => format!("writes at most {most} bytes to it"),
            None if self.is_write() => "writes to it".to_owned(),
            _ => "reads it".to_owned(),
        };
        let space = match format {
            LineFormat::Current => {
                ", only where a twentieth of the file system, at most 1 GiB, and as much as the file stay free"
            }
            LineFormat::WithoutSpace | LineFormat::GuardsAtEnd => "",
        };
        Some(format!(
            "# overwrites 0 bytes of {}: fills a new file of {file_bytes} bytes there, {amount}, deletes it{space}",
            shell::quote_word(directory)?
        ))
    }

    /// A file of its own in the directory: mktemp never returns an existing one.
    fn scratch_file_line(
        &self,
        directory: &[u8],
        bytes: u64,
        format: LineFormat,
    ) -> Option<String> {
        let mut words = self.arguments();
        words.push(format!("--filesize={bytes}"));
        words.push("--overwrite=1".to_owned());
        let [begin, middle, end] = SCRATCH_COMMAND;
        let space = match format {
            LineFormat::Current => scratch_space_condition(bytes),
            LineFormat::WithoutSpace | LineFormat::GuardsAtEnd => String::new(),
        };
        Some(format!(
            "{begin}{}{space}{middle}{}{end}",
            shell::quote_word(directory)?,
            shell::command_line(words)?,
        ))
    }

    /// fio and its options without the file name.
    fn arguments(&self) -> Vec<String> {
        let mut words = vec![
            "fio".to_owned(),
            "--name=diskscope".to_owned(),
            format!("--rw={}", self.rw_argument()),
            "--ioengine=io_uring".to_owned(),
            match self.block_size {
                BlockSize::Fixed(size) => format!("--bs={size}"),
                BlockSize::Range(from, to) => format!("--bsrange={from}-{to}"),
            },
            format!("--iodepth={}", self.depth),
            format!("--numjobs={}", self.numjobs),
            "--thread".to_owned(),
            "--group_reporting".to_owned(),
            format!("--offset={}", self.offset),
            format!("--size={}", self.size),
        ];
        words.extend(self.offset_arguments());
        words.extend(self.limit_arguments());
        words.extend(self.cache_arguments());
        if self.is_write() {
            words.extend(self.data_arguments());
        }
        words.push("--lat_percentiles=1".to_owned());
        words
    }

    fn rw_argument(&self) -> &'static str {
        match (self.operation, self.sequential) {
            (IoOperation::Read, true) => "read",
            (IoOperation::Read, false) => "randread",
            (IoOperation::Write, true) => "write",
            (IoOperation::Write, false) => "randwrite",
            (IoOperation::Mixed { .. }, true) => "rw",
            (IoOperation::Mixed { .. }, false) => "randrw",
        }
    }

    fn offset_arguments(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let IoOperation::Mixed { reads } = self.operation {
            words.push(format!("--rwmixread={:.0}", reads * 100.0));
        }
        if let Some(zones) = self.zones {
            words.push("--zonemode=strided".to_owned());
            words.push(format!("--zonesize={}", zones.zone_bytes));
            words.push(format!("--zonerange={}", zones.zone_bytes));
            words.push(format!(
                "--zoneskip={}",
                zones.zone_stride - zones.zone_bytes
            ));
        }
        if let Some(align) = self.block_align {
            words.push(format!("--blockalign={align}"));
        }
        if let Some(theta) = self.zipf {
            words.push(format!("--random_distribution=zipf:{theta}"));
        }
        if !self.sequential {
            words.push(format!("--randseed={}", self.seed));
            words.push("--norandommap".to_owned());
        }
        words
    }

    fn limit_arguments(&self) -> Vec<String> {
        let mut words = Vec::new();
        let FioLimits {
            runtime,
            bytes,
            requests,
        } = self.limits;
        if let Some(runtime) = runtime {
            // fio ignores that limit if a limit in bytes is present.
            if bytes.is_none() && requests.is_none() {
                words.push("--time_based".to_owned());
            }
            words.push(format!("--runtime={}", runtime_argument(runtime)));
        }
        if !self.ramp.is_zero() {
            words.push(format!("--ramp_time={}", runtime_argument(self.ramp)));
        }
        let room = requests.map(|requests| Self::room_for_requests(requests, self.block_size));
        if let Some(bytes) = bytes.or(room) {
            words.push(format!("--io_size={bytes}"));
        }
        if let Some(requests) = requests {
            words.push(format!("--number_ios={requests}"));
        }
        words
    }

    /// A limit in bytes that no job with a limit of requests reaches. Without one fio ends such a job
    /// after the size of the window.
    pub(super) fn room_for_requests(requests: u64, block_size: BlockSize) -> u64 {
        requests
            .saturating_mul(u64::from(block_size.max_bytes()))
            .saturating_mul(2)
    }

    fn cache_arguments(&self) -> Vec<String> {
        let (direct, invalidate) = match self.cache_mode {
            CacheMode::Bypass => (1, 0),
            CacheMode::Drop => (0, 1),
            CacheMode::Keep => (0, 0),
        };
        let mut words = vec![
            format!("--direct={direct}"),
            format!("--invalidate={invalidate}"),
        ];
        match self.sync_mode {
            SyncMode::None => {}
            SyncMode::DataSync => words.push("--sync=dsync".to_owned()),
            SyncMode::Sync => words.push("--sync=sync".to_owned()),
            SyncMode::Flush => words.push("--fdatasync=1".to_owned()),
        }
        words
    }

    fn data_arguments(&self) -> Vec<String> {
        match self.data_kind {
            DataKind::Random => vec!["--refill_buffers".to_owned()],
            DataKind::Zero => vec!["--zero_buffers".to_owned()],
            DataKind::Repeated => vec!["--dedupe_percentage=100".to_owned()],
            DataKind::Compressible(percent) => vec![
                "--refill_buffers".to_owned(),
                format!("--buffer_compress_percentage={percent}"),
                "--buffer_compress_chunk=4096".to_owned(),
            ],
        }
    }
}

/// A comment and the command that it is about.
fn join_lines(comment: Option<String>, command: Option<String>) -> Option<String> {
    Some(format!("{}\n{}", comment?, command?))
}

/// Escapes a path for fio's `filename`, where a colon separates files.
fn escaped_filename(path: &Path) -> Vec<u8> {
    let mut name = Vec::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if *byte == b':' {
            name.push(b'\\');
        }
        name.push(*byte);
    }
    name
}

/// Formats a duration for fio with microsecond precision.
fn runtime_argument(time: Duration) -> String {
    let (seconds, micros) = (time.as_secs(), time.as_micros());
    if time == Duration::from_secs(seconds) {
        format!("{seconds}")
    } else if micros.is_multiple_of(1000) {
        format!("{}ms", micros / 1000)
    } else {
        format!("{}us", micros.max(1))
    }
}
