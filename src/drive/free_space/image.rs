//! Images that a file system or a block device lies in, through loop devices, and the devices on the
//! way to them. A write to an image may need space on its file system.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::drive::free_space::memory_device::MemoryDevice;
use crate::drive::free_space::new_blocks::new_block_bytes;
use crate::drive::free_space::store;
use crate::drive::free_space::upper_directory::{open_upper_directory, upper_directory};
use crate::drive::free_space::zfs_pool::is_zfs_volume;
use crate::drive::guard::siblings;
use crate::drive::identity::sysfs::{directory_entries, read_line};
use crate::drive::identity::{block_device_name, sanitized};
use crate::drive::ioctl;
use crate::drive::ioctl::LoopBacking;
use crate::drive::mounts;
use crate::drive::mounts::{MountEntry, split_device_number};
use crate::foreign_tree::{ForeignFile, ForeignTree, WriteLeases};
use crate::roots::SysPaths;

/// Bytes of a sector in sysfs.
const SECTOR_BYTES: u64 = 512;

/// The backing file of a loop device, or of a file system in user space.
#[derive(Debug)]
pub(super) struct BackingImage {
    /// Path in sysfs or in the mount table, for display.
    pub path: String,
    /// The image, or the mount point of its file system: its free space is that of the image.
    pub place: File,
    /// Size of the image where it cannot be read: any of its blocks may be missing.
    pub unread_bytes: Option<u64>,
}

impl BackingImage {
    /// Bytes of the image that get new blocks when they are written, as far as this is known.
    pub(super) fn new_block_bytes(&self, roots: &SysPaths) -> u64 {
        if let Some(bytes) = self.unread_bytes {
            return bytes;
        }
        let bytes = self.place.metadata().map_or(u64::MAX, |facts| facts.len());
        new_block_bytes(roots, &self.place, 0..bytes).unwrap_or(bytes)
    }
}

/// The block device that holds the file system of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceOfFile {
    /// The device of that number; of an overlay, that of the upper directory.
    Known((u32, u32)),
    /// None: the file system is in memory or on another machine.
    None,
    /// ZFS, which does not tell what its pool is on; not on a volume of a pool.
    ZfsPool,
    /// A file system that does not tell what it is on: FUSE, a stacked one, an overlay whose upper
    /// directory is not found.
    NotTold,
}

impl DeviceOfFile {
    fn of(roots: &SysPaths, file: &File) -> Self {
        let Ok(facts) = file.metadata() else {
            return Self::NotTold;
        };
        let number = split_device_number(facts.dev());
        if number.0 != 0 {
            return Self::Known(number);
        }
        let Some(mount) = mounts::mount_of_file(roots, file) else {
            return Self::NotTold;
        };
        if let Some(number) = mount.block_device(roots) {
            return Self::Known(number);
        }
        match mount.file_system.as_str() {
            "overlay" => match upper_directory(&mount).and_then(|it| hold_place(Path::new(it))) {
                Some(upper) => Self::of(roots, &upper),
                None => Self::NotTold,
            },
            "zfs" => Self::ZfsPool,
            name if is_on_unnamed_devices(name) || is_served_here(&mount) => Self::NotTold,
            _ => Self::None,
        }
    }
}

/// Whether a file system without a device of its own stores its files on devices of this machine that
/// its mount does not name.
fn is_on_unnamed_devices(file_system: &str) -> bool {
    matches!(
        file_system,
        "fuse" | "ecryptfs" | "wrapfs" | "aufs" | "btrfs" | "bcachefs"
    ) || file_system.starts_with("fuse.")
}

/// Whether the server of a network file system is this machine.
fn is_served_here(mount: &MountEntry) -> bool {
    let mut options = mount.options.iter();
    let address = options.find_map(|option| option.strip_prefix("addr="));
    let address = address.and_then(|it| it.parse::<IpAddr>().ok());
    address.is_some_and(|address| address.is_loopback() || is_own_address(address) == Some(true))
}

