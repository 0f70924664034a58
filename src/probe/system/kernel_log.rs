//! I/O errors: in the kernel log (kernel Documentation/ABI/testing/dev-kmsg), and as drives count them.

use std::fs::File;
use std::io::Read;

use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::Errno;

use crate::probe::availability::Availability;
use crate::probe::text::nonempty_lines;
use crate::roots::SysPaths;

/// One record of the log is at most this long (kernel/printk/printk.c, `CONSOLE_EXT_LOG_MAX`).
const RECORD_BYTES: usize = 8192;
/// Records that are read at once at most: a driver may log faster than they are read.
const MAX_RECORDS: usize = 20_000;

/// A record of the kernel log that reports a failed request or a damaged file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelIoError {
    /// Name of the device, such as `sda`.
    pub device: String,
    /// The message.
    pub message: String,
}

/// The kernel log from the time at which it was opened, or why it cannot be read.
#[derive(Debug)]
pub struct KernelLog {
    file: Result<File, NewErrors>,
}

impl KernelLog {
    /// Opens the log at its end. With `kernel.dmesg_restrict` only root may.
    #[must_use]
    pub fn open_at_end(roots: &SysPaths) -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(roots.dev.join("kmsg"), flags, Mode::empty())
            .and_then(|log| seek(&log, SeekFrom::End(0)).map(|_| File::from(log)))
            .map_err(|error| match error {
                Errno::PERM | Errno::ACCESS => NewErrors::NotPermitted,
                _ => NewErrors::Absent,
            });
        Self { file }
    }

    /// The I/O errors that were logged since the last call.
    pub fn new_errors(&mut self) -> NewErrors {
        let file = match &mut self.file {
            Ok(file) => file,
            Err(reason) => return reason.clone(),
        };
        let mut errors = Vec::new();
        let mut record = [0; RECORD_BYTES];
        for _ in 0..MAX_RECORDS {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    errors.extend(nonempty_lines(&record[..length]).filter_map(parse_record));
                }
                // The record was overwritten before it was read; the next read continues after it.
                Err(error) if error.raw_os_error() == Some(Errno::PIPE.raw_os_error()) => {}
                Err(_) => break,
            }
        }
        NewErrors::Available(errors)
    }
}

/// The new errors, or why they are unknown: the log is denied to this user, or there is none.
pub type NewErrors = Availability<Vec<KernelIoError>>;

/// What is known about I/O errors at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoErrorSample {
    /// Errors that the kernel has logged since the previous sample.
    pub logged: NewErrors,
    /// Commands that failed since each drive was found, by name; drives that do not count them are
    /// absent.
    pub command_errors: Vec<(String, u64)>,
}

/// The error in a record `PRIORITY,SEQUENCE,TIME,FLAGS;MESSAGE`; lines that begin with a blank are
/// its properties. Other programs can write to the log too: the priority of their records contains the
/// number of a facility, which is 0 for the kernel.
#[must_use]
pub fn parse_record(line: &[u8]) -> Option<KernelIoError> {
    let text = String::from_utf8_lossy(line);
    let (header, message) = text.split_once(';').filter(|_| !text.starts_with(' '))?;
    let priority: u32 = header.split(',').next()?.parse().ok()?;
    (priority < LEVELS).then(|| parse_message(message))?
}

/// Number of levels; a priority is a level plus this times the facility (include/linux/syslog.h).
const LEVELS: u32 = 8;

/// What older kernels write before the message of a failed request: the name of a function.
const FUNCTIONS: [&str; 2] = ["blk_update_request: ", "print_req_error: "];
/// What failed, in messages of failed requests that are normal: of requests that a drive does not support.
const NORMAL_FAILURES: [&str; 2] = ["critical target", "operation not supported"];
/// Other messages: what precedes the name of the device, what follows it, and what the message contains
/// besides (fs/buffer.c, `buffer_io_error`; fs/ext4/super.c; fs/xfs/xfs_message.c; fs/btrfs/volumes.c).
const PATTERNS: [(&str, &[char], &str); 5] = [
    ("Buffer I/O error on dev ", &[','], " logical block "),
    ("Buffer I/O error on device ", &[','], " logical block "),
    ("EXT4-fs error (device ", &[')'], ""),
    ("XFS (", &[')'], "I/O error"),
    ("BTRFS error (device ", &[')', ' '], "bdev"),
];

