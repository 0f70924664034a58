//! Views of open files: those of one process, and deleted files of the whole system.

use serde::Serialize;

use crate::drive::{BlockDevice, MountedFileSystem};
use crate::probe::process::open_files::{DeletedFile, OpenDescriptor};
use crate::safe_text::SafeText;
use crate::shell;

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
    /// Command that frees the space at once without ending a process: it truncates the file, so the
    /// content is lost. `None` for the scratch file of a benchmark of this program, which must stay
    /// as it is and is freed when the benchmark ends.
    #[serde(rename = "release")]
    pub truncate_command: Option<SafeText>,
    /// Command that copies its content; `None` for a scratch file.
    #[serde(rename = "rescue")]
    pub copy_command: Option<SafeText>,
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
/// Flag of a descriptor that only refers to a path.
const O_PATH: u32 = 0o10_000_000;

/// The flags of a descriptor as text.
#[must_use]
pub fn describe_flags(flags: u32) -> String {
    let access = match flags & 0o3 {
        _ if flags & O_PATH != 0 => "",
        0 => "r",
        1 => "w",
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
            let (pid, _, descriptor) = file.holders.first().cloned().unwrap_or_default();
            let link = format!("/proc/{pid}/fd/{descriptor}");
            let same = same_file_condition(&link, file);
            let is_scratch = file.holders.iter().any(|(_, name, _)| name == OWN_NAME);
            let offered = |command: String| (!is_scratch).then(|| SafeText::from(command));
            DeletedView {
                path: SafeText::from_bytes(&file.path),
                device: drive.map(|drive| drive.name.clone()).map(Into::into),
                mount_point: system
                    .map(|system| system.mount_point.clone())
                    .map(Into::into),
                held_bytes: file.held_bytes,
                size_bytes: file.size,
                truncate_command: offered(format!("{same} && truncate -cs 0 {link}")),
                copy_command: shell::quote_word(copy_destination(&file.path)).and_then(|copy| {
                    offered(format!("{same} && cp -n --sparse=always {link} {copy}"))
                }),
                holders: file
                    .holders
                    .iter()
                    .map(|(pid, name, descriptor)| FileHolder {
                        pid: *pid,
                        command: SafeText::from_bytes(name),
                        descriptor: *descriptor,
                    })
                    .collect(),
            }
        })
        .collect()
}

/// A shell condition that checks whether a link still refers to the deleted file: the process may
/// have ended and its id may be reused when the user pastes the command.
fn same_file_condition(link: &str, file: &DeletedFile) -> String {
    format!(
        "[ \"$(stat -Lc %d:%i:%h {link})\" = {}:{}:0 ]",
        file.device_id, file.inode
    )
}

/// Destination of a copy of the deleted file: its last name, in a directory that the user chooses. No
/// command on one line can contain line breaks at its end: the copy has none.
fn copy_destination(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let breaks = name.iter().rev().take_while(|byte| **byte == b'\n').count();
    let name = &name[..name.len() - breaks];
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

    #[test]
    fn deleted_file_commands_escape_hostile_names() {
        let file = DeletedFile {
            path: b"/tmp/\x1b[2J\n\xff".to_vec(),
            device_number: (8, 1),
            device_id: 2049,
            inode: 131,
            held_bytes: 4096,
            size: 10,
            holders: vec![(7, b"ev\x07il".to_vec(), 3), (8, b"b".to_vec(), 4)],
        };
        let view = deleted_file_views(&[file], &[], &[]).remove(0);
        assert_eq!(view.path, "/tmp/\\x1b[2J\\n\\xff");
        assert_eq!(
            view.truncate_command.as_deref().unwrap(),
            "[ \"$(stat -Lc %d:%i:%h /proc/7/fd/3)\" = 2049:131:0 ] && truncate -cs 0 /proc/7/fd/3"
        );
        let copy_command = view.copy_command.unwrap();
        assert!(
            copy_command.ends_with(
                "&& cp -n --sparse=always /proc/7/fd/3 \
                 /where/there/is/room/\"$(printf '\\033')\"'[2J'\"$(printf '\\012\\377')\""
            ),
            "{copy_command}"
        );
        assert_eq!(view.holders[0].command, "ev\\x07il");
        assert_eq!((view.holders.len(), view.device), (2, None));
    }

    #[test]
    fn scratch_file_of_a_benchmark_is_not_to_be_truncated() {
        let file = DeletedFile {
            path: b"/srv/#4711".to_vec(),
            device_number: (8, 1),
            device_id: 2049,
            inode: 131,
            held_bytes: 1 << 30,
            size: 1 << 30,
            holders: vec![(7, b"diskscope".to_vec(), 3)],
        };
        let view = deleted_file_views(&[file], &[], &[]).remove(0);
        assert_eq!((view.truncate_command, view.copy_command), (None, None));
        assert_eq!(view.held_bytes, 1 << 30);
    }
}
