//! Loop devices, identified by the inode of the backing file, not by the path in sysfs.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::drive::guard::conflicts::device_nodes;
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{list_directory, read_device_number};
use crate::drive::ioctl;
use crate::drive::ioctl::LoopBacking;
use crate::drive::medium::FileId;
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// An attached loop device.
#[derive(Debug, Clone)]
pub(super) struct AttachedLoop {
    /// Kernel name, such as `loop3`.
    pub name: String,
    /// Identity of the backing file; the error if the kernel does not report it.
    pub backing: Result<FileId, Arc<io::Error>>,
    /// The backing path in sysfs, as text for display.
    pub shown_path: String,
    /// Disk sequence number from sysfs; it changes with each attachment.
    pub disk_sequence: String,
    /// The backing path, unchanged.
    pub backing_path: PathBuf,
}

impl AttachedLoop {
    /// Whether the image may be a file that was deleted: the kernel appends a word to the path of one.
    pub(super) fn may_be_deleted(&self) -> bool {
        let path = self.backing_path.as_os_str().as_bytes();
        path.is_empty() || path.ends_with(b" (deleted)")
    }

    /// Description in an unresolved use. It differs for another attachment of the same name and
    /// path.
    pub(super) fn description(&self) -> String {
        let Self {
            name,
            shown_path: path,
            ..
        } = self;
        match self.disk_sequence.as_str() {
            "" => format!("{name} ({path})"),
            sequence => format!("{name} ({path}, disk sequence number {sequence})"),
        }
    }
}

/// All attached loop devices.
///
/// # Errors
/// When the block devices cannot be listed.
pub(super) fn list_attached_loops(roots: &SysPaths) -> io::Result<Vec<AttachedLoop>> {
    let directory = roots.sys.join("class/block");
    fs::read_dir(&directory)?;
    Ok(list_directory(&directory)?
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| read_attached_loop(roots, name))
        .collect())
}

fn read_attached_loop(roots: &SysPaths, name: String) -> Option<AttachedLoop> {
    let directory = roots.sys.join("class/block").join(&name);
    let path = match fs::read(directory.join("loop/backing_file")) {
        Ok(path) => path,
        // Not attached, or a partition of a loop device.
        Err(error) if is_detached_error(&error) => return None,
        Err(error) => {
            let backing = Err(Arc::new(error));
            return Some(AttachedLoop {
                name,
                backing,
                shown_path: String::new(),
                disk_sequence: read_disk_sequence(&directory),
                backing_path: PathBuf::new(),
            });
        }
    };
    let path = path.strip_suffix(b"\n").unwrap_or(&path);
    let request = read_device_number(&directory)
        .ok_or(io::ErrorKind::NotFound.into())
        .and_then(|number| {
            let file = device_nodes::open_device_node(roots, &name, number, OFlags::empty())?;
            ioctl::loop_backing(&file)
        });
    let backing = match request {
        Ok(backing) => Ok(backing_identity(backing)),
        // Detached in the meantime.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return None,
        Err(error) => Err(Arc::new(error)),
    };
    Some(AttachedLoop {
        name,
        backing,
        shown_path: sanitized(&String::from_utf8_lossy(path)),
        disk_sequence: read_disk_sequence(&directory),
        backing_path: std::ffi::OsStr::from_bytes(path).into(),
    })
}

fn is_detached_error(error: &io::Error) -> bool {
    let gone = [Errno::NXIO, Errno::NODEV, Errno::NOTDIR].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::NotFound
        || error
            .raw_os_error()
            .is_some_and(|code| gone.contains(&code))
}

fn backing_identity(backing: LoopBacking) -> FileId {
    if backing.rdev == 0 {
        return FileId::Inode(backing.device, backing.inode);
    }
    let (major, minor) = split_device_number(backing.rdev);
    FileId::Device(major, minor)
}

fn read_disk_sequence(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("diskseq")).unwrap_or_default();
    text.trim().to_owned()
}
