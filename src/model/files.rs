//! Open files as they are shown: of one process, and those of the system that have no name.

use serde::Serialize;

use crate::drive::{Drive, FileSystem};
use crate::probe::open_files::{Deleted, Opened};
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
    pub mounted_at: Option<SafeText>,
    /// Bytes that come back when everybody has closed it.
    pub held_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
    /// Who has it open.
    pub holders: Vec<Holder>,
    /// How to get the space back at once without ending anybody: it empties the file, and its
    /// content is lost.
    pub release: SafeText,
    /// How to copy its content out.
    pub rescue: SafeText,
}

/// Who has a file open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub command: SafeText,
    /// Number of the descriptor.
    pub descriptor: u32,
}

/// Flags of open(2) worth a word, as fdinfo gives them (include/uapi/asm-generic/fcntl.h).
const FLAGS: [(u32, &str); 7] = [
    (0o2000, "append"),
    (0o4000, "nonblock"),
    (0o40_000, "direct"),
    (0o1_000_000, "noatime"),
    (0o10_000_000, "path"),
    (0o10_000, "dsync"),
    (0o4_000_000, "sync"),
];
/// Marks an open for its name alone.
const PATH: u32 = 0o10_000_000;

/// The flags of a descriptor in words.
#[must_use]
pub fn flags(flags: u32) -> String {
    let access = match flags & 0o3 {
        _ if flags & PATH != 0 => "",
        0 => "r",
        1 => "w",
        _ => "rw",
    };
    let named = FLAGS.iter().filter(|(bit, _)| flags & bit != 0);
    let words: Vec<&str> = [access]
        .into_iter()
        .filter(|access| !access.is_empty())
        .chain(named.map(|(_, name)| *name))
        .collect();
    words.join(" ")
}

/// What a process has open.
#[must_use]
pub fn opened(files: &[Opened]) -> Vec<FileView> {
    files
        .iter()
        .map(|file| FileView {
            descriptor: file.descriptor,
            path: SafeText::of_bytes(&file.path),
            position_bytes: file.position,
            size_bytes: file.size,
            flags: file.flags.map(flags).map(Into::into),
            deleted: file.deleted,
        })
        .collect()
}

/// Files without a name.
#[must_use]
pub fn deleted(files: &[Deleted], drives: &[Drive], systems: &[FileSystem]) -> Vec<DeletedView> {
    files
        .iter()
        .map(|file| {
            let system = systems.iter().find(|system| system.number == file.number);
            let number = system.map_or(file.number, |system| system.device);
            let drive = drives.iter().find(|drive| drive.number == number);
            let (pid, _, descriptor) = file.holders.first().cloned().unwrap_or_default();
            let link = format!("/proc/{pid}/fd/{descriptor}");
            let same = same_file(&link, file);
            DeletedView {
                path: SafeText::of_bytes(&file.path),
                device: drive.map(|drive| drive.name.clone()).map(Into::into),
                mounted_at: system.map(|system| system.at.clone()).map(Into::into),
                held_bytes: file.held_bytes,
                size_bytes: file.size,
                release: format!("{same} && truncate -cs 0 {link}").into(),
                rescue: format!(
                    "{same} && cp -n --sparse=always {link} {}",
                    shell::quote(destination(&file.path))
                )
                .into(),
                holders: file
                    .holders
                    .iter()
                    .map(|(pid, name, descriptor)| Holder {
                        pid: *pid,
                        command: SafeText::of_bytes(name),
                        descriptor: *descriptor,
                    })
                    .collect(),
            }
        })
        .collect()
}

/// Whether a link still leads to that nameless file, as a condition of the shell: the process may
/// have ended and its number may be another's by the time somebody pastes the command.
fn same_file(link: &str, file: &Deleted) -> String {
    format!(
        "[ \"$(stat -Lc %d:%i:%h {link})\" = {}:{}:0 ]",
        file.device_id, file.inode
    )
}

/// Where the content of a nameless file is copied to: its last name, in a directory that the reader
/// has to choose.
fn destination(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    [b"/where/there/is/room/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_in_words() {
        assert_eq!(flags(0o100_000), "r");
        assert_eq!(flags(0o102_001), "w append");
        assert_eq!(flags(0o140_002), "rw direct");
        assert_eq!(flags(0o10_000_000), "path");
        // O_SYNC includes O_DSYNC.
        assert_eq!(flags(0o4_010_001), "w dsync sync");
    }

    #[test]
    fn hostile_names_are_harmless_and_commands_hold_none() {
        let file = Deleted {
            path: b"/tmp/\x1b[2J\n\xff".to_vec(),
            number: (8, 1),
            device_id: 2049,
            inode: 131,
            held_bytes: 4096,
            size: 10,
            holders: vec![(7, b"ev\x07il".to_vec(), 3), (8, b"b".to_vec(), 4)],
        };
        let view = deleted(&[file], &[], &[]).remove(0);
        assert_eq!(view.path, "/tmp/\\x1b[2J\\n\\xff");
        assert_eq!(
            view.release,
            "[ \"$(stat -Lc %d:%i:%h /proc/7/fd/3)\" = 2049:131:0 ] && truncate -cs 0 /proc/7/fd/3"
        );
        assert!(
            view.rescue.ends_with(
                "&& cp -n --sparse=always /proc/7/fd/3 \
                 /where/there/is/room/\"$(printf '\\033')\"'[2J'\"$(printf '\\012\\377')\""
            ),
            "{}",
            view.rescue
        );
        assert_eq!(view.holders[0].command, "ev\\x07il");
        assert_eq!((view.holders.len(), view.device), (2, None));
    }
}
