//! Shell command lines of a fio job.

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

/// Fails where something holds a device: a mount, swap, an array.
const OPEN_EXCLUSIVELY: &str =
    "python3 -Ic 'import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)'";
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
            FioFile::Device(path) | FioFile::File(path) if self.is_write => {
                self.writing_lines(path, matches!(file, FioFile::Device(_)))
            }
            FioFile::Device(path) | FioFile::File(path) => self.existing_file_line(path),
        };
        lines.ok_or(FioGap::TargetName)
    }

    /// The file is the last word: the beginning of a line that was cut has no file, and creates none.
    fn existing_file_line(&self, path: &Path) -> Option<String> {
        let mut guards = vec!["--allow_file_create=0"];
        if !self.is_write {
            guards.push("--readonly");
        }
        let words = ["fio", "--name=diskscope"].into_iter().chain(guards);
        let words = words.chain(self.words.iter().map(String::as_str));
        let mut words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
        words.push([b"--filename=", &*escaped_filename(path)].concat());
        shell::command_line(words)
    }

    /// A command on an existing file that runs only if this is still what it was and has all bytes of
    /// the range, or if nothing holds the device. The path in the comment is quoted: some shells execute
    /// a comment that is typed.
    fn writing_lines(&self, path: &Path, is_device: bool) -> Option<String> {
        let command = self.existing_file_line(path)?;
        let path = shell::quote_word(path.as_os_str().as_encoded_bytes())?;
        let range = &self.range;
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
            self.max_overwritten_bytes, range.start, range.end,
        ))
    }

    /// A command with a file of its own in a directory.
    fn scratch_lines(&self, directory: &Path, bytes: u64) -> Option<String> {
        let directory = shell::quote_word(directory.as_os_str().as_encoded_bytes())?;
        let does = if self.is_write {
            "writes to it"
        } else {
            "reads it"
        };
        let bytes_word = format!("--filesize={bytes}");
        let words = ["fio", "--name=diskscope"].into_iter();
        let words = words.chain(self.words.iter().map(String::as_str));
        let fio = shell::command_line(words.chain([&*bytes_word, "--overwrite=1"]))?;
        // mktemp never returns an existing file.
        Some(format!(
            "# overwrites 0 bytes of {directory}: fills a new file of {bytes} bytes there, {does}, deletes it\n\
             (file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && cd -- {directory} && \
             file=$(mktemp diskscope-fio.XXXXXXXXXX) && {fio} --filename=\"$file\")"
        ))
    }
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
