//! Other paths to the same disk: multipath without device-mapper or in addition to it.

use std::fs;
use std::path::Path;

use crate::roots::SysPaths;

/// Identity that a disk reports.
#[derive(Debug, PartialEq, Eq)]
struct DiskIdentity {
    /// World-wide identifier of the logical unit or namespace.
    wwid: Option<String>,
    /// Vital product data page 83h, which also contains it.
    vpd_page_83: Option<Vec<u8>>,
    /// Vendor, model, serial number, namespace and size, if there is a serial number.
    serial_identity: Option<[String; 5]>,
}

impl DiskIdentity {
    fn read(directory: &Path) -> Self {
        let word = |path: &str| {
            let text = fs::read(directory.join(path)).ok()?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            let says_nothing = text
                .chars()
                .all(|letter| matches!(letter, '0' | '.' | '-' | ' '));
            (!says_nothing).then_some(text)
        };
        let or_empty = |path: &str| word(path).unwrap_or_default();
        let page80 = || {
            let page = fs::read(directory.join("device/vpd_pg80")).ok()?;
            let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let serial = word("serial")
            .or_else(|| word("device/serial"))
            .or_else(page80);
        Self {
            wwid: word("device/wwid").or_else(|| word("wwid")),
            // A header without data is not an identity.
            vpd_page_83: fs::read(directory.join("device/vpd_pg83"))
                .ok()
                .filter(|page| page.len() > 8),
            serial_identity: serial.map(|serial| {
                [
                    or_empty("device/vendor"),
                    or_empty("device/model"),
                    serial,
                    or_empty("nsid"),
                    or_empty("size"),
                ]
            }),
        }
    }

    /// The strongest identifier that both have decides.
    fn is_same(&self, other: &Self) -> bool {
        if let (Some(own), Some(theirs)) = (&self.wwid, &other.wwid) {
            return own == theirs;
        }
        if let (Some(own), Some(theirs)) = (&self.vpd_page_83, &other.vpd_page_83) {
            return own == theirs;
        }
        self.serial_identity.is_some() && self.serial_identity == other.serial_identity
    }
}

/// Names of other disks that are the same one as the disk of that name.
///
/// # Errors
/// When the disks cannot be listed.
pub(super) fn other_paths_of_disk(roots: &SysPaths, name: &str) -> std::io::Result<Vec<String>> {
    let directory = roots.sys.join("class/block");
    let own = DiskIdentity::read(&directory.join(name));
    let others = crate::drive::identity::sysfs::list_directory(&directory)?;
    Ok(others
        .into_iter()
        .filter(|other| other != name && is_physical_disk(&directory.join(other)))
        .filter(|other| own.is_same(&DiskIdentity::read(&directory.join(other))))
        .collect())
}

/// Whether it is a whole disk with hardware.
fn is_physical_disk(directory: &Path) -> bool {
    directory.join("device").exists() && !directory.join("partition").exists()
}
