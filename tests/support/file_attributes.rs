//! Attributes of what a FUSE server of the tests has: a root directory and regular files.

use std::time::UNIX_EPOCH;

use fuser::{FileAttr, FileType, INodeNo};

/// Attributes of the root directory, or of a regular file of `file_bytes` bytes; `modes` are those of the
/// directory and of a file, `owner` is the user and the group.
pub fn file_attributes(inode: INodeNo, file_bytes: u64, modes: (u16, u16), owner: u32) -> FileAttr {
    let (kind, size, perm) = match inode == INodeNo::ROOT {
        true => (FileType::Directory, 0, modes.0),
        false => (FileType::RegularFile, file_bytes, modes.1),
    };
    FileAttr {
        ino: inode,
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: owner,
        gid: owner,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
