//! Which states of a drive's write cache a benchmark may switch between.

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::settings::SettingsManager;
use crate::drive::settings::guard::SettingLock;
use crate::drive::settings::revalidated::RevalidatedSetting;

/// The values of `cache_type` for a cache that is on and off (drivers/scsi/sd.c,
/// `sd_cache_types`). Both have the same cache for reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStates {
    /// The cache is on.
    pub on: &'static str,
    /// The cache is off.
    pub off: &'static str,
}

const CACHE_STATES: [CacheStates; 2] = [
    CacheStates {
        on: "write back",
        off: "write through",
    },
    CacheStates {
        on: "write back, no read (daft)",
        off: "none",
    },
];

/// The values of a block device's `queue/write_cache` (kernel
/// Documentation/ABI/stable/sysfs-block).
const QUEUE_WRITE_BACK: &str = "write back";
const QUEUE_WRITE_THROUGH: &str = "write through";

/// Why the write cache of a drive is not switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheObstacle {
    /// It is off. Switching it on takes durability from other users of the drive: device-mapper
    /// decides when a table is loaded whether the map passes flushes on (drivers/md/dm-table.c,
    /// `dm_table_supports_flush`), and a map that was set up while the cache was off passes none.
    Off,
    /// The drive and the kernel have different states: an administrator has overridden one of them.
    /// Writing `cache_type` would lose that (`sd_revalidate_disk`).
    Overridden {
        /// `cache_type`, the drive's state.
        drive: String,
        /// `queue/write_cache`, by which the kernel sends flushes; `None` if it cannot be read.
        kernel: Option<String>,
    },
    /// Discards are switched off although the drive supports them. Writing `cache_type` switches them
    /// on until the old setting is written back: a file system that is mounted with `discard` could
    /// discard blocks in between.
    DiscardsOff,
    /// The kernel does not verify or does not generate the protection information of the drive's
    /// blocks, although it could. Writing `cache_type` switches both on until the old settings are
    /// written back (`sd_config_protection`): a read of blocks whose information is not valid would
    /// fail in between.
    ProtectionOff,
}

/// `integrity/format` of a disk for which the kernel handles no protection information
/// (block/blk-integrity.c, `format_show`).
const NO_PROTECTION_FORMAT: &str = "none";
/// Values of `provisioning_mode` with which the kernel discards nothing.
const MODES_WITHOUT_DISCARD: [&str; 2] = ["full", "disabled"];
/// Byte of the Logical Block Provisioning VPD page that says which commands discard blocks (SBC-4).
const PROVISIONING_COMMANDS_BYTE: usize = 5;
/// Its bits for UNMAP, WRITE SAME (16) and WRITE SAME (10): LBPU, LBPWS, LBPWS10.
const PROVISIONING_COMMANDS: u8 = 0x80 | 0x40 | 0x20;

impl SettingsManager {
    /// The states of a drive's write cache that may be switched. `lock`: the drive's
    /// [`SystemSetting::WriteCache`](super::SystemSetting::WriteCache).
    ///
    /// # Errors
    /// When the cache is not on, when the kernel's state is another one or cannot be read, or when
    /// discards, or the verification or generation of protection information, are switched off.
    pub fn switchable_cache(&self, lock: &SettingLock) -> Result<CacheStates, CacheObstacle> {
        let drive = lock.original_value();
        let kernel = self.queue_write_cache(lock);
        let on = CACHE_STATES.iter().find(|states| states.on == drive);
        match (on, kernel.as_deref()) {
            (Some(_), Some(QUEUE_WRITE_BACK)) if self.discards_are_switched_off(lock) => {
                Err(CacheObstacle::DiscardsOff)
            }
            (Some(_), Some(QUEUE_WRITE_BACK)) if self.protection_is_switched_off(lock) => {
                Err(CacheObstacle::ProtectionOff)
            }
            (Some(states), Some(QUEUE_WRITE_BACK)) => Ok(*states),
            (None, Some(QUEUE_WRITE_THROUGH)) => Err(CacheObstacle::Off),
            _ => Err(CacheObstacle::Overridden {
                drive: drive.to_owned(),
                kernel,
            }),
        }
    }

    /// The state of the cache by which the kernel decides whether to send flushes to the drive.
    fn queue_write_cache(&self, lock: &SettingLock) -> Option<String> {
        read_text(&self.device_directory(lock)?.join("queue/write_cache"))
    }

