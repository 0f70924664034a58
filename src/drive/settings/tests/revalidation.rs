//! Settings that the kernel resets when the write cache is switched.

use super::*;

const SCSI_DISK: &str = "device/scsi_disk/2:0:0:0";

/// The files of a disk, with the values that an administrator has set and those that the kernel
/// resets them to.
const VALUES: [(&str, &str, &str); 11] = [
    (
        "device/scsi_disk/2:0:0:0/provisioning_mode",
        "writesame_16",
        "unmap",
    ),
    (
        "device/scsi_disk/2:0:0:0/max_write_same_blocks",
        "100",
        "4194303",
    ),
    (
        "device/scsi_disk/2:0:0:0/zeroing_mode",
        "write",
        "writesame",
    ),
    ("device/scsi_disk/2:0:0:0/protection_type", "0", "1"),
    ("integrity/read_verify", "0", "1"),
    ("integrity/write_generate", "0", "1"),
    ("queue/discard_max_bytes", "1048576", "1073741824"),
    ("queue/max_sectors_kb", "64", "1280"),
    ("queue/rotational", "0", "1"),
    ("queue/add_random", "0", "1"),
    ("queue/read_ahead_kb", "16", "128"),
];

/// A disk, sda, with a write cache that is on.
struct Disk {
    location: TestLocation,
    path: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let location = TestLocation::new();
        let path = location.directory.path().join("sys/class/block/sda");
        fs::create_dir_all(path.join(SCSI_DISK)).unwrap();
        fs::create_dir(path.join("integrity")).unwrap();
        let disk = Self { location, path };
        disk.write("device/scsi_disk/2:0:0:0/cache_type", "write back");
        for (file, value, _) in VALUES {
            disk.write(file, value);
        }
        disk
    }

    fn write(&self, file: &str, value: &str) {
        fs::write(self.path.join(file), format!("{value}\n")).unwrap();
    }

    fn value(&self, file: &str) -> String {
        let text = fs::read_to_string(self.path.join(file)).unwrap();
        text.trim().to_owned()
    }

    fn cache_type(&self) -> String {
        self.value("device/scsi_disk/2:0:0:0/cache_type")
    }

    fn lock(&self) -> SettingLock {
        let settings = &self.location.settings;
        let mut lock = settings.lock_setting(write_cache()).unwrap();
        lock.file.on_write = Some(reset);
        lock
    }

    /// What is not as the administrator has set it.
    fn changed(&self) -> Vec<&'static str> {
        let changed = VALUES
            .iter()
            .filter(|(file, set, _)| self.value(file) != *set);
        changed.map(|(file, ..)| *file).collect()
    }

    fn record(&self) -> SettingRecord {
        let path = self.location.records.join("write-cache@sda.json");
        SettingRecord::parse(&fs::read(path).unwrap()).unwrap()
    }
}

fn write_cache() -> SystemSetting {
    SystemSetting::write_cache("sda").unwrap()
}

/// Resets the settings, as a revalidation of the disk does.
fn reset(cache_type: &Path) {
    let disk = cache_type.ancestors().nth(4).unwrap();
    for (file, _, reset) in VALUES {
        fs::write(disk.join(file), format!("{reset}\n")).unwrap();
    }
}

/// A record of a write cache, as written before a change from on to off.
fn write_cache_record() -> serde_json::Value {
    let mut record = read_ahead_record();
    record["setting"] = "write-cache@sda".into();
    record["original"] = "write back".into();
    record["changed_to"] = serde_json::json!(["write through"]);
    let values = VALUES.map(|(file, set, _)| {
        let (_, name) = file.rsplit_once('/').unwrap();
        (name.to_owned(), serde_json::Value::from(set))
    });
    record["revalidated"] = serde_json::Value::Object(values.into_iter().collect());
    record
}