/// Whether the kernel takes an address as that of the sender of what is sent to it, as it does with those of
/// this machine. To connect a UDP socket sends nothing, and to bind one proves nothing: where
/// `ip_nonlocal_bind` is on, any address can be bound.
fn is_own_address(address: IpAddr) -> Option<bool> {
    /// Any number does (RFC 863).
    const DISCARD_PORT: u16 = 9;
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, DISCARD_PORT)).ok()?;
    Some(socket.local_addr().ok()?.ip() == address)
}

/// Which devices count as those below a file whose file system does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UntoldDevices {
    /// All of the machine, except loop devices whose image is on a network file system or FUSE: its server
    /// may not respond, and has to be asked for the free space.
    AllOfMachine,
    /// None.
    None,
}

/// The block devices that a write to a file reaches, by name.
pub(super) fn devices_below_file(
    roots: &SysPaths,
    file: &File,
    untold: UntoldDevices,
) -> Vec<String> {
    let mut names = devices_of_file_system(roots, file, untold);
    let upper = open_upper_directory(roots, file);
    let Some(mount) = mounts::mount_of_file(roots, upper.as_ref().unwrap_or(file)) else {
        return names;
    };
    // F2FS names its second and further devices in its superblock only.
    let more = match (mount.file_system.as_str(), untold) {
        ("xfs", _) => {
            let numbers = further_devices_of_xfs(&mount);
            numbers
                .flat_map(|number| devices_below(roots, number))
                .collect()
        }
        ("f2fs", UntoldDevices::AllOfMachine) => devices_that_respond(roots),
        _ => Vec::new(),
    };
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The devices for realtime files and for the log of a mounted XFS, which `st_dev` does not name (xfs(5)).
fn further_devices_of_xfs(mount: &MountEntry) -> impl Iterator<Item = (u32, u32)> {
    let options = mount.options.iter();
    let paths = options.filter_map(|option| {
        option
            .strip_prefix("rtdev=")
            .or_else(|| option.strip_prefix("logdev="))
    });
    paths.filter_map(|path| {
        let found = ForeignTree::own().find(Path::new(path)).ok()?;
        found.status().block_device()
    })
}

/// The image that the server of a file system in user space has below the files of its mount, if the mount names it
/// by an absolute path, as those of fuse2fs, ntfs-3g and squashfuse do, and if it is on this machine.
pub(super) fn image_of_server(roots: &SysPaths, file: &File) -> Option<BackingImage> {
    let mount = mounts::mount_of_file(roots, file)?;
    let path = Path::new(&mount.source);
    let is_named = path.is_absolute() && mount.is_in_user_space();
    if !is_named || mount.options.iter().any(|option| option == "ro") {
        return None;
    }
    // Any user may give any path as the source of such a mount. No server is asked for it.
    let mounts = mounts::mounts(roots).ok()?;
    let is_local = |path: &Path, _: &ForeignFile| {
        let mount = innermost_mount(&mounts, path);
        mount.is_some_and(|mount| has_local_storage(roots, mount))
    };
    let found = ForeignTree::own().find_if(path, is_local).ok()?;
    let about = *found.status();
    if !about.is_regular() {
        return None;
    }
    let may_be_leased = WriteLeases::read(roots).may_include(about.identity().1);
    let opened = (!may_be_leased)
        .then(|| found.open_regular().ok())
        .flatten();
    let unread_bytes = opened.is_none().then(|| about.size());
    Some(BackingImage {
        path: sanitized(&mount.source),
        place: match opened {
            Some(image) => image,
            None => found.into_place().ok()?.into(),
        },
        unread_bytes,
    })
}

fn devices_of_file_system(roots: &SysPaths, file: &File, untold: UntoldDevices) -> Vec<String> {
    match (DeviceOfFile::of(roots, file), untold) {
        (DeviceOfFile::Known(number), _) => devices_below(roots, number),
        (DeviceOfFile::None, _) | (_, UntoldDevices::None) => Vec::new(),
        (DeviceOfFile::ZfsPool, UntoldDevices::AllOfMachine) => {
            let mut names = devices_that_respond(roots);
            names.retain(|name| !is_zfs_volume(name));
            names
        }
        (DeviceOfFile::NotTold, UntoldDevices::AllOfMachine) => devices_that_respond(roots),
    }
}

/// All block devices, except loop devices whose image is on a network file system or FUSE, and devices in memory,
/// which are for swap, or for nothing, almost everywhere. No image is opened: the mount table tells where it is.
fn devices_that_respond(roots: &SysPaths) -> Vec<String> {
    let directory = roots.sys.join("class/block");
    let mounts = mounts::mounts(roots).unwrap_or_default();
    let mut names = directory_entries(&directory);
    names.retain(|name| {
        let image = image_path(&directory.join(name));
        let mount = image.and_then(|path| innermost_mount(&mounts, &path));
        mount.is_none_or(|mount| has_local_storage(roots, mount))
            && MemoryDevice::of_device(roots, name).is_none()
    });
    names
}

/// Whether the kernel itself stores the files of a mount, on this machine.
fn has_local_storage(roots: &SysPaths, mount: &MountEntry) -> bool {
    let kind = mount.file_system.as_str();
    mount.block_device(roots).is_some()
        || matches!(
            kind,
            "overlay" | "tmpfs" | "ramfs" | "zfs" | "btrfs" | "bcachefs"
        )
}

/// A block device, all that it is on, and the snapshots of that, by name.
pub(super) fn devices_below(roots: &SysPaths, number: (u32, u32)) -> Vec<String> {
    let directory = roots.sys.join("class/block");
    let mut below: Vec<String> = block_device_name(roots, number).into_iter().collect();
    let mut next = 0;
    while let Some(name) = below.get(next).cloned() {
        let own = directory.join(&name);
        let lower = directory_entries(&own.join("slaves")).into_iter();
        let lower = lower
            .chain(siblings::whole_disk_name(&own))
            .chain(device_below_loop(roots, &name))
            .chain(members_of_file_system(roots, &name))
            .chain(store::snapshots_of_origin(roots, &name));
        for name in lower {
            if !below.contains(&name) {
                below.push(name);
            }
        }
        next += 1;
    }
    below
}

/// The block device that a loop device is attached to, whatever its node is called.
fn device_below_loop(roots: &SysPaths, name: &str) -> Option<String> {
    let device = roots.sys.join("class/block").join(name);
    if !device.join("loop").exists() {
        return None;
    }
    siblings::backing_device(&device).or_else(|| {
        let opened = siblings::open_device_by_name(roots, name)?;
        let number = ioctl::loop_backing(&opened).ok()?.rdev;
        block_device_name(roots, split_device_number(number))
    })
}

/// The image of a loop device that can be written. `None` if the device is no such one, if it is attached to a
/// block device, or if neither the image nor its file system is found in this mount namespace.
pub(super) fn backing_image(roots: &SysPaths, name: &str) -> Option<BackingImage> {
    let device = roots.sys.join("class/block").join(name);
    let path = image_path(&device)?;
    let path = path.as_path();
    let shown = sanitized(&path.to_string_lossy());
    let backing = siblings::open_device_by_name(roots, name)
        .and_then(|device| ioctl::loop_backing(&device).ok());
    if backing.as_ref().is_some_and(|backing| backing.rdev != 0) {
        return None;
    }
    let found = ForeignTree::own().find(path).ok();
    if let Some(place) = found.and_then(|found| open_image(&found, backing.as_ref())) {
        return Some(BackingImage {
            path: shown,
            place,
            unread_bytes: None,
        });
    }
    let sectors: u64 = read_line(&device.join("size"))?.parse().ok()?;
    Some(BackingImage {
        path: shown,
        place: open_file_system(roots, path, backing.as_ref())?,
        unread_bytes: Some(sectors.saturating_mul(SECTOR_BYTES)),
    })
}

/// Path in sysfs of the image of a loop device that can be written. `None` where the loop device is attached to
/// a block device: a write to it takes nothing of the file system that has the node.
fn image_path(device: &Path) -> Option<PathBuf> {
    if siblings::backing_device(device).is_some() {
        return None;
    }
    let mut path = fs::read(device.join("loop/backing_file")).ok()?;
    if read_line(&device.join("ro")).as_deref() == Some("1") {
        return None;
    }
    if path.ends_with(b"\n") {
        path.pop();
    }
    Some(OsString::from_vec(path).into())
}

/// Whether the file system of a file has the image of a loop device that can be written. No image is opened,
/// and no loop device is asked (the kernel asks the file system of the image then): an image that has
/// nothing to do with the file may be on a server that does not respond. The mount table tells where it is.
pub(super) fn is_below_an_image(roots: &SysPaths, file: &File) -> bool {
    let Ok(mounts) = mounts::mounts(roots) else {
        return false;
    };
    let Some(mount) = mounts::mount_of_file(roots, file) else {
        return false;
    };
    let own = number_of_file_system(&mounts, &mount);
    let directory = roots.sys.join("class/block");
    let names = directory_entries(&directory).into_iter();
    names
        .filter_map(|name| image_path(&directory.join(name)))
        .filter_map(|path| innermost_mount(&mounts, &path))
        .any(|mount| number_of_file_system(&mounts, mount) == own)
}

/// Number of the file system that stores the files of a mount; of an overlay, that of the upper directory. All
/// subvolumes of btrfs have one in the mount table.
fn number_of_file_system(mounts: &[MountEntry], mount: &MountEntry) -> (u32, u32) {
    let is_overlay = mount.file_system == "overlay";
    let upper = is_overlay.then(|| upper_directory(mount)).flatten();
    let mount_of_upper = upper.and_then(|path| innermost_mount(mounts, Path::new(path)));
    mount_of_upper.unwrap_or(mount).device_id
}

/// Opens an image for reading, if it is the one that a loop device is attached to.
fn open_image(found: &ForeignFile, backing: Option<&LoopBacking>) -> Option<File> {
    let is_it = |backing: &LoopBacking| {
        found.status().identity() == (split_device_number(backing.device), backing.inode)
    };
    backing
        .is_none_or(is_it)
        .then(|| found.open_regular().ok())?
}

/// A place on the file system that holds an image whose path leads nowhere, or that may not be read: a mount
/// point with the device number of the image, or else the one of its path. In a container it may be the
/// mount point of a file (`/etc/hosts`).
fn open_file_system(roots: &SysPaths, path: &Path, backing: Option<&LoopBacking>) -> Option<File> {
    let mounts = mounts::mounts(roots).ok()?;
    let wanted = backing.map(|backing| split_device_number(backing.device));
    // The files of a subvolume of btrfs have a number of their own.
    let may_have_it = |mount: &&MountEntry| {
        wanted == Some(mount.device_id) || wanted.is_some() && mount.file_system == "btrfs"
    };
    // What is mounted over a mount point is opened instead, and has another number.
    let has_it = |place: &File| {
        let number = place.metadata().map(|facts| facts.dev());
        number.ok().map(split_device_number) == wanted
    };
    let candidates = mounts.iter().filter(may_have_it);
    let mut opened = candidates.filter_map(|mount| hold_place(&mount.path));
    let by_number = opened.find(has_it);
    // The path may be one of another mount namespace.
    let is_missing = |directory: &Path| {
        let found = ForeignTree::own().find(directory);
        found.is_err_and(|error| error == Errno::NOENT)
    };
    let exists_here = || path.parent().is_some_and(|it| !is_missing(it));
    let innermost = || hold_place(&innermost_mount(&mounts, path)?.path);
    by_number.or_else(|| exists_here().then(innermost)?)
}

/// The mount that has what is at a path, of several at the same mount point the last one.
fn innermost_mount<'a>(mounts: &'a [MountEntry], path: &Path) -> Option<&'a MountEntry> {
    let candidates = mounts.iter().filter(|mount| path.starts_with(&mount.path));
    candidates.max_by_key(|mount| mount.path.as_os_str().len())
}

