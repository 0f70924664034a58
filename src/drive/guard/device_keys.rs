//! What tells a block device from another one of the same name, or from itself with other bytes: the
//! disk sequence number, and which part of which file a loop device shows.

use std::fs;
use std::io;
use std::path::Path;

use crate::drive::guard::map_tables::read_stack;
use crate::drive::medium::TargetKind;
use crate::drive::medium::identity_change::IdentityChange;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// A block device. One that is set up anew within a moment keeps its name, but not its sequence
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceKey {
    /// Name in sysfs.
    pub name: String,
    /// Disk sequence number (`diskseq`); empty for a partition, which has none of its own, and
    /// before kernel 5.15.
    sequence: Vec<u8>,
    /// The path of the file that a loop device is attached to. It changes with the name of the file.
    backing_path: Vec<u8>,
    /// Which part of that file the device shows: its begin and its longest size. LOOP_SET_STATUS64
    /// replaces them at any time, also while the device is open exclusively (loop(4)), and the
    /// sequence number stays. Another file has another sequence number.
    loop_range: [Vec<u8>; 2],
}

impl DeviceKey {
    /// Reads the key of the device with that name. `directory`: `class/block` in sysfs.
    pub(super) fn read(directory: &Path, name: String) -> io::Result<Self> {
        let device_directory = directory.join(&name);
        let read_loop = |file: &str| match name.starts_with("loop") {
            true => read_if_present(&device_directory.join("loop").join(file)),
            false => Ok(Vec::new()),
        };
        Ok(Self {
            sequence: read_if_present(&device_directory.join("diskseq"))?,
            backing_path: read_loop("backing_file")?,
            loop_range: [read_loop("offset")?, read_loop("sizelimit")?],
            name,
        })
    }

    /// The difference to the same device later. One that is being removed has no sequence number,
    /// and nothing more can be written to it.
    fn first_difference(&self, now: &Self) -> Option<IdentityChange> {
        let device = || self.name.clone();
        if self.sequence != now.sequence && !now.sequence.is_empty() {
            Some(IdentityChange::LowerDiskSequence { device: device() })
        } else if self.loop_range != now.loop_range {
            Some(IdentityChange::LoopRange { device: device() })
        } else {
            None
        }
    }
}

/// The first of these devices that is another one now, or has other bytes. A device that is gone is
/// none: nothing more can be written to it.
pub(super) fn first_difference(before: &[DeviceKey], now: &[DeviceKey]) -> Option<IdentityChange> {
    let find = |one: &DeviceKey| now.iter().find(|other| other.name == one.name);
    before
        .iter()
        .find_map(|one| one.first_difference(find(one)?))
}

/// The devices that a medium consists of, or that its file system is on; none for a scratch file.
pub(super) fn own_devices(roots: &SysPaths, medium: &OpenMedium) -> Vec<DeviceKey> {
    let device = medium.target.drive.as_ref().map(|drive| drive.name.clone());
    if medium.target.kind == TargetKind::ScratchFile {
        return Vec::new();
    }
    // Where they cannot be read, no check while writing succeeds either.
    let directory = roots.sys.join("class/block");
    let stack = read_stack(&directory, device).unwrap_or_default();
    stack
        .into_iter()
        .filter_map(|(name, _)| DeviceKey::read(&directory, name).ok())
        .collect()
}

/// What is in a file; nothing where there is none.
pub(super) fn read_if_present(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        // Nothing is attached to a loop device (ENXIO), or the device is just going.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) =>
        {
            Ok(Vec::new())
        }
        content => content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_keys(roots: &SysPaths, names: &[&str]) -> Vec<DeviceKey> {
        let directory = roots.sys.join("class/block");
        let read = |name: &&str| DeviceKey::read(&directory, (*name).to_owned()).unwrap();
        names.iter().map(read).collect()
    }

    #[test]
    fn changed_medium_or_loop_range_is_a_difference_of_its_device() {
        let (_tree, roots) = SysPaths::with_files(&[
            ("sys/class/block/dm-0/diskseq", "3\n"),
            ("sys/class/block/sda/diskseq", "1\n"),
            ("sys/class/block/loop0/diskseq", "2\n"),
            ("sys/class/block/loop0/loop/backing_file", "/tmp/image\n"),
            ("sys/class/block/loop0/loop/offset", "0\n"),
            ("sys/class/block/loop0/loop/sizelimit", "0\n"),
        ]);
        let read = || read_keys(&roots, &["dm-0", "sda", "loop0"]);
        let before = read();
        let write = |path: &str, text: &str| {
            fs::write(roots.sys.join("class/block").join(path), text).unwrap();
        };
        let changed = || first_difference(&before, &read());
        assert_eq!(changed(), None);
        write("loop0/loop/backing_file", "/tmp/image (deleted)\n");
        assert_eq!(changed(), None, "a name is no identity");
        write("sda/diskseq", "4\n");
        let device = "sda".to_owned();
        assert_eq!(
            changed(),
            Some(IdentityChange::LowerDiskSequence { device })
        );
        write("sda/diskseq", "1\n");
        for (file, before) in [("offset", "0\n"), ("sizelimit", "0\n")] {
            write(&format!("loop0/loop/{file}"), "4096\n");
            let device = "loop0".to_owned();
            assert_eq!(changed(), Some(IdentityChange::LoopRange { device }));
            write(&format!("loop0/loop/{file}"), before);
        }
        assert_eq!(changed(), None);
        fs::remove_file(roots.sys.join("class/block/sda/diskseq")).unwrap();
        assert_eq!(changed(), None, "it is being removed");
        assert_eq!(
            first_difference(&before, &read_keys(&roots, &["dm-0"])),
            None
        );
    }
}
