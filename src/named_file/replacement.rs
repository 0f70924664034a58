//! Whether a new file can replace an existing one: it must have all attributes of that file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, Stat, StatxFlags, Uid, fchmod, fchown, fgetxattr, flistxattr, fstat,
    fstatfs, ioctl_getflags, statx,
};
use rustix::io::Errno;

use crate::inode_attributes::{InodeAttributes, dos_attributes};
use crate::named_file::error::OutputError;
use crate::named_file::kernel_files::file_system_magic;

/// Maximum size of the list of names, and of a value, of extended attributes (xattr(7)).
const MAX_XATTR_BYTES: usize = 1 << 16;
/// Extended attributes of NTFS (ntfs-3g; fs/ntfs3/xattr.c), all but the times of the file.
const NTFS_ATTRIBUTES: &[&str] = &[
    "system.dos_attrib",
    "system.ntfs_acl",
    "system.ntfs_attrib",
    "system.ntfs_attrib_be",
    "system.ntfs_dos_name",
    "system.ntfs_ea",
    "system.ntfs_efsinfo",
    "system.ntfs_object_id",
    "system.ntfs_reparse_data",
    "system.ntfs_security",
];
/// Those of SMB: owner and access control list, attributes (fs/smb/client/xattr.c).
const SMB_ATTRIBUTES: &[&str] = &["system.cifs_ntsd", "system.cifs_acl", "user.cifs.dosattrib"];
/// Extended attributes that a file system (`f_type` of statfs(2)) reports only when they are asked
/// for by name.
const UNLISTED_ATTRIBUTES: &[(u64, &[&str])] = &[
    // FUSE, which ntfs-3g uses; ntfs3 and ntfs
    (0x6573_5546, NTFS_ATTRIBUTES),
    (0x7366_746e, NTFS_ATTRIBUTES),
    (0x5346_544e, NTFS_ATTRIBUTES),
    // CIFS, SMB 2
    (0xff53_4d42, SMB_ATTRIBUTES),
    (0xfe53_4d42, SMB_ATTRIBUTES),
    // AFS (fs/afs/xattr.c), Ceph (fs/ceph/xattr.c)
    (0x6b41_4653, &["afs.acl", "afs.yfs.acl"]),
    (0x00c3_6400, &["ceph.file.layout"]),
];
/// Flags of an inode (include/uapi/linux/fs.h) that the kernel sets by itself: `FS_DIRTY_FL`,
/// `FS_COMPRBLK_FL`, `FS_INDEX_FL`, `FS_HUGE_FILE_FL`, `FS_EXTENT_FL`, `FS_EOFBLOCKS_FL` and
/// `FS_INLINE_DATA_FL`. Whoever uses the file can set all others.
const KERNEL_FLAGS: u32 = 0x100 | 0x200 | 0x1000 | 0x4_0000 | 0x8_0000 | 0x40_0000 | 0x1000_0000;
/// `STATX_ATTR_APPEND` (include/uapi/linux/stat.h).
const STATX_ATTR_APPEND: u64 = 0x20;
/// `f_type` of exFAT (statfs(2)).
const EXFAT_MAGIC: u64 = 0x2011_bab0;
/// Set-user-ID, set-group-ID and sticky bit.
const SPECIAL_MODE_BITS: u32 = 0o7000;
/// The user and group that stand for one without a number here, unless `/proc/sys/kernel` names
/// others (`DEFAULT_OVERFLOWUID`, include/linux/highuid.h), and those of an NFS client for names that it
/// does not know (fs/nfs/nfs4xdr.c, `decode_attr_owner`).
const UNKNOWN_OWNERS: [u32; 2] = [65534, u32::MAX - 1];

/// Gives a replacement the owner and mode that the file has now, and tells whether it then has all
/// attributes of the file.
///
/// # Errors
/// When owner or mode cannot be set.
pub(super) fn make_equal(file: &File, replacement: &File) -> io::Result<bool> {
    let stat = fstat(file)?;
    if !has_known_owners(&stat) {
        return Ok(false);
    }
    set_ownership(replacement, &stat)?;
    Ok(can_be_replaced(file, &stat, replacement))
}

/// Whether the numbers of owner and group are those of one user and one group. A number that stands
/// for all that have none here (in a user namespace, on an idmapped mount) can be set for a new file
/// too, but is then another user.
fn has_known_owners(stat: &Stat) -> bool {
    let is_known = |id: u32, file: &str| {
        let overflow = std::fs::read_to_string(file);
        let overflow = overflow.ok().and_then(|text| text.trim().parse().ok());
        !UNKNOWN_OWNERS.contains(&id) && Some(id) != overflow
    };
    is_known(stat.st_uid, "/proc/sys/kernel/overflowuid")
        && is_known(stat.st_gid, "/proc/sys/kernel/overflowgid")
}

