//! The least about block devices that sysfs tells.

use std::path::Path;

use super::text::read_word;
use crate::drive::{Drive, DriveKind};
use crate::roots::Roots;

/// Every block device with its size.
#[must_use]
pub fn list(roots: &Roots) -> Vec<Drive> {
    let Ok(listing) = std::fs::read_dir(roots.sys.join("class/block")) else {
        return Vec::new();
    };
    let mut drives: Vec<Drive> = listing
        .flatten()
        .filter_map(|entry| one(&entry.path(), &entry.file_name().into_string().ok()?))
        .collect();
    drives.sort_by(|a, b| a.name.cmp(&b.name));
    drives
}

fn one(directory: &Path, name: &str) -> Option<Drive> {
    let sectors: u64 = read_word(&directory.join("size"))?.parse().ok()?;
    let number = read_word(&directory.join("dev"))?;
    let (major, minor) = number.split_once(':')?;
    let partition = directory.join("partition").exists();
    Some(Drive {
        name: name.to_owned(),
        path: format!("/dev/{name}"),
        number: (major.parse().ok()?, minor.parse().ok()?),
        kind: if partition { DriveKind::Partition } else { DriveKind::Disk },
        size_bytes: sectors.saturating_mul(512),
        logical_block_bytes: None,
        physical_block_bytes: None,
        rotational: read_word(&directory.join("queue/rotational")).map(|word| word == "1"),
        removable: None,
        read_only: None,
        vendor: None,
        model: read_word(&directory.join("device/model")),
        serial: None,
        firmware: None,
        transport: None,
        scheduler: None,
        queue_depth: None,
        read_ahead_kib: None,
        max_request_kib: None,
        write_cache: None,
        signature: None,
        parent: None,
        slaves: Vec::new(),
        backing_file: read_word(&directory.join("loop/backing_file")),
        aligned: None,
        users: Vec::new(),
    })
}
