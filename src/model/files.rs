//! Open files as they are shown: of one process, and those of the system that have no name.

use serde::Serialize;

use crate::drive::{BlockDevice, MountedFileSystem};
use crate::probe::process::open_files::{DeletedFile, OpenDescriptor};
use crate::safe_text::SafeText;
use crate::shell;

/// Something that a process has open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileView {
    /// Number of the descriptor.
    pub descriptor: u32,
    /// What the kernel calls it, made harmless to print.
    pub path: SafeText,
    /// Offset of the next read or write.
    pub position_bytes: Option<u64>,
    /// Length of a regular file.
    pub size_bytes: Option<u64>,
    /// Access and flags as open(2) names them, such as `w append direct`.
    pub flags: Option<SafeText>,
    /// Whether it has no name any more.
    pub deleted: bool,
}

/// A file without a name that holds its space as long as it is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeletedView {
    /// Its last name.
    pub path: SafeText,
    /// Device that it lies on.
    pub device: Option<SafeText>,
    /// Where that device is mounted.
    #[serde(rename = "mounted_at")]
    pub mount_point: Option<SafeText>,
    /// Bytes that come back when everybody has closed it.
    pub held_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
    /// Who has it open.
    pub holders: Vec<FileHolder>,
    /// How to get the space back at once without ending anybody: it empties the file, and its
    /// content is lost.
    #[serde(rename = "release")]
    pub truncate_command: SafeText,
    /// How to copy its content out.
    #[serde(rename = "rescue")]
    pub copy_command: SafeText,
}

/// Who has a file open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileHolder {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub command: SafeText,
    /// Number of the descriptor.
    pub descriptor: u32,
}

/// Flags of open(2) worth a word, as fdinfo gives them (include/uapi/asm-generic/fcntl.h).
const OPEN_FLAGS: [(u32, &str); 7] = [
    (0o2000, "append"),
    (0o4000, "nonblock"),
    (0o40_000, "direct"),
    (0o1_000_000, "noatime"),
    (0o10_000_000, "path"),
    (0o10_000, "dsync"),
    (0o4_000_000, "sync"),
];
/// Marks an open for its name alone.
const O_PATH: u32 = 0o10_000_000;

/// The flags of a descriptor in words.
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

/// What a process has open.
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

/// Files without a name.
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
            DeletedView {
                path: SafeText::from_bytes(&file.path),
                device: drive.map(|drive| drive.name.clone()).map(Into::into),
                mount_point: system
                    .map(|system| system.mount_point.clone())
                    .map(Into::into),
                held_bytes: file.held_bytes,
                size_bytes: file.size,
                truncate_command: format!("{same} && truncate -cs 0 {link}").into(),
                copy_command: format!(
                    "{same} && cp -n --sparse=always {link} {}",
                    shell::quote_word(copy_destination(&file.path))
                )
                .into(),
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

/// Whether a link still leads to that nameless file, as a condition of the shell: the process may
/// have ended and its number may be another's by the time somebody pastes the command.
fn same_file_condition(link: &str, file: &DeletedFile) -> String {
    format!(
        "[ \"$(stat -Lc %d:%i:%h {link})\" = {}:{}:0 ]",
        file.device_id, file.inode
    )
}

/// Where the content of a nameless file is copied to: its last name, in a directory that the reader
/// has to choose.
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
            view.truncate_command,
            "[ \"$(stat -Lc %d:%i:%h /proc/7/fd/3)\" = 2049:131:0 ] && truncate -cs 0 /proc/7/fd/3"
        );
        assert!(
            view.copy_command.ends_with(
                "&& cp -n --sparse=always /proc/7/fd/3 \
                 /where/there/is/room/\"$(printf '\\033')\"'[2J'\"$(printf '\\012\\377')\""
            ),
            "{}",
            view.copy_command
        );
        assert_eq!(view.holders[0].command, "ev\\x07il");
        assert_eq!((view.holders.len(), view.device), (2, None));
    }
}