#[test]
fn settings_that_the_kernel_resets_with_the_write_cache_are_written_back() {
    let disk = Disk::new();
    let mut lock = disk.lock();
    for value in ["write through", "write back", "write through"] {
        lock.set(value).unwrap();
        assert_eq!(disk.cache_type(), value);
        assert_eq!(disk.changed(), [""; 0], "{value}");
        // What somebody else sets from now on is not replaced after a kill.
        assert!(disk.record().revalidated().is_empty());
    }
    lock.restore_original().unwrap();
    assert_eq!(disk.cache_type(), "write back");
    assert_eq!(disk.changed(), [""; 0]);
    assert_eq!(disk.location.records(), 0);
}

/// libata revalidates the disk by itself a while after the write.
#[test]
fn settings_that_the_kernel_resets_later_are_written_back() {
    let disk = Disk::new();
    disk.write("device/vendor", "ATA     ");
    let mut lock = disk.lock();
    lock.file.on_write = Some(|cache_type| {
        reset(cache_type);
        let cache_type = cache_type.to_owned();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            reset(&cache_type);
        });
    });
    let later = || std::thread::sleep(std::time::Duration::from_millis(300));
    lock.set("write through").unwrap();
    later();
    assert_eq!(disk.changed(), [""; 0]);
    lock.restore_original().unwrap();
    later();
    assert_eq!(disk.changed(), [""; 0]);
}

#[test]
fn settings_are_written_back_when_the_kernel_rejects_the_state_of_the_cache() {
    let disk = Disk::new();
    let mut lock = disk.lock();
    lock.file.on_write = Some(|cache_type| {
        reset(cache_type);
        fs::write(cache_type, "write back\n").unwrap();
    });
    assert!(lock.set("write through").is_err());
    assert_eq!(disk.changed(), [""; 0]);
    drop(lock);
    assert_eq!(disk.changed(), [""; 0]);
    assert_eq!(disk.location.records(), 0);
}

#[test]
fn value_that_others_set_between_two_switches_of_the_cache_is_kept() {
    let disk = Disk::new();
    let mut lock = disk.lock();
    lock.set("write through").unwrap();
    disk.write("queue/read_ahead_kb", "4096");
    drop(lock);
    assert_eq!(disk.changed(), ["queue/read_ahead_kb"]);
    assert_eq!(disk.value("queue/read_ahead_kb"), "4096");
}

#[test]
fn settings_of_process_killed_before_it_wrote_them_back_are_restored() {
    for cache in ["write through", "write back"] {
        let disk = Disk::new();
        disk.location
            .write_record("write-cache@sda.json", &write_cache_record().to_string());
        disk.write("device/scsi_disk/2:0:0:0/cache_type", cache);
        reset(&disk.path.join(SCSI_DISK).join("cache_type"));
        let restored = disk.location.settings.restore_leftovers();
        let is_expected = match cache {
            "write back" => matches!(&restored[..], [Ok(LeftoverSetting::Revalidated { .. })]),
            _ => matches!(&restored[..], [Ok(LeftoverSetting::Restored { .. })]),
        };
        assert!(is_expected, "{cache}: {restored:?}");
        assert_eq!(disk.cache_type(), "write back");
        assert_eq!(disk.changed(), [""; 0], "{cache}");
        assert_eq!(disk.location.records(), 0);
    }
}

#[test]
fn record_of_a_write_has_the_values_until_they_are_written_back() {
    let disk = Disk::new();
    let mut lock = disk.lock();
    // At the time of the write.
    lock.file.on_write = Some(|cache_type| {
        let root = cache_type.ancestors().nth(8).unwrap();
        let record = fs::read(root.join("records/write-cache@sda.json")).unwrap();
        let record = SettingRecord::parse(&record).unwrap();
        assert_eq!(record.revalidated().len(), VALUES.len());
    });
    lock.set("write through").unwrap();
    lock.restore_original().unwrap();
}