/// The device of an error message. The message begins with what the kernel writes: within it there may
/// be text of somebody else, such as the name of a process or of a USB device.
fn parse_message(message: &str) -> Option<KernelIoError> {
    let other = || {
        PATTERNS.iter().find_map(|(before, after, with)| {
            let (name, rest) = device_name(message.strip_prefix(before)?)?;
            (rest.starts_with(*after) && rest.contains(with)).then_some(name)
        })
    };
    let device = failed_request(message).or_else(other)?;
    // Drives without a medium fail in normal use.
    let harmless = device.starts_with("fd") || device.starts_with("sr");
    (!harmless).then(|| KernelIoError {
        device: device.to_owned(),
        message: message.trim().to_owned(),
    })
}

/// The device of the message of a failed request (block/blk-core.c, `blk_print_req_error`).
fn failed_request(message: &str) -> Option<&str> {
    let mut functions = FUNCTIONS.iter();
    let message = functions
        .find_map(|function| message.strip_prefix(function))
        .unwrap_or(message);
    let (failure, rest) = message.split_once(" error, dev ")?;
    let (device, rest) = device_name(rest)?;
    // What others write stands behind a colon: "usb 1-1: Product: I/O error, dev sda".
    let is_failure = !failure.is_empty() && !failure.contains(':');
    let is_normal = NORMAL_FAILURES.contains(&failure);
    (is_failure && !is_normal && rest.starts_with(", sector ")).then_some(device)
}

/// The name at the beginning of a text, and what follows it.
fn device_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_!".contains(letter)));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    (!name.is_empty()).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_of_failed_request_is_found_in_messages_of_several_kernels() {
        for (message, device) in [
            (
                "blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0",
                "sda",
            ),
            (
                "I/O error, dev nvme0n1, sector 0 op 0x1:(WRITE) flags 0x800 phys_seg 1",
                "nvme0n1",
            ),
            (
                "critical medium error, dev sdb, sector 99 op 0x0:(READ)",
                "sdb",
            ),
            (
                "Buffer I/O error on dev dm-3, logical block 7, async page read",
                "dm-3",
            ),
            (
                "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls",
                "sda1",
            ),
            ("XFS (vda2): metadata I/O error in \"xfs_trans\"", "vda2"),
        ] {
            assert_eq!(parse_message(message).unwrap().device, device, "{message}");
        }
        for message in [
            "XFS (vda2): Mounting V5 Filesystem",
            "I/O error, dev fd0, sector 0 op 0x0:(READ)",
            "critical target error, dev sdc, sector 8 op 0x3:(DISCARD)",
            "loop1: detected capacity change from 0 to 8192",
            "operation not supported error, dev sdc, sector 8 op 0x9:(WRITE_ZEROES)",
            // Names that users have given to a process and to a USB device.
            " error, dev vda[1491]: segfault at 0 ip 0000000000401106",
            "I/O error, dev [1491]: segfault at 0 ip 0000000000401106",
            "usb 1-1: Product: I/O error, dev sda, sector 1",
            "usb 1-1: Product: Buffer I/O error on dev sda, logical block 1",
            "usb 1-1: Product: EXT4-fs error (device sda1): x",
            "",
        ] {
            assert_eq!(parse_message(message), None, "{message}");
        }
    }

    #[test]
    fn record_of_another_program_is_no_error_of_the_kernel() {
        let error = "1,10,-;I/O error, dev sda, sector 1";
        assert!(parse_record(format!("3,{error}").as_bytes()).is_some());
        for facility in 1..24 {
            let record = format!("{},{error}", facility * LEVELS + 3);
            assert_eq!(parse_record(record.as_bytes()), None, "{record}");
        }
    }

    #[test]
    fn log_yields_only_what_was_logged_after_it_was_opened() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let path = root.path().join("dev/kmsg");
        std::fs::write(&path, "3,1,10,-;I/O error, dev sda, sector 1\n").unwrap();
        let roots = SysPaths::under_root(root.path());
        let mut log = KernelLog::open_at_end(&roots);
        assert_eq!(log.new_errors(), NewErrors::Available(Vec::new()));
        let mut file = File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(
            &mut file,
            b"6,2,11,-;usb 1-1: new device\n DEVICE=+usb:1-1\n3,3,12,-;I/O error, dev sdb, sector 8\n",
        )
        .unwrap();
        let NewErrors::Available(errors) = log.new_errors() else {
            panic!("it can be read");
        };
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].device, "sdb");
        assert_eq!(log.new_errors(), NewErrors::Available(Vec::new()));

        let empty = tempfile::tempdir().unwrap();
        let mut none = KernelLog::open_at_end(&SysPaths::under_root(empty.path()));
        assert_eq!(none.new_errors(), NewErrors::Absent);
    }
}
