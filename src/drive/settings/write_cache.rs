//! Which states of a drive's write cache a benchmark may switch between.

use std::fs;

use crate::drive::settings::SettingsManager;
use crate::drive::settings::guard::SettingLock;

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
}

impl SettingsManager {
    /// The states of a drive's write cache that may be switched. `lock`: the drive's
    /// [`SystemSetting::WriteCache`](super::SystemSetting::WriteCache).
    ///
    /// # Errors
    /// When the cache is not on, or when the kernel's state is another one or cannot be read.
    pub fn switchable_cache(&self, lock: &SettingLock) -> Result<CacheStates, CacheObstacle> {
        let drive = lock.original_value();
        let kernel = self.queue_write_cache(lock);
        let on = CACHE_STATES.iter().find(|states| states.on == drive);
        match (on, kernel.as_deref()) {
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
        let device = lock.record.setting().device()?;
        let directory = self.sys_paths.sys.join("class/block").join(device.as_str());
        let text = fs::read_to_string(directory.join("queue/write_cache")).ok()?;
        Some(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::settings::SystemSetting;
    use crate::roots::SysPaths;

    /// What may be switched on a drive with these values of `cache_type` and `queue/write_cache`.
    fn switchable(drive: &str, kernel: Option<&str>) -> Result<CacheStates, CacheObstacle> {
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
}