/// Sets owner and mode of a file to those of another.
fn set_ownership(file: &File, of: &Stat) -> io::Result<()> {
    let now = fstat(file)?;
    if (now.st_uid, now.st_gid) != (of.st_uid, of.st_gid) {
        let (user, group) = (Uid::from_raw(of.st_uid), Gid::from_raw(of.st_gid));
        fchown(file, Some(user), Some(group))?;
    }
    Ok(fchmod(file, Mode::from_raw_mode(of.st_mode & 0o777))?)
}

/// Whether a replacement, for which owner and mode were set, has all attributes of the file: a single
/// link, owner and mode, which not every file system stores, the same extended attributes (including
/// ACLs, capabilities, security labels), the same flags, attributes of FAT and project ID, and no
/// mount on it.
fn can_be_replaced(file: &File, stat: &Stat, replacement: &File) -> bool {
    if stat.st_nlink != 1 || stat.st_mode & SPECIAL_MODE_BITS != 0 {
        return false;
    }
    let ownership = |stat: &Stat| (stat.st_uid, stat.st_gid, stat.st_mode);
    let same_attributes = match (extended_attributes(file), extended_attributes(replacement)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    };
    same_attributes
        && fstat(replacement).is_ok_and(|new| ownership(&new) == ownership(stat))
        && statx_attributes(file) == statx_attributes(replacement)
        && inode_flags(file) == inode_flags(replacement)
        && InodeAttributes::of_file(file) == InodeAttributes::of_file(replacement)
        && has_same_dos_attributes(file, replacement)
}

/// Fails if a file has capabilities, which the kernel removes at every write (capabilities(7)).
pub(super) fn refuse_file_capabilities(path: &Path, file: impl AsFd) -> Result<(), OutputError> {
    let mut value = [0; 64];
    match fgetxattr(file, "security.capability", &mut value[..]) {
        // Those of another user namespace cannot be read.
        Ok(_) | Err(Errno::OVERFLOW | Errno::RANGE) => Err(OutputError::unsuitable(
            path,
            "a program with file capabilities, which a write removes",
        )),
        Err(_) => Ok(()),
    }
}

/// Whether names in a directory can be neither removed nor exchanged (`chattr +a`).
pub(super) fn is_append_only(directory: impl AsFd) -> bool {
    statx_attributes(directory).is_some_and(|attributes| attributes & STATX_ATTR_APPEND != 0)
}

/// `STATX_ATTR_...`: among others whether the file is a mount point (kernel 5.8), compressed or
/// encrypted.
fn statx_attributes(file: impl AsFd) -> Option<u64> {
    let facts = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
    facts.ok().map(|facts| facts.stx_attributes.bits())
}

fn inode_flags(file: &File) -> Option<u32> {
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() as u32 & !KERNEL_FLAGS)
}

/// Whether both have the same attributes of FAT; `false` if they cannot be read: exFAT reports them
/// since Linux 6.8.
fn has_same_dos_attributes(file: &File, replacement: &File) -> bool {
    let is_exfat = || fstatfs(file).is_ok_and(|facts| file_system_magic(&facts) == EXFAT_MAGIC);
    match (dos_attributes(file), dos_attributes(replacement)) {
        (None, None) => !is_exfat(),
        (old, new) => old == new,
    }
}

/// All visible extended attributes.
fn extended_attributes(file: impl AsFd) -> rustix::io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut list = vec![0; MAX_XATTR_BYTES];
    let length = match flistxattr(&file, &mut list[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(error) => return Err(error),
    };
    let mut value = vec![0; MAX_XATTR_BYTES];
    let mut read = |name: &[u8]| {
        let length = fgetxattr(&file, name, &mut value[..])?;
        Ok((name.to_vec(), value[..length].to_vec()))
    };
    let mut attributes = list[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(&mut read)
        .collect::<rustix::io::Result<BTreeMap<_, _>>>()?;
    for name in unlisted_attributes(&file) {
        match read(name.as_bytes()) {
            Ok((name, value)) => {
                attributes.insert(name, value);
            }
            // The file, or every file of this driver, is without it.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(attributes)
}

/// The names of the extended attributes that the file system of a file does not list.
fn unlisted_attributes(file: impl AsFd) -> impl Iterator<Item = &'static str> {
    let magic = fstatfs(file).ok().map(|facts| file_system_magic(&facts));
    UNLISTED_ATTRIBUTES
        .iter()
        .filter(move |(file_system, _)| Some(*file_system) == magic)
        .flat_map(|(_, names)| names.iter().copied())
}
