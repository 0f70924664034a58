//! Views of open files: those of one process, and deleted files of the whole system.

use serde::Serialize;

use crate::drive::BlockDevice;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::probe::file_systems::MountedFileSystem;
use crate::probe::process::open_files::{DeletedFile, DeletedFileHolder, OpenDescriptor};

/// An open file of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileView {
    /// File descriptor number.
    pub descriptor: u32,
    /// Path as the kernel reports it, safe to print.
    pub path: SafeText,
    /// Offset of the next read or write.
    pub position_bytes: Option<u64>,
    /// Length of a regular file.
    pub size_bytes: Option<u64>,
    /// Access and flags as open(2) names them, such as `w append direct`.
    pub flags: Option<SafeText>,
    /// Whether it is deleted.
    pub deleted: bool,
}

/// A deleted file that occupies space as long as it is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeletedView {
    /// Its last path.
    pub path: SafeText,
    /// Device that it is on.
    pub device: Option<SafeText>,
    /// Where that device is mounted.
    #[serde(rename = "mounted_at")]
    pub mount_point: Option<SafeText>,
    /// Bytes that are freed when all holders close it.
    pub held_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
    /// Processes that have it open.
    pub holders: Vec<FileHolder>,
    /// Who needs the content; `None` where it may be truncated.
    pub needed_by: Option<ContentUser>,
    /// Command that frees the space at once without ending a process: it truncates the file, so the
    /// content is lost. `None` where the content is needed.
    #[serde(rename = "release")]
    pub truncate_command: Option<SafeText>,
    /// Command that copies its content; `None` for a scratch file, and where no command can name the copy.
    #[serde(rename = "rescue")]
    pub copy_command: Option<SafeText>,
}

/// Who needs the content of a deleted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentUser {
    /// A benchmark of this program, whose scratch or output file it is.
    Benchmark,
    /// A process: it may read what it has written, or give the file a name.
    Process,
}

/// A process that has a file open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileHolder {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub command: SafeText,
    /// File descriptor number.
    pub descriptor: u32,
}

/// The kernel's name of this program.
const OWN_NAME: &[u8] = b"diskscope";

/// Flags of open(2) that are shown, as fdinfo reports them (include/uapi/asm-generic/fcntl.h).
const OPEN_FLAGS: [(u32, &str); 7] = [
    (0o2000, "append"),
    (0o4000, "nonblock"),
    (0o40_000, "direct"),
    (0o1_000_000, "noatime"),
    (0o10_000_000, "path"),
    (0o10_000, "dsync"),
    (0o4_000_000, "sync"),
];
/// The access mode among the flags, and writing only.
const O_ACCMODE: u32 = 0o3;
const O_WRONLY: u32 = 0o1;
/// Flag of a descriptor that only refers to a path.
const O_PATH: u32 = 0o10_000_000;
/// Flag of a file that was created without a name, and may get one.
const O_TMPFILE: u32 = 0o20_000_000;

/// The flags of a descriptor as text.
#[must_use]
pub fn describe_flags(flags: u32) -> String {
    let access = match flags & O_ACCMODE {
        _ if flags & O_PATH != 0 => "",
        0 => "r",
        O_WRONLY => "w",
        _ => "rw",
    };
    let named = OPEN_FLAGS.iter().filter(|(bit, _)| flags & bit != 0);
    let words: Vec<&str> = [access]
        .into_iter()
        .filter(|access| !access.is_empty())
        .chain(named.map(|(_, name)| *name))
        .collect();
    words.join(" ")
}

/// Views of the open files of a process.
#[must_use]
pub fn open_file_views(files: &[OpenDescriptor]) -> Vec<FileView> {
    files
        .iter()
        .map(|file| FileView {
            descriptor: file.descriptor,
            path: SafeText::from_bytes(&file.path),
            position_bytes: file.position,
            size_bytes: file.size,
            flags: file.flags.map(describe_flags).map(Into::into),
            deleted: file.is_deleted,
        })
        .collect()
}

/// Views of deleted files.
#[must_use]
pub fn deleted_file_views(
    files: &[DeletedFile],
    drives: &[BlockDevice],
    systems: &[MountedFileSystem],
) -> Vec<DeletedView> {
    files
        .iter()
        .map(|file| {
            let system = systems
                .iter()
                .find(|system| system.device_id == file.device_number);
            let number = system.map_or(file.device_number, |system| system.block_device);
            let drive = drives.iter().find(|drive| drive.number == number);
            let first = file.holders.first();
            let (pid, descriptor) = first.map_or((0, 0), |it| (it.pid, it.descriptor));
            let link = format!("/proc/{pid}/fd/{descriptor}");
            let same = same_file_condition(&link, file);
            let needed_by = content_user(file);
            let copy = shell::quote_word(copy_destination(&file.path))
                .filter(|_| needed_by != Some(ContentUser::Benchmark));
            DeletedView {
                path: SafeText::from_bytes(&file.path),
                device: drive.map(|drive| drive.name.clone()).map(Into::into),
                mount_point: system
                    .map(|system| system.mount_point.clone())
                    .map(Into::into),
                held_bytes: file.held_bytes,
                size_bytes: file.size,
                needed_by,
                truncate_command: needed_by
                    .is_none()
                    .then(|| format!("{same} && truncate -cs 0 {link}").into()),
                copy_command: copy
                    .map(|copy| format!("{same} && cp -n --sparse=always {link} {copy}").into()),
                holders: file
                    .holders
                    .iter()
                    .map(|holder| FileHolder {
                        pid: holder.pid,
                        command: SafeText::from_bytes(&holder.name),
                        descriptor: holder.descriptor,
                    })
                    .collect(),
            }
        })
        .collect()
}

