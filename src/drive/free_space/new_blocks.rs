//! New blocks that a file gets when a part of it is written: in holes, and where its file system does
//! not overwrite the blocks that are there.

use std::fs::File;
use std::ops::Range;

use super::upper_directory::{open_upper_directory, overlay_upper_directory};
use crate::drive::extents::AllocatedExtents;
use crate::drive::{extents, ioctl};
use crate::roots::SysPaths;

pub(super) const BTRFS_MAGIC: u32 = 0x9123_683e;
/// File systems that write no block in place (statfs(2), linux/magic.h): btrfs, ZFS, bcachefs, NILFS.
const COPY_ON_WRITE_MAGIC: [u32; 4] = [BTRFS_MAGIC, 0x2fc1_2fc1, 0xca45_1a4e, 0x3434];
const NFS_MAGIC: u32 = 0x6969;
/// File systems on a server, whose quotas the kernel does not tell: NFS, SMB (both versions), 9p, Ceph, AFS,
/// Lustre, GPFS.
const NETWORK_MAGIC: [u32; 8] = [
    NFS_MAGIC,
    0xfe53_4d42,
    0xff53_4d42,
    0x0102_1997,
    0x00c3_6400,
    0x5346_414f,
    0x0bd0_0bd0,
    0x4750_4653,
];
/// `FS_NOCOW_FL` (linux/fs.h): btrfs writes the blocks of this file in place (chattr +C).
const FS_NOCOW_FL: u32 = 0x0080_0000;

/// Bytes of a range of a file that get new blocks when they are written: holes, what its file system
/// compresses or shares with other files, and all of it where the file system writes nothing in place.
/// `None` if the file system does not tell its extents.
pub(in crate::drive) fn new_block_bytes(
    roots: &SysPaths,
    file: &File,
    range: Range<u64>,
) -> Option<u64> {
    if !is_written_in_place(roots, file) {
        return Some(range.end.saturating_sub(range.start));
    }
    let found = extents::placed_extents(file, range).ok()?;
    Some(bytes_with_new_blocks(&found))
}

/// Bytes of extents of a file system that writes in place which get new blocks nevertheless.
fn bytes_with_new_blocks(found: &AllocatedExtents) -> u64 {
    let encoded_or_shared = found.encoded_bytes.saturating_add(found.shared_bytes);
    found.hole_bytes.saturating_add(encoded_or_shared)
}

/// Whether the file system of a file overwrites its blocks, unless they are shared.
pub(in crate::drive) fn is_written_in_place(roots: &SysPaths, file: &File) -> bool {
    let is_copied =
        file_system_magic(roots, file).is_some_and(|magic| COPY_ON_WRITE_MAGIC.contains(&magic));
    !is_copied || ioctl::inode_flags(file).is_ok_and(|flags| flags & FS_NOCOW_FL != 0)
}

/// Whether the data of a file is on a server.
pub(in crate::drive) fn is_on_server(roots: &SysPaths, file: &File) -> bool {
    file_system_magic(roots, file).is_some_and(|magic| NETWORK_MAGIC.contains(&magic))
}

/// Whether the data of a file is on a server of NFS: its client passes fallocate(2) on, and reports the blocks
/// that the server has. That of SMB computes them from the size.
pub(in crate::drive) fn is_on_nfs(roots: &SysPaths, file: &File) -> bool {
    file_system_magic(roots, file) == Some(NFS_MAGIC)
}

/// Type of the file system that holds the data of a file, as statfs(2) reports it: of an overlay, that
/// of the upper directory where it is known.
pub(super) fn file_system_magic(roots: &SysPaths, file: &File) -> Option<u32> {
    let magic = |found: rustix::fs::StatFs| found.f_type as u32;
    match overlay_upper_directory(roots, file) {
        Some(_) => open_upper_directory(roots, file)
            .and_then(|upper| rustix::fs::fstatfs(upper).ok())
            .map(magic),
        None => rustix::fs::fstatfs(file).ok().map(magic),
    }
}
