//! Shell command lines of a fio job, and whether a text is one of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::FioJob;
use crate::drive::medium::strip_trailing_slash;
use crate::drive::{Target, TargetKind};
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

/// What is before the directory, between it and fio, and behind fio in a command that creates its own
/// file. mktemp never returns an existing one.
const SCRATCH_COMMAND: [&str; 3] = [
    "(file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && cd -- ",
    " && file=$(mktemp diskscope-fio.XXXXXXXXXX) && ",
    " --filename=\"$file\")",
];
/// Fails where something holds a device: a mount, swap, an array.
const OPEN_EXCLUSIVELY: &str =
    "python3 -Ic 'import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)'";
/// The options that [`FioJob`] and the lines have, in any order. None of them starts a program or
/// names a file.
const OPTIONS: &str = "rw bs bsrange iodepth numjobs thread group_reporting offset size rwmixread zonemode \
    zonesize zonerange zoneskip blockalign random_distribution randseed norandommap time_based runtime \
    ramp_time io_size number_ios direct invalidate sync fdatasync refill_buffers zero_buffers \
    dedupe_percentage buffer_compress_percentage buffer_compress_chunk continue_on_error lat_percentiles";
/// The first words of each job.
const FIRST_WORDS: [&str; 2] = ["fio", "--name=diskscope"];
/// The engine of each job.
const ENGINE: &str = "--ioengine=io_uring";

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
        let lines = match file {
            FioFile::Scratch { directory, bytes } => self.scratch_lines(directory, *bytes),
            FioFile::Device(path) | FioFile::File(path) if self.is_write() => {
                self.writing_lines(path, matches!(file, FioFile::Device(_)))
            }
            FioFile::Device(path) | FioFile::File(path) => self.existing_file_line(path),
        };
        lines.ok_or(FioGap::TargetName)
    }

    /// The file is the last word: the beginning of a line that was cut has no file, and creates none.
    fn existing_file_line(&self, path: &Path) -> Option<String> {
        let mut words: Vec<Vec<u8>> = FIRST_WORDS.map(Vec::from).to_vec();
        words.push(b"--allow_file_create=0".to_vec());
        if !self.is_write() {
            words.push(b"--readonly".to_vec());
        }
        let rest = self.words.iter().skip(FIRST_WORDS.len());
        words.extend(rest.map(|word| word.clone().into_bytes()));
        words.push([b"--filename=", &*escaped_filename(path)].concat());
        shell::command_line(words)
    }

    /// A command on an existing file that runs only if this is still what it was and has all bytes of
    /// the range, or if nothing holds the device. The path in the comment is quoted: some shells execute
    /// a comment that is typed.
    fn writing_lines(&self, path: &Path, is_device: bool) -> Option<String> {
        let command = self.existing_file_line(path)?;
        let path = shell::quote_word(path.as_os_str().as_encoded_bytes())?;
        let range = self.range()?;
        let (condition, shorter) = if is_device {
            (format!("[ -b {path} ] && {OPEN_EXCLUSIVELY} {path}"), "")
        } else {
            (
                format!(
                    "[ -f {path} ] && [ $(stat -Lc %s {path}) -ge {} ]",
                    range.end
                ),
                ", and nothing of a shorter file",
            )
        };
        Some(format!(
            "# overwrites {} bytes of {path} at most, between byte {} and byte {}{shorter}\n{condition} && {command}",
            self.max_overwritten_bytes()?,
            range.start,
            range.end,
        ))
    }

    /// A command with a file of its own in a directory.
    fn scratch_lines(&self, directory: &Path, bytes: u64) -> Option<String> {
        let directory = shell::quote_word(directory.as_os_str().as_encoded_bytes())?;
        let does = if self.is_write() {
            "writes to it"
        } else {
            "reads it"
        };
        let mut words = self.words.clone();
        words.push(format!("--filesize={bytes}"));
        words.push("--overwrite=1".to_owned());
        let [begin, middle, end] = SCRATCH_COMMAND;
        Some(format!(
            "# overwrites 0 bytes of {directory}: fills a new file of {bytes} bytes there, {does}, deletes it\n\
             {begin}{directory}{middle}{}{end}",
            shell::command_line(words)?,
        ))
    }
}

/// File and job of a text that [`FioJob::command_lines`] has written; `None` for any other text, for it
/// comes from a document and is shown to be pasted.
#[must_use]
pub fn parse_command_lines(text: &str) -> Option<(FioFile, FioJob)> {
    let command = text.lines().last()?;
    let [begin, middle, end] = SCRATCH_COMMAND;
    let known = match command.strip_prefix(begin) {
        Some(inner) => {
            let (directory, fio) = inner.strip_suffix(end)?.rsplit_once(middle)?;
            let [directory]: [Vec<u8>; 1] = shell::split_line(directory)?.try_into().ok()?;
            let directory = PathBuf::from(OsString::from_vec(directory));
            let job = job_of_words(shell::split_line(fio)?)?;
            let bytes = job.1?;
            vec![(FioFile::Scratch { directory, bytes }, job.0)]
        }
        None => {
            // The name of the file can contain the beginning of a command.
            let starts = command.match_indices("fio ").map(|(at, _)| &command[at..]);
            let words = starts.filter_map(shell::split_line);
            words.filter_map(existing_file_job).flatten().collect()
        }
    };
    let mut known = known.into_iter();
    known.find(|(file, job)| job.command_lines(file).as_deref() == Ok(text))
}

/// The job of the words of a command on an existing file, which is a device or a regular one.
fn existing_file_job(mut words: Vec<Vec<u8>>) -> Option<[(FioFile, FioJob); 2]> {
    let path = words.pop()?;
    let path = unescaped_filename(path.strip_prefix(b"--filename=")?);
    let path = PathBuf::from(OsString::from_vec(path));
    let (job, _) = job_of_words(words)?;
    Some([
        (FioFile::Device(path.clone()), job.clone()),
        (FioFile::File(path), job),
    ])
}

/// The job of the words of a command, and the size of its own file.
fn job_of_words(words: Vec<Vec<u8>>) -> Option<(FioJob, Option<u64>)> {
    let words = words.into_iter().map(String::from_utf8);
    let mut words: Vec<String> = words.collect::<Result<_, _>>().ok()?;
    let filesize = words
        .iter()
        .find_map(|word| word.strip_prefix("--filesize="));
    let bytes = filesize.and_then(|bytes| bytes.parse().ok());
    words.retain(|word| {
        let of_file = ["--allow_file_create=0", "--readonly", "--overwrite=1"];
        !of_file.contains(&word.as_str()) && !word.starts_with("--filesize=")
    });
    let mut rest = words.iter();
    let is_fio = FIRST_WORDS
        .iter()
        .all(|word| rest.next() == Some(&(*word).to_owned()));
    let is_known = |word: &String| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.strip_prefix("--").unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-".contains(&byte);
        word == ENGINE
            || OPTIONS.split(' ').any(|known| known == name) && value.bytes().all(is_plain)
    };
    (is_fio && rest.all(is_known)).then_some((FioJob { words }, bytes))
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

fn unescaped_filename(name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(name.len());
    for byte in name {
        if *byte == b':' && path.last() == Some(&b'\\') {
            path.pop();
        }
        path.push(*byte);
    }
    path
}