    /// Whether the kernel discards nothing on a drive on which it can. A revalidation of the disk
    /// switches discards on.
    fn discards_are_switched_off(&self, lock: &SettingLock) -> bool {
        let Some(device) = self.device_directory(lock) else {
            return false;
        };
        let mode = lock
            .file
            .revalidated_value(RevalidatedSetting::ProvisioningMode);
        let maximum = lock
            .file
            .revalidated_value(RevalidatedSetting::DiscardMaxBytes);
        let of_hardware = read_text(&device.join("queue/discard_max_hw_bytes"));
        let mode_is_off = mode.is_some_and(|mode| MODES_WITHOUT_DISCARD.contains(&mode.as_str()));
        let maximum_is_off = maximum.as_deref() == Some("0") && of_hardware.as_deref() != Some("0");
        (mode_is_off || maximum_is_off) && supports_discard(&device, lock.file.path())
    }

    /// Whether the kernel does not verify, or does not generate, protection information that the disk
    /// has. A revalidation of the disk switches both on.
    fn protection_is_switched_off(&self, lock: &SettingLock) -> bool {
        let Some(device) = self.device_directory(lock) else {
            return false;
        };
        // For a disk without protection information both are 0 all the time.
        let format = read_text(&device.join("integrity/format"));
        let is_off = |setting| lock.file.revalidated_value(setting).as_deref() == Some("0");
        format.as_deref() != Some(NO_PROTECTION_FORMAT)
            && (is_off(RevalidatedSetting::ReadVerify) || is_off(RevalidatedSetting::WriteGenerate))
    }

    fn device_directory(&self, lock: &SettingLock) -> Option<PathBuf> {
        let device = lock.record.setting().device()?;
        Some(self.sys_paths.sys.join("class/block").join(device.as_str()))
    }
}

/// Whether the kernel would discard blocks of a drive if nothing switched that off
/// (drivers/scsi/sd.c, `sd_discard_mode`).
fn supports_discard(device: &Path, cache_type: &Path) -> bool {
    // LBPME of READ CAPACITY (16). It decides: libata has a provisioning page for every drive, also
    // for one without TRIM.
    let thin = read_text(&cache_type.with_file_name("thin_provisioning"));
    // Without the page, or before Linux 5.18, which does not show it, the kernel uses what it can.
    let commands = fs::read(device.join("device/vpd_pgb2"))
        .ok()
        .and_then(|page| page.get(PROVISIONING_COMMANDS_BYTE).copied());
    thin.as_deref() != Some("0")
        && commands.is_none_or(|commands| commands & PROVISIONING_COMMANDS != 0)
}