/// Who needs the content of a deleted file: all but logs, which nobody reads, are needed. Any process may have
/// the name of this program: a scratch file is one that nobody else has open.
fn content_user(file: &DeletedFile) -> Option<ContentUser> {
    let is_own = |it: &DeletedFileHolder| it.name == OWN_NAME;
    let is_log = |it: &DeletedFileHolder| {
        let access = it
            .flags
            .map(|flags| flags & (O_ACCMODE | O_PATH | O_TMPFILE));
        access == Some(O_WRONLY)
    };
    if file.holders.iter().all(is_own) {
        Some(ContentUser::Benchmark)
    } else if file.holders.iter().all(is_log) {
        None
    } else {
        Some(ContentUser::Process)
    }
}

/// A shell condition that checks whether a link still refers to the deleted file: the process may
/// have ended and its id may be reused when the user pastes the command.
fn same_file_condition(link: &str, file: &DeletedFile) -> String {
    format!(
        "[ \"$(stat -Lc %d:%i:%h {link})\" = {}:{}:0 ]",
        file.device_id, file.inode
    )
}

/// Destination of a copy of the deleted file: its last name, in a directory that the user chooses.
fn copy_destination(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    [b"/where/there/is/room/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_flags_are_described() {
        assert_eq!(describe_flags(0o100_000), "r");
        assert_eq!(describe_flags(0o102_001), "w append");
        assert_eq!(describe_flags(0o140_002), "rw direct");
        assert_eq!(describe_flags(0o10_000_000), "path");
        // O_SYNC includes O_DSYNC.
        assert_eq!(describe_flags(0o4_010_001), "w dsync sync");
    }

    fn view(path: &[u8], holders: &[(u32, &[u8], Option<u32>)]) -> DeletedView {
        let holder = |(pid, name, flags): &(u32, &[u8], Option<u32>)| DeletedFileHolder {
            pid: *pid,
            name: name.to_vec(),
            descriptor: 3,
            flags: *flags,
        };
        let file = DeletedFile {
            path: path.to_vec(),
            device_number: (8, 1),
            device_id: 2049,
            inode: 131,
            held_bytes: 4096,
            size: 10,
            holders: holders.iter().map(holder).collect(),
        };
        deleted_file_views(&[file], &[], &[]).remove(0)
    }

    #[test]
    fn deleted_file_commands_escape_hostile_names() {
        let view = view(b"/tmp/\x1b[2J\n\xff", &[(7, b"ev\x07il", Some(0o102_001))]);
        assert_eq!(view.path, "/tmp/\\x1b[2J\\n\\xff");
        assert_eq!(
            view.truncate_command.as_deref().unwrap(),
            "[ \"$(stat -Lc %d:%i:%h /proc/7/fd/3)\" = 2049:131:0 ] && truncate -cs 0 /proc/7/fd/3"
        );
        let copy_command = view.copy_command.unwrap();
        assert!(
            copy_command.ends_with(
                "&& cp -n --sparse=always /proc/7/fd/3 \
                 $'/where/there/is/room/\\033\\1332J\\012\\377'"
            ),
            "{copy_command}"
        );
        assert_eq!(view.holders[0].command, "ev\\x07il");
        assert_eq!((view.holders.len(), view.device), (1, None));
    }

    #[test]
    fn only_a_log_that_nobody_reads_is_offered_to_be_truncated() {
        // As fdinfo has them, O_LARGEFILE included: write, append, read, update; unnamed, and only for ioctl(2).
        let (write, append, read, update) = (0o100_001, 0o102_001, 0o100_000, 0o100_002);
        let (unnamed, only_ioctl) = (0o22_300_001, 0o100_003);
        let (log, other) = (None, Some(ContentUser::Process));
        for (holders, needed_by) in [
            (&[(7, &b"nginx"[..], Some(write))][..], log),
            (&[(7, b"a", Some(append)), (8, b"a", Some(write))], log),
            (&[(7, b"a", Some(append)), (8, b"tail", Some(read))], other),
            (&[(7, b"a", Some(append)), (8, b"a", None)], other),
            (&[(7, b"a", Some(update))], other),
            (&[(7, b"a", Some(unnamed))], other),
            (&[(7, b"a", Some(only_ioctl))], other),
            (&[(7, OWN_NAME, Some(update))], Some(ContentUser::Benchmark)),
            (&[(7, OWN_NAME, Some(update)), (8, b"a", Some(read))], other),
        ] {
            let view = view(b"/srv/a", holders);
            assert_eq!(view.needed_by, needed_by, "{holders:?}");
            assert_eq!(view.truncate_command.is_some(), needed_by.is_none());
            let is_scratch = needed_by == Some(ContentUser::Benchmark);
            assert_eq!(view.copy_command.is_none(), is_scratch);
        }
    }
}