#[test]
fn setting_that_cannot_be_written_back_is_an_error_and_the_others_are_written() {
    let disk = Disk::new();
    // One file for two settings, which cannot have two values.
    fs::remove_file(disk.path.join("queue/add_random")).unwrap();
    let [rotational, add_random] =
        ["rotational", "add_random"].map(|name| disk.path.join("queue").join(name));
    fs::hard_link(rotational, add_random).unwrap();
    let file = SettingFile::open(&disk.location.settings.sys_paths, &write_cache()).unwrap();
    let values = RevalidatedValues::from([
        (RevalidatedSetting::Rotational, "1".to_owned()),
        (RevalidatedSetting::AddRandom, "0".to_owned()),
        (RevalidatedSetting::ReadAheadKb, "32".to_owned()),
    ]);
    let error = file.write_back(&values).unwrap_err().to_string();
    assert!(
        error.contains("queue/rotational: it did not accept \"1\""),
        "{error}"
    );
    assert_eq!(disk.value("queue/read_ahead_kb"), "32");
}

#[test]
fn setting_that_can_no_longer_be_read_does_not_keep_the_cache_off() {
    let disk = Disk::new();
    let mut lock = disk.lock();
    lock.set("write through").unwrap();
    disk.write("device/scsi_disk/2:0:0:0/provisioning_mode", "later");
    lock.restore_original().unwrap();
    assert_eq!(disk.cache_type(), "write back");
    assert_eq!(
        disk.changed(),
        ["device/scsi_disk/2:0:0:0/provisioning_mode"]
    );
}

#[test]
fn setting_with_unknown_value_prevents_the_switch() {
    let disk = Disk::new();
    disk.write("device/scsi_disk/2:0:0:0/provisioning_mode", "later");
    let mut lock = disk.lock();
    assert!(lock.set("write through").is_err());
    assert_eq!(disk.cache_type(), "write back");
}

#[test]
fn read_ahead_of_a_disk_whose_cache_is_switched_is_locked() {
    let disk = Disk::new();
    let settings = &disk.location.settings;
    let lock = disk.lock();
    let error = settings
        .lock_setting(disk.location.read_ahead())
        .unwrap_err();
    assert!(error.is_locked_by_process(), "{error}");
    drop(lock);
    let lock = disk.location.guard();
    let error = settings.lock_setting(write_cache()).unwrap_err();
    assert!(error.is_locked_by_process(), "{error}");
    drop(lock);
}

#[test]
fn settings_are_written_back_in_their_order() {
    let all = RevalidatedSetting::ALL;
    assert!(all.is_sorted());
    assert_eq!(all[0], RevalidatedSetting::ProvisioningMode);
    assert_eq!(all.last(), Some(&RevalidatedSetting::ReadAheadKb));
}

#[test]
fn record_with_invalid_values_of_other_settings_is_refused() {
    let record = write_cache_record();
    SettingRecord::parse(record.to_string().as_bytes()).unwrap();
    let mut of_earlier_version = record.clone();
    of_earlier_version
        .as_object_mut()
        .unwrap()
        .remove("revalidated");
    SettingRecord::parse(of_earlier_version.to_string().as_bytes()).unwrap();
    for (name, value) in [
        ("provisioning_mode", "unmap\n"),
        ("provisioning_mode", "../victim"),
        ("zeroing_mode", ""),
        ("rotational", "2"),
        ("read_verify", "2"),
        ("write_generate", ""),
        ("read_ahead_kb", "-1"),
        ("discard_max_bytes", "0x10"),
        ("../../victim", "0"),
        ("scheduler", "none"),
    ] {
        let mut planted = record.clone();
        planted["revalidated"][name] = value.into();
        let parsed = SettingRecord::parse(planted.to_string().as_bytes());
        assert!(parsed.is_err(), "{name} {value:?}");
    }
    let mut of_other_setting = read_ahead_record();
    of_other_setting["revalidated"] = record["revalidated"].clone();
    let parsed = SettingRecord::parse(of_other_setting.to_string().as_bytes());
    assert!(matches!(parsed, Err(RecordError::UnexpectedRevalidated(_))));
}
