//! Processes that serve a file system or a block device, or run a virtual machine: what they only read
//! may be in use through it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;

use crate::drive::guard::conflicts::open_file::Facts;
use crate::drive::identity::sysfs::directory_entries;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// `/dev/fuse` (kernel Documentation/admin-guide/devices.txt).
const FUSE: (u32, u32) = (10, 229);
/// `/dev/kvm`, which the monitor of a virtual machine has open (kernel
/// Documentation/admin-guide/devices.txt).
const KVM: (u32, u32) = (10, 232);
/// Major number of network block devices (kernel Documentation/admin-guide/devices.txt).
const NBD_MAJOR: u32 = 43;
/// Classes of the character devices by which processes serve block devices: ublk, SCSI targets in user
/// space (TCMU, over UIO), VDUSE.
const SERVER_CLASSES: [&str; 3] = ["ublk-char", "uio", "vduse"];

/// By what a process is known to serve a file system or a block device.
#[derive(Debug)]
pub(super) struct StorageServers<'a> {
    roots: &'a SysPaths,
    /// Whether a network block device is connected: any process with a socket may serve it.
    has_network_device: bool,
    /// Whether the character device of that number is one of a server; each is looked up once.
    known: RefCell<HashMap<(u32, u32), bool>>,
}

impl<'a> StorageServers<'a> {
    pub(super) fn new(roots: &'a SysPaths) -> Self {
        let block = roots.sys.join("block");
        let mut names = directory_entries(&block).into_iter();
        // The kernel makes this file while the device is connected.
        let is_connected =
            |name: String| name.starts_with("nbd") && block.join(name).join("pid").exists();
        Self {
            roots,
            has_network_device: names.any(is_connected),
            known: RefCell::default(),
        }
    }

    /// Whether a process that has this open may serve a file system or a block device by it, or a disk
    /// to a virtual machine.
    pub(super) fn is_channel(&self, opened: &Facts) -> bool {
        if opened.is_socket && self.has_network_device {
            return true;
        }
        if matches!(opened.id, FileId::Device(NBD_MAJOR, _)) {
            return true;
        }
        let Some(number) = opened.character_device else {
            return false;
        };
        let mut known = self.known.borrow_mut();
        *known
            .entry(number)
            .or_insert_with(|| matches!(number, FUSE | KVM) || self.is_server_class(number))
    }

    fn is_server_class(&self, (major, minor): (u32, u32)) -> bool {
        let link = format!("dev/char/{major}:{minor}/subsystem");
        let class = fs::read_link(self.roots.sys.join(link)).ok();
        let name = class.as_deref().and_then(|class| class.file_name());
        name.is_some_and(|name| SERVER_CLASSES.iter().any(|class| name == *class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn character_device(number: (u32, u32)) -> Facts {
        Facts {
            id: FileId::Inode(5, 1),
            inode: FileId::Inode(5, 1),
            character_device: Some(number),
            is_socket: false,
            may_be_medium: false,
        }
    }

    #[test]
    fn devices_of_user_space_drivers_are_channels() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        for (number, class) in [("240:0", "ublk-char"), ("241:3", "uio"), ("4:1", "tty")] {
            let directory = roots.sys.join("dev/char").join(number);
            fs::create_dir_all(&directory).unwrap();
            let class = roots.sys.join("class").join(class);
            symlink(class, directory.join("subsystem")).unwrap();
        }
        let servers = StorageServers::new(&roots);
        for number in [FUSE, KVM, (240, 0), (241, 3)] {
            assert!(servers.is_channel(&character_device(number)), "{number:?}");
        }
        for number in [(4, 1), (1, 3)] {
            assert!(!servers.is_channel(&character_device(number)), "{number:?}");
        }
    }

    #[test]
    fn sockets_are_channels_while_a_network_device_is_connected() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let socket = Facts {
            is_socket: true,
            character_device: None,
            ..character_device(FUSE)
        };
        let device = Facts {
            id: FileId::Device(NBD_MAJOR, 0),
            is_socket: false,
            ..socket
        };
        let nbd = roots.sys.join("block/nbd0");
        fs::create_dir_all(&nbd).unwrap();
        let servers = StorageServers::new(&roots);
        assert!(!servers.is_channel(&socket) && servers.is_channel(&device));
        fs::write(nbd.join("pid"), "77\n").unwrap();
        assert!(StorageServers::new(&roots).is_channel(&socket));
    }
}
