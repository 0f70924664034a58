//! Block devices of flash memory (MTD, `/dev/mtdblockN`). File systems for flash memory (JFFS2,
//! UBIFS) and UBI use the memory itself, so that no exclusive open of the block device excludes them.

use std::fs;

use crate::roots::SysPaths;

/// Whether a block device shows the content of flash memory: by mtdblock, or by a translation layer
/// such as FTL.
pub(super) fn is_on_flash_memory(roots: &SysPaths, name: &str) -> bool {
    let subsystem = roots
        .sys
        .join("class/block")
        .join(name)
        .join("device/subsystem");
    let is_memory = fs::canonicalize(subsystem)
        .is_ok_and(|target| target.ends_with("mtd") || target.ends_with("ubi"));
    is_memory || name.starts_with("mtdblock")
}
