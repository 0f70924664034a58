//! Other paths to the same disk: multipath without device-mapper or in addition to it.

use std::fs;
use std::path::Path;

use crate::roots::SysPaths;

/// Hexadecimal digits of the serial number in the NAA identifier of a unit of the SCSI target.
const NAA_SERIAL_DIGITS: usize = 25;

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

/// As what disk a client sees what an exporter serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive::guard) struct ServedIdentity {
    /// What its world-wide identifier may be, as sysfs writes it.
    wwids: Vec<String>,
    /// Digits that follow the company in its NAA identifier.
    naa_digits: Option<String>,
}

impl ServedIdentity {
    /// An NVMe namespace: `device_uuid` and `device_nguid` in configfs (drivers/nvme/host/core.c, `wwid_show`).
    pub(super) fn of_nvme_namespace(uuid: &str, nguid: &str) -> Self {
        let digits = |text: &str| text.replace('-', "").trim().to_ascii_lowercase();
        let has_value = |digits: &str| digits.bytes().any(|digit| digit != b'0');
        let uuid = has_value(&digits(uuid)).then(|| format!("uuid.{}", uuid.trim()));
        let nguid = digits(nguid);
        let nguid = has_value(&nguid).then(|| format!("eui.{nguid}"));
        Self {
            wwids: uuid.into_iter().chain(nguid).collect(),
            naa_digits: None,
        }
    }

    /// A logical unit of the SCSI target: `wwn/vpd_unit_serial` in configfs, a line that ends with the serial
    /// number. The first 25 hexadecimal digits of that follow the company in the NAA identifier
    /// (drivers/target/target_core_spc.c, `spc_parse_naa_6h_vendor_specific`).
    pub(super) fn of_scsi_target(line: &str) -> Self {
        let serial = line.rsplit(':').next().unwrap_or_default();
        let digits = serial.chars().filter(char::is_ascii_hexdigit);
        let digits: String = digits.take(NAA_SERIAL_DIGITS).collect();
        let digits = digits.to_ascii_lowercase();
        Self {
            wwids: Vec::new(),
            naa_digits: Some(format!("{digits:0<NAA_SERIAL_DIGITS$}")),
        }
    }

    /// Whether the disk with that world-wide identifier is what is served.
    pub(super) fn is_disk(&self, wwid: &str) -> bool {
        // `naa.6`, the company in 6 digits, and the serial number.
        let digits = wwid.strip_prefix("naa.6").and_then(|rest| rest.get(6..));
        let is_unit =
            |expected: &String| digits.is_some_and(|digits| digits.eq_ignore_ascii_case(expected));
        self.naa_digits.as_ref().is_some_and(is_unit)
            || self.wwids.iter().any(|one| one.eq_ignore_ascii_case(wwid))
    }
}

/// World-wide identifier of the disk of that name, if it reports one.
pub(super) fn wwid_of_disk(roots: &SysPaths, name: &str) -> Option<String> {
    DiskIdentity::read(&roots.sys.join("class/block").join(name)).wwid
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