fn read_text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::settings::SystemSetting;
    use crate::roots::SysPaths;

    /// What may be switched on a drive with these values of `cache_type` and `queue/write_cache`.
    fn switchable(drive: &str, kernel: Option<&str>) -> Result<CacheStates, CacheObstacle> {
        switchable_with(drive, kernel, &[])
    }

    /// The same with other files of the block device.
    fn switchable_with(
        drive: &str,
        kernel: Option<&str>,
        files: &[(&str, &str)],
    ) -> Result<CacheStates, CacheObstacle> {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let boot = "01234567-89ab-cdef-0123-456789abcdef\n";
        write("proc/sys/kernel/random/boot_id", boot);
        let disk = "sys/class/block/sda";
        write(&format!("{disk}/dev"), "8:0\n");
        let cache_type = format!("{disk}/device/scsi_disk/2:0:0:0/cache_type");
        write(&cache_type, &format!("{drive}\n"));
        if let Some(kernel) = kernel {
            write(&format!("{disk}/queue/write_cache"), &format!("{kernel}\n"));
        }
        for (file, text) in files {
            write(&format!("{disk}/{file}"), text);
        }
        let settings = SettingsManager::new(roots, &tree.path().join("records"));
        let setting = SystemSetting::write_cache("sda").unwrap();
        let lock = settings.lock_setting(setting).unwrap();
        settings.switchable_cache(&lock)
    }

    #[test]
    fn write_cache_that_is_on_may_be_switched_with_the_same_read_cache() {
        let states = |on, off| Ok(CacheStates { on, off });
        let back = Some("write back");
        assert_eq!(
            switchable("write back", back),
            states("write back", "write through")
        );
        let daft = "write back, no read (daft)";
        assert_eq!(switchable(daft, back), states(daft, "none"));
    }

    #[test]
    fn write_cache_that_is_off_or_overridden_is_not_switched() {
        let through = Some("write through");
        for word in ["write through", "none"] {
            assert_eq!(switchable(word, through), Err(CacheObstacle::Off));
        }
        for (drive, kernel) in [
            ("write back", through),
            ("write through", Some("write back")),
            ("write back", None),
        ] {
            let overridden = CacheObstacle::Overridden {
                drive: drive.to_owned(),
                kernel: kernel.map(str::to_owned),
            };
            assert_eq!(switchable(drive, kernel), Err(overridden));
        }
    }
    const MODE: &str = "device/scsi_disk/2:0:0:0/provisioning_mode";
    const THIN: &str = "device/scsi_disk/2:0:0:0/thin_provisioning";
    const PAGE: &str = "device/vpd_pgb2";
    const MAXIMUM: &str = "queue/discard_max_bytes";
    const HARDWARE_MAXIMUM: &str = "queue/discard_max_hw_bytes";
    /// A provisioning page with WRITE SAME (16), as libata makes it for every drive.
    const PAGE_OF_LIBATA: &str = "\0\x02\0\x04\0\x40\0\0";
    const PAGE_WITHOUT_COMMANDS: &str = "\0\x02\0\x04\0\0\0\0";

    #[test]
    fn write_cache_of_drive_with_discards_switched_off_is_not_switched() {
        let cases: [&[(&str, &str)]; 6] = [
            &[(MODE, "full\n"), (THIN, "1\n"), (PAGE, PAGE_OF_LIBATA)],
            &[(MODE, "disabled\n"), (THIN, "1\n"), (PAGE, PAGE_OF_LIBATA)],
            &[(MODE, "full\n"), (PAGE, PAGE_OF_LIBATA)],
            &[(MODE, "full\n"), (THIN, "1\n")],
            &[(MODE, "unmap\n"), (THIN, "1\n"), (MAXIMUM, "0\n")],
            &[
                (MAXIMUM, "0\n"),
                (HARDWARE_MAXIMUM, "1073741824\n"),
                (THIN, "1\n"),
            ],
        ];
        for files in cases {
            let switchable = switchable_with("write back", Some("write back"), files);
            assert_eq!(switchable, Err(CacheObstacle::DiscardsOff), "{files:?}");
        }
    }

    #[test]
    fn write_cache_of_drive_with_discards_or_without_support_is_switched() {
        let cases: [&[(&str, &str)]; 5] = [
            &[(MODE, "unmap\n"), (THIN, "1\n"), (PAGE, PAGE_OF_LIBATA)],
            &[(MODE, "unmap\n"), (MAXIMUM, "4096\n"), (THIN, "1\n")],
            // A hard disk on SATA.
            &[(MODE, "full\n"), (THIN, "0\n"), (PAGE, PAGE_OF_LIBATA)],
            &[
                (MODE, "disabled\n"),
                (THIN, "1\n"),
                (PAGE, PAGE_WITHOUT_COMMANDS),
            ],
            &[(MAXIMUM, "0\n"), (HARDWARE_MAXIMUM, "0\n"), (THIN, "1\n")],
        ];
        for files in cases {
            let switchable = switchable_with("write back", Some("write back"), files);
            assert!(switchable.is_ok(), "{files:?}: {switchable:?}");
        }
    }

    const FORMAT: &str = "integrity/format";
    const READ_VERIFY: &str = "integrity/read_verify";
    const WRITE_GENERATE: &str = "integrity/write_generate";

    #[test]
    fn write_cache_of_drive_with_protection_switched_off_is_not_switched() {
        let format = (FORMAT, "T10-DIF-TYPE1-CRC\n");
        let cases: [&[(&str, &str)]; 4] = [
            &[format, (READ_VERIFY, "0\n"), (WRITE_GENERATE, "0\n")],
            &[format, (READ_VERIFY, "0\n"), (WRITE_GENERATE, "1\n")],
            &[format, (READ_VERIFY, "1\n"), (WRITE_GENERATE, "0\n")],
            &[(READ_VERIFY, "0\n"), (WRITE_GENERATE, "1\n")],
        ];
        for files in cases {
            let switchable = switchable_with("write back", Some("write back"), files);
            assert_eq!(switchable, Err(CacheObstacle::ProtectionOff), "{files:?}");
        }
    }

    #[test]
    fn write_cache_of_drive_with_or_without_protection_is_switched() {
        let cases: [&[(&str, &str)]; 2] = [
            &[
                (FORMAT, "T10-DIF-TYPE1-CRC\n"),
                (READ_VERIFY, "1\n"),
                (WRITE_GENERATE, "1\n"),
            ],
            &[
                (FORMAT, "none\n"),
                (READ_VERIFY, "0\n"),
                (WRITE_GENERATE, "0\n"),
            ],
        ];
        for files in cases {
            let switchable = switchable_with("write back", Some("write back"), files);
            assert!(switchable.is_ok(), "{files:?}: {switchable:?}");
        }
    }
}