/// All devices of the btrfs file system that has the device of that name.
fn members_of_file_system(roots: &SysPaths, name: &str) -> Vec<String> {
    let directory = roots.sys.join("fs/btrfs");
    directory_entries(&directory)
        .into_iter()
        .map(|identity| directory_entries(&directory.join(identity).join("devices")))
        .find(|members| members.iter().any(|member| member == name))
        .unwrap_or_default()
}

/// A directory or file that is held, not opened: for facts of its file system.
fn hold_place(path: &Path) -> Option<File> {
    let found = ForeignTree::own().find(path).ok()?;
    found.into_place().ok().map(File::from)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::requirement::{Requirement, skip};
    use crate::roots::INITIAL_PID_NAMESPACE;

    #[test]
    fn file_system_without_devices_is_on_any_of_the_machine() {
        // A file whose device number belongs to no block device.
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
            return skip(Requirement::Tmpfs, "no /dev/shm");
        };
        let info = format!("proc/self/fdinfo/{}", file.as_raw_fd());
        let below_with = |file_system: &str, options: &str| {
            let line = format!("77 1 0:50 / /mnt rw - {file_system} source {options}\n");
            let (_root, roots) = SysPaths::with_files(&[
                ("proc/self/mountinfo", &line),
                (&info, "pos:\t0\nmnt_id:\t77\n"),
                ("sys/class/block/loop0/size", "8\n"),
                ("sys/class/block/sda/size", "8\n"),
                ("sys/class/block/zd16/size", "8\n"),
                ("sys/class/block/zram0/mm_stat", "0 0 0 0 0 0 0 0 0\n"),
            ]);
            let devices = |untold| devices_below_file(&roots, &file, untold);
            assert!(devices(UntoldDevices::None).is_empty());
            let mut names = devices(UntoldDevices::AllOfMachine);
            names.sort();
            names
        };
        let below = |file_system: &str| below_with(file_system, "rw");
        for kind in ["f2fs", "fuse.bindfs", "fuse", "ecryptfs", "overlay"] {
            assert_eq!(below(kind), ["loop0", "sda", "zd16"], "{kind}");
        }
        assert_eq!(below("zfs"), ["loop0", "sda"], "no pool is on volumes");
        for kind in ["tmpfs", "nfs4"] {
            assert!(below(kind).is_empty(), "{kind}");
        }
        let own = below_with("nfs4", "rw,vers=4.2,addr=127.0.0.1");
        assert_eq!(own, ["loop0", "sda", "zd16"]);
        // An address for documentation (RFC 5737), which no machine has.
        let options = "rw,vers=4.2,clientaddr=127.0.0.1,addr=192.0.2.1";
        assert!(below_with("nfs4", options).is_empty());
    }

    #[test]
    fn image_of_a_server_is_the_local_file_that_its_mount_names() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
            return skip(Requirement::Tmpfs, "no /dev/shm");
        };
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(4096).unwrap();
        let info = format!("proc/self/fdinfo/{}", file.as_raw_fd());
        let roots_with = |file_system: &str, source: &str, lower: &str, options: &str| {
            let table = format!(
                "1 0 0:40 / / rw - {lower} source rw\n\
                 77 1 0:50 / /mnt rw - {file_system} {source} {options}\n"
            );
            SysPaths::with_files(&[
                ("proc/self/mountinfo", &table),
                ("proc/locks", ""),
                (&info, "pos:\t0\nmnt_id:\t77\n"),
            ])
        };
        let image_of = |file_system: &str, source: &str, lower: &str, options: &str| {
            let (_root, roots) = roots_with(file_system, source, lower, options);
            image_of_server(&roots, &file).map(|image| image.path)
        };
        let path = image.path().to_str().unwrap();
        let found = image_of("fuse.ext4", path, "btrfs", "rw");
        assert_eq!(found.as_deref(), Some(path));
        let (_root, roots) = roots_with("fuse.ext4", path, "btrfs", "rw");
        let unread_bytes = || image_of_server(&roots, &file).unwrap().unread_bytes;
        assert_eq!(unread_bytes(), Some(4096), "its leases are not known");
        let namespace = roots.proc.join("self/ns");
        fs::create_dir_all(&namespace).unwrap();
        let link = format!("pid:[{INITIAL_PID_NAMESPACE}]");
        symlink(link, namespace.join("pid")).unwrap();
        assert_eq!(unread_bytes(), None);
        let inode = image.as_file().metadata().unwrap().ino();
        let lease = format!("1: LEASE  ACTIVE    WRITE 709 fe:00:{inode} 0 EOF\n");
        fs::write(roots.proc.join("locks"), lease).unwrap();
        assert_eq!(unread_bytes(), Some(4096), "it is leased");
        for (file_system, source, lower, options) in [
            ("fuse.ext4", path, "btrfs", "ro"),
            ("fuse.ext4", path, "nfs4", "rw"),
            ("fuse.ext4", "/none/image", "btrfs", "rw"),
            ("fuse.ext4", "image", "btrfs", "rw"),
            ("fuse.bindfs", "/usr", "btrfs", "rw"),
            ("ext4", path, "btrfs", "rw"),
        ] {
            let found = image_of(file_system, source, lower, options);
            assert_eq!(found, None, "{file_system} {source} {lower} {options}");
        }
    }

    #[test]
    fn loop_device_on_a_block_device_has_no_image() {
        let (_root, roots) = SysPaths::with_files(&[
            (
                "proc/self/mountinfo",
                "1 0 0:5 / /dev rw - devtmpfs udev rw\n",
            ),
            ("sys/class/block/dm-0/size", "2048\n"),
            ("sys/class/block/loop0/size", "2048\n"),
            ("sys/class/block/loop0/loop/backing_file", "/dev/dm-0\n"),
        ]);
        assert!(backing_image(&roots, "loop0").is_none());
        assert_eq!(image_path(&roots.sys.join("class/block/loop0")), None);
    }

    #[test]
    fn image_on_a_server_that_may_not_respond_is_not_below_other_files() {
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     2 1 0:50 / /mnt/nas rw - nfs4 nas:/ rw\n\
                     3 1 0:51 / /mnt/cloud rw - fuse.rclone cloud: rw\n\
                     4 1 0:52 / /tank rw - zfs tank rw\n";
        let image = |path: &str| format!("{path}\n");
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", table),
            ("sys/dev/block/8:1/dev", "8:1\n"),
            ("sys/class/block/sda/size", "8\n"),
            ("sys/class/block/loop0/loop/backing_file", &image("/img")),
            (
                "sys/class/block/loop1/loop/backing_file",
                &image("/mnt/nas/img"),
            ),
            (
                "sys/class/block/loop2/loop/backing_file",
                &image("/mnt/cloud/img"),
            ),
            (
                "sys/class/block/loop3/loop/backing_file",
                &image("/tank/img"),
            ),
        ]);
        let mut names = devices_that_respond(&roots);
        names.sort();
        assert_eq!(names, ["loop0", "loop3", "sda"]);
    }

    #[test]
    fn address_that_any_socket_can_bind_is_not_of_this_machine() {
        // An address for documentation (RFC 5737), which no machine has.
        let foreign: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
        // A network namespace of this thread alone, with the setting of a machine that takes over addresses.
        let thread = std::thread::spawn(move || {
            // SAFETY: unshare takes flags and no pointer; a network namespace is no memory of other threads.
            let is_alone = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
            let setting = "/proc/sys/net/ipv4/ip_nonlocal_bind";
            if !is_alone || fs::write(setting, "1").is_err() {
                skip(Requirement::Namespaces, "no network namespace");
                return;
            }
            assert!(UdpSocket::bind((foreign, 0)).is_ok());
            assert_ne!(is_own_address(foreign), Some(true));
        });
        thread.join().unwrap();
        assert_eq!(is_own_address(Ipv4Addr::LOCALHOST.into()), Some(true));
    }

    #[test]
    fn image_that_cannot_be_read_is_on_the_innermost_mount_of_its_path() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("images");
        std::fs::create_dir(&inner).unwrap();
        let line = |id: u32, point: &Path| {
            format!(
                "{id} 1 8:{id} / {} rw - ext4 /dev/sda rw\n",
                point.display()
            )
        };
        let table = line(1, outer.path()) + &line(2, &inner);
        let backing = format!("{}/gone (deleted)\n", inner.display());
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", &table),
            ("sys/class/block/loop0/loop/backing_file", &backing),
            ("sys/class/block/loop0/size", "2048\n"),
            ("sys/class/block/loop1/loop/backing_file", &backing),
            ("sys/class/block/loop1/size", "2048\n"),
            ("sys/class/block/loop1/ro", "1\n"),
        ]);
        let image = backing_image(&roots, "loop0").unwrap();
        assert_eq!(image.new_block_bytes(&roots), 1 << 20);
        let place = std::fs::metadata(&inner).unwrap().ino();
        assert_eq!(image.place.metadata().unwrap().ino(), place);
        assert!(
            backing_image(&roots, "loop1").is_none(),
            "nothing is written to it"
        );
    }
}
