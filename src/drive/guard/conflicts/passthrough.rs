//! Character devices that access a disk without its block device: SCSI generic (`/dev/sgN`,
//! `/dev/bsg/H:C:T:L`) and NVMe generic (`/dev/ngXnY`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;

use crate::drive::identity::sysfs::{directory_entries, read_device_number};
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// Disks by the number of their character device; each is looked up once.
#[derive(Debug)]
pub(super) struct Passthrough<'a> {
    roots: &'a SysPaths,
    known: RefCell<HashMap<(u32, u32), Option<FileId>>>,
}

impl<'a> Passthrough<'a> {
    pub(super) fn new(roots: &'a SysPaths) -> Self {
        Self {
            roots,
            known: RefCell::default(),
        }
    }

    /// The disk of the character device of that number, if it is such a device.
    pub(super) fn disk(&self, number: (u32, u32)) -> Option<FileId> {
        let mut known = self.known.borrow_mut();
        *known
            .entry(number)
            .or_insert_with(|| disk(self.roots, number))
    }
}

fn disk(roots: &SysPaths, (major, minor): (u32, u32)) -> Option<FileId> {
    let link = roots.sys.join(format!("dev/char/{major}:{minor}"));
    let device = fs::canonicalize(link).ok()?;
    let name = device.file_name()?.to_str()?;
    let generic = name
        .strip_prefix("ng")
        .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let block = match generic {
        Some(rest) => roots.sys.join("class/block").join(format!("nvme{rest}")),
        None => {
            let disks = device.join("device/block");
            disks.join(directory_entries(&disks).first()?)
        }
    };
    let (major, minor) = read_device_number(&block)?;
    Some(FileId::Device(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn generic_devices_lead_to_their_disks() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let numbers = roots.sys.join("dev/char");
        fs::create_dir_all(&numbers).unwrap();
        let scsi = roots.sys.join("devices/target0/0:0:0:0");
        for directory in ["block/sda", "scsi_generic/sg0", "bsg/0:0:0:0"] {
            fs::create_dir_all(scsi.join(directory)).unwrap();
        }
        fs::write(scsi.join("block/sda/dev"), "8:0\n").unwrap();
        for (number, path) in [("21:0", "scsi_generic/sg0"), ("250:3", "bsg/0:0:0:0")] {
            symlink(&scsi, scsi.join(path).join("device")).unwrap();
            symlink(scsi.join(path), numbers.join(number)).unwrap();
        }
        let nvme = roots.sys.join("devices/nvme0");
        fs::create_dir_all(nvme.join("ng0n1")).unwrap();
        symlink(nvme.join("ng0n1"), numbers.join("245:0")).unwrap();
        let block = roots.sys.join("class/block/nvme0n1");
        fs::create_dir_all(&block).unwrap();
        fs::write(block.join("dev"), "259:0\n").unwrap();
        fs::create_dir_all(numbers.join("1:3")).unwrap();

        let passthrough = Passthrough::new(&roots);
        assert_eq!(passthrough.disk((21, 0)), Some(FileId::Device(8, 0)));
        assert_eq!(passthrough.disk((250, 3)), Some(FileId::Device(8, 0)));
        assert_eq!(passthrough.disk((245, 0)), Some(FileId::Device(259, 0)));
        assert_eq!(passthrough.disk((1, 3)), None);
        assert_eq!(passthrough.disk((10, 1)), None);
    }
}
