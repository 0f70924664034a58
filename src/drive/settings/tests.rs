mod revalidation;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::requirement;
use crate::requirement::Requirement;

const BOOT_ID: &str = "01234567-89ab-cdef-0123-456789abcdef";
const OTHER_BOOT_ID: &str = "fedcba98-89ab-cdef-0123-456789abcdef";

/// How a process that changed a setting ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Regular,
    /// The locks are released; the record and the last value remain.
    Kill,
}

struct TestLocation {
    directory: tempfile::TempDir,
    settings: SettingsManager,
    /// Read-ahead of sda, initially 128.
    setting: PathBuf,
    records: PathBuf,
}

impl TestLocation {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let device = root.join("sys/class/block/sda");
        fs::create_dir_all(device.join("queue")).unwrap();
        fs::create_dir_all(root.join("proc/sys/kernel/random")).unwrap();
        let write = |file: &str, text: &str| fs::write(root.join(file), text).unwrap();
        write("sys/class/block/sda/queue/read_ahead_kb", "128\n");
        write("sys/class/block/sda/dev", "8:0\n");
        write("sys/class/block/sda/diskseq", "3\n");
        write("proc/sys/kernel/random/boot_id", BOOT_ID);
        write("proc/sys/kernel/task_delayacct", "0\n");
        write("victim", "precious");
        Self {
            setting: device.join("queue/read_ahead_kb"),
            records: root.join("records"),
            settings: SettingsManager::new(SysPaths::under_root(root), &root.join("records")),
            directory,
        }
    }

    fn read_ahead(&self) -> SystemSetting {
        SystemSetting::read_ahead("sda").unwrap()
    }

    fn guard(&self) -> SettingLock {
        self.settings.lock_setting(self.read_ahead()).unwrap()
    }

    fn current_value(&self) -> String {
        fs::read_to_string(&self.setting).unwrap().trim().to_owned()
    }

    fn records(&self) -> usize {
        let entries = fs::read_dir(&self.records).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.path().extension() == Some("json".as_ref()))
            .count()
    }

    /// Writes a file below the root.
    fn write_to_root(&self, file: &str, text: &str) {
        fs::write(self.directory.path().join(file), text).unwrap();
    }

    /// Sets a value and simulates a kill.
    fn set_and_simulate_kill(&self, value: &str) {
        let mut guard = self.guard();
        guard.set(value).unwrap();
        self.end(guard, End::Kill);
    }

    /// Ends the lifetime of a guard.
    fn end(&self, guard: SettingLock, end: End) {
        match end {
            End::Regular => drop(guard),
            End::Kill => {
                let value = self.current_value();
                let copy = self.directory.path().join("copy");
                fs::copy(self.record_path(), &copy).unwrap();
                drop(guard);
                fs::write(&self.setting, value).unwrap();
                fs::rename(copy, self.record_path()).unwrap();
            }
        }
    }

    fn record_path(&self) -> PathBuf {
        self.records.join("read-ahead@sda.json")
    }

    /// Writes a record to the record directory, without changing the setting.
    fn write_record(&self, name: &str, text: &str) {
        fs::create_dir_all(&self.records).unwrap();
        fs::set_permissions(&self.records, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(self.records.join(name), text).unwrap();
    }

    /// All files except the records, with their content.
    fn files_outside_records(&self) -> Vec<(PathBuf, String)> {
        fn collect(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if fs::symlink_metadata(&path).unwrap().is_dir() {
                    collect(&path, files);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    files.push((path, text));
                }
            }
        }
        let mut files = Vec::new();
        collect(self.directory.path(), &mut files);
        files.retain(|(path, _)| !path.starts_with(&self.records));
        files.sort();
        files
    }
}

/// A record of sda's read-ahead, as written after a change from 128 to 4.
fn read_ahead_record() -> serde_json::Value {
    serde_json::json!({
        "version": 1,
        "setting": "read-ahead@sda",
        "boot": BOOT_ID,
        "device": { "number": "8:0", "diskseq": 3, "wwid": null, "serial": null },
        "original": "128",
        "changed_to": ["4"],
    })
}

#[test]
fn setting_lock_drop_restores_original_value() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    for value in ["4", "8192"] {
        guard.set(value).unwrap();
        assert_eq!(location.current_value(), value);
        assert_eq!(location.records(), 1);
    }
    drop(guard);
    assert_eq!(location.current_value(), "128");
    assert_eq!(location.records(), 0);
}

#[test]
fn setting_that_another_program_changes_is_left_alone() {
    for value_of_run in [None, Some("4")] {
        let location = TestLocation::new();
        let mut guard = location.guard();
        if let Some(value) = value_of_run {
            guard.set_unless_changed_elsewhere(value).unwrap();
        }
        fs::write(&location.setting, "64\n").unwrap();
        let error = guard.set_unless_changed_elsewhere("256").unwrap_err();
        assert!(
            matches!(&error, SettingError::ChangedElsewhere { value, .. } if value == "64"),
            "{error}"
        );
        assert_eq!(location.current_value(), "64");
        drop(guard);
        assert_eq!(location.current_value(), "64");
    }
    // The value before the run, and those of the run, are as good as no change.
    let location = TestLocation::new();
    let mut guard = location.guard();
    guard.set_unless_changed_elsewhere("4").unwrap();
    fs::write(&location.setting, "128\n").unwrap();
    guard.set_unless_changed_elsewhere("256").unwrap();
    drop(guard);
    assert_eq!(location.current_value(), "128");
}

#[test]
fn setting_locked_by_another_process_is_refused() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    guard.set("4").unwrap();
    let error = location
        .settings
        .lock_setting(location.read_ahead())
        .unwrap_err();
    let own = std::process::id();
    assert!(
        matches!(error, SettingError::LockedByProcess { holder: Some(id), .. } if id == own),
        "{error}"
    );
    assert!(
        error.to_string().contains("the read-ahead of sda"),
        "{error}"
    );
    // Another setting has another lock.
    location
        .settings
        .lock_setting(SystemSetting::DelayAccounting)
        .unwrap();
    drop(guard);
    assert_eq!(location.guard().original_value(), "128");
}

#[test]
fn setting_locked_by_another_user_is_refused() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    guard.set("4").unwrap();
    let roots = SysPaths::under_root(location.directory.path());
    let other = SettingsManager::new(roots, &location.directory.path().join("other"));
    let error = other.lock_setting(location.read_ahead()).unwrap_err();
    assert!(matches!(
        error,
        SettingError::LockedByProcess { holder: None, .. }
    ));
}

#[test]
fn setting_lock_after_kill_keeps_original_value() {
    let location = TestLocation::new();
    location.set_and_simulate_kill("4");
    let mut guard = location.guard();
    assert_eq!(guard.original_value(), "128");
    guard.set("64").unwrap();
    drop(guard);
    assert_eq!(location.current_value(), "128");
}

#[test]
fn next_start_restores_setting_of_killed_process() {
    let location = TestLocation::new();
    location.set_and_simulate_kill("4");
    let restored = location.settings.restore_leftovers();
    assert!(
        matches!(&restored[..], [Ok(LeftoverSetting::Restored { path, value })] if *path == location.setting && value == "128"),
        "{restored:?}"
    );
    assert_eq!(location.current_value(), "128");
    assert!(location.settings.restore_leftovers().is_empty());
}

#[test]
fn next_start_keeps_setting_of_running_process() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    guard.set("4").unwrap();
    assert!(location.settings.restore_leftovers().is_empty());
    assert_eq!(location.current_value(), "4");
    assert_eq!(location.records(), 1);
}

#[test]
fn setting_rounded_by_kernel_is_restored() {
    let location = TestLocation::new();
    location.set_and_simulate_kill("65");
    // As with pages of 4 KiB, before the process could record the value that 65 was rounded to.
    let page = rustix::param::page_size() as u64 / 1024;
    fs::write(&location.setting, (65 - 65 % page).to_string()).unwrap();
    assert_eq!(location.settings.restore_leftovers().len(), 1);
    assert_eq!(location.current_value(), "128");
}

#[test]
fn setting_changed_by_others_is_not_restored() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    guard.set("4").unwrap();
    fs::write(&location.setting, "512\n").unwrap();
    guard.restore_original().unwrap();
    assert_eq!(location.current_value(), "512");
    assert_eq!(location.records(), 0);
}

/// The value is one that the run had set before, but not the last one.
#[test]
fn value_set_by_others_that_a_run_had_set_earlier_is_kept() {
    for end in [End::Regular, End::Kill] {
        let location = TestLocation::new();
        let mut guard = location.guard();
        for value in ["4", "4096", "8", "16"] {
            guard.set(value).unwrap();
        }
        fs::write(&location.setting, "4096\n").unwrap();
        location.end(guard, end);
        assert!(location.settings.restore_leftovers().is_empty());
        assert_eq!(location.current_value(), "4096", "{end:?}");
        assert_eq!(location.records(), 0);
    }
}

#[test]
fn value_set_by_others_between_two_writes_is_the_one_that_is_restored() {
    for end in [End::Regular, End::Kill] {
        let location = TestLocation::new();
        let mut guard = location.guard();
        guard.set("4").unwrap();
        fs::write(&location.setting, "512\n").unwrap();
        guard.set("8").unwrap();
        assert_eq!(guard.original_value(), "512");
        location.end(guard, end);
        let _ = location.settings.restore_leftovers();
        assert_eq!(location.current_value(), "512", "{end:?}");
    }
}

/// The record has the value before a write and the written one: a kill leaves either.
#[test]
fn setting_of_process_killed_during_a_write_is_restored() {
    for left in ["4", "8"] {
        let location = TestLocation::new();
        let mut guard = location.guard();
        guard.set("4").unwrap();
        guard.set("8").unwrap();
        location.end(guard, End::Kill);
        fs::write(&location.setting, left).unwrap();
        assert_eq!(location.settings.restore_leftovers().len(), 1);
        assert_eq!(location.current_value(), "128", "{left}");
    }
}

#[test]
fn record_of_earlier_version_with_every_value_is_read() {
    let location = TestLocation::new();
    let mut record = read_ahead_record();
    record["changed_to"] = serde_json::json!(["4", "8", "16", "32", "64"]);
    location.write_record("read-ahead@sda.json", &record.to_string());
    fs::write(&location.setting, "64\n").unwrap();
    assert_eq!(location.settings.restore_leftovers().len(), 1);
    assert_eq!(location.current_value(), "128");
}

#[test]
fn record_of_removed_device_is_deleted() {
    let location = TestLocation::new();
    location.set_and_simulate_kill("4");
    fs::remove_dir_all(location.directory.path().join("sys/class/block/sda")).unwrap();
    assert!(location.settings.restore_leftovers().is_empty());
    assert_eq!(location.records(), 0);
}

#[test]
fn record_of_another_boot_is_discarded() {
    let location = TestLocation::new();
    location.set_and_simulate_kill("4");
    location.write_to_root("proc/sys/kernel/random/boot_id", OTHER_BOOT_ID);
    assert!(location.settings.restore_leftovers().is_empty());
    assert_eq!(location.current_value(), "4");
    assert_eq!(location.records(), 0);
}

#[test]
fn record_of_reused_device_name_is_discarded_and_reported() {
    for (file, text) in [
        ("dev", "8:16\n"),
        ("diskseq", "4\n"),
        ("wwid", "naa.5000c500a1b2c3d5\n"),
        ("device/serial", "B\n"),
    ] {
        let location = TestLocation::new();
        let device = "sys/class/block/sda";
        fs::create_dir_all(location.directory.path().join(device).join("device")).unwrap();
        location.write_to_root(&format!("{device}/wwid"), "naa.5000c500a1b2c3d4\n");
        location.write_to_root(&format!("{device}/device/serial"), "A\n");
        location.set_and_simulate_kill("4");
        location.write_to_root(&format!("{device}/{file}"), text);
        let restored = location.settings.restore_leftovers();
        assert!(
            matches!(&restored[..], [Ok(LeftoverSetting::OtherDevice { .. })]),
            "{file}: {restored:?}"
        );
        assert_eq!(location.current_value(), "4");
        assert_eq!(location.records(), 0);
    }
}

#[test]
fn unreadable_serial_number_still_matches_device() {
    let location = TestLocation::new();
    let serial = "sys/class/block/sda/serial";
    location.write_to_root(serial, "A\n");
    location.set_and_simulate_kill("4");
    fs::remove_file(location.directory.path().join(serial)).unwrap();
    assert_eq!(location.settings.restore_leftovers().len(), 1);
    assert_eq!(location.current_value(), "128");
}

#[test]
fn bracketed_word_is_read_as_active_choice() {
    let location = TestLocation::new();
    fs::write(&location.setting, "none [mq-deadline] bfq\n").unwrap();
    let file = SettingFile::open(&location.settings.sys_paths, &location.read_ahead()).unwrap();
    assert_eq!(file.read().unwrap(), "mq-deadline");
}

#[test]
fn setting_is_not_changed_without_a_record() {
    let location = TestLocation::new();
    fs::write(&location.records, "no directory").unwrap();
    assert!(
        location
            .settings
            .lock_setting(location.read_ahead())
            .is_err()
    );
    assert_eq!(location.current_value(), "128");
}

#[test]
fn setting_without_boot_id_is_not_changed() {
    let location = TestLocation::new();
    location.write_to_root("proc/sys/kernel/random/boot_id", "");
    assert!(
        location
            .settings
            .lock_setting(location.read_ahead())
            .is_err()
    );
}

#[test]
fn invalid_setting_value_is_not_written() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    for value in ["", "-1", "4\n", "04", "0x4", "four", "99999999999"] {
        let error = guard.set(value).unwrap_err();
        assert!(
            matches!(error, SettingError::InvalidValue { .. }),
            "{value:?}: {error}"
        );
        assert_eq!(location.current_value(), "128");
    }
}

#[test]
fn write_cache_accepts_only_kernel_values() {
    let location = TestLocation::new();
    let disk = "sys/class/block/sda/device/scsi_disk/2:0:0:0";
    fs::create_dir_all(location.directory.path().join(disk)).unwrap();
    let file = format!("{disk}/cache_type");
    location.write_to_root(&file, "write back\n");
    let setting = SystemSetting::write_cache("sda").unwrap();
    assert!(location.settings.exists(&setting));
    let mut guard = location.settings.lock_setting(setting.clone()).unwrap();
    guard.set("write through").unwrap();
    // This value would leave the setting of the drive itself unchanged.
    assert!(guard.set("temporary write back").is_err());
    drop(guard);
    let value = fs::read_to_string(location.directory.path().join(&file)).unwrap();
    assert_eq!(value, "write back");
    assert!(
        !location
            .settings
            .exists(&SystemSetting::write_cache("sdb").unwrap())
    );
}

#[test]
fn device_name_with_path_components_is_refused() {
    for name in [
        "",
        ".",
        "..",
        "../sda",
        "sda/queue",
        "/dev/sda",
        "sda\n",
        "sd a",
        "sd\0a",
        "sdä",
        "a@b",
    ] {
        let error = SystemSetting::read_ahead(name).unwrap_err();
        assert!(matches!(error, InvalidDeviceName { .. }), "{name:?}");
    }
    assert!(SystemSetting::read_ahead(&"a".repeat(65)).is_err());
    for name in [
        "sda",
        "nvme0n1p2",
        "cciss!c0d0",
        "md_home",
        "dm-0",
        "etherd!e0.0",
    ] {
        let setting = SystemSetting::read_ahead(name).unwrap();
        assert_eq!(setting.name().parse::<SystemSetting>().unwrap(), setting);
    }
}

#[test]
fn written_record_is_parsed_back() {
    let location = TestLocation::new();
    location.write_record("read-ahead@sda.json", &read_ahead_record().to_string());
    fs::write(&location.setting, "4\n").unwrap();
    assert_eq!(location.settings.restore_leftovers().len(), 1);
    assert_eq!(location.current_value(), "128");
}

/// Records that this program did not write: each differs from a valid one in one field.
#[test]
fn planted_record_changes_nothing() {
    let victim = "../../../../../../victim";
    let changes: Vec<(&str, &str, serde_json::Value)> = vec![
        ("version", "2", 2.into()),
        ("setting", "path", victim.into()),
        ("setting", "absolute", "/etc/passwd".into()),
        ("setting", "slash", "read-ahead@../../victim".into()),
        ("setting", "dots", "read-ahead@..".into()),
        ("setting", "newline", "read-ahead@sda\n".into()),
        ("setting", "unknown", "scheduler@sda".into()),
        ("setting", "number", 7.into()),
        ("setting", "another", "delay-accounting".into()),
        ("setting", "another device", "read-ahead@sdb".into()),
        ("path", "old field", victim.into()),
        ("original", "text", "root::0:0::/:/bin/sh\n".into()),
        ("original", "escape", "\u{1b}]52;c;\u{7}".into()),
        ("original", "negative", "-1".into()),
        ("changed_to", "text", vec!["precious"].into()),
        ("changed_to", "many", vec!["4"; 300].into()),
        ("boot", "none", serde_json::Value::Null),
        ("boot", "text", "../../victim".into()),
        ("device", "none", serde_json::Value::Null),
        (
            "device",
            "more",
            serde_json::json!({"number": "8:0", "path": victim}),
        ),
    ];
    for (key, what, value) in changes {
        let location = TestLocation::new();
        fs::write(&location.setting, "4\n").unwrap();
        let mut planted = read_ahead_record();
        planted[key] = value;
        location.write_record("read-ahead@sda.json", &planted.to_string());
        let before = location.files_outside_records();
        let restored = location.settings.restore_leftovers();
        assert!(
            matches!(&restored[..], [Err(SettingError::InvalidRecord { .. })]),
            "{key} ({what}): {restored:?}"
        );
        assert_eq!(location.files_outside_records(), before, "{key} ({what})");
        // It does not block a new lock.
        drop(location.guard());
    }
}

#[test]
fn planted_file_of_another_name_is_ignored() {
    let text = read_ahead_record().to_string();
    for name in [
        "4711-0.setting.json",
        "read-ahead@..json",
        "read-ahead@sda",
        "read-ahead.json",
        "read-ahead@.json",
        "scheduler@sda.json",
        "@.json",
        ".json",
    ] {
        let location = TestLocation::new();
        fs::write(&location.setting, "4\n").unwrap();
        location.write_record(name, &text);
        let before = location.files_outside_records();
        assert!(location.settings.restore_leftovers().is_empty(), "{name}");
        assert_eq!(location.files_outside_records(), before);
    }
}

#[test]
fn damaged_or_oversized_record_is_ignored() {
    let good = read_ahead_record().to_string();
    let half = &good[..good.len() / 2];
    let endless = format!("{good}{}", " ".repeat(70_000));
    for text in ["", "{", half, "null", "[]", &endless] {
        let location = TestLocation::new();
        fs::write(&location.setting, "4\n").unwrap();
        location.write_record("read-ahead@sda.json", text);
        let restored = location.settings.restore_leftovers();
        assert!(matches!(
            &restored[..],
            [Err(SettingError::InvalidRecord { .. })]
        ));
        assert_eq!(location.current_value(), "4");
    }
}

#[test]
fn record_or_directory_writable_by_others_is_ignored() {
    type Tamper = fn(&TestLocation);
    let cases: [(&str, Tamper); 6] = [
        ("symlinked record", |location| {
            let elsewhere = location.directory.path().join("elsewhere");
            fs::rename(location.record_path(), &elsewhere).unwrap();
            symlink(&elsewhere, location.record_path()).unwrap();
        }),
        ("hard-linked record", |location| {
            let second = location.directory.path().join("second");
            fs::hard_link(location.record_path(), second).unwrap();
        }),
        ("group-writable record", |location| {
            fs::set_permissions(location.record_path(), fs::Permissions::from_mode(0o660)).unwrap();
        }),
        ("record that is a FIFO", |location| {
            fs::remove_file(location.record_path()).unwrap();
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mkfifoat(rustix::fs::CWD, location.record_path(), mode).unwrap();
        }),
        ("symlinked directory", |location| {
            let moved = location.directory.path().join("moved");
            fs::rename(&location.records, &moved).unwrap();
            symlink(&moved, &location.records).unwrap();
        }),
        ("group-writable directory", |location| {
            fs::set_permissions(&location.records, fs::Permissions::from_mode(0o770)).unwrap();
        }),
    ];
    for (what, tamper) in cases {
        let location = TestLocation::new();
        fs::write(&location.setting, "4\n").unwrap();
        location.write_record("read-ahead@sda.json", &read_ahead_record().to_string());
        tamper(&location);
        let restored = location.settings.restore_leftovers();
        assert!(
            matches!(&restored[..], [Err(SettingError::RecordDirectory(_))]),
            "{what}: {restored:?}"
        );
        assert_eq!(location.current_value(), "4", "{what}");
    }
}

#[test]
fn record_or_directory_of_another_user_is_ignored() {
    if !rustix::process::geteuid().is_root() {
        return requirement::skip(Requirement::Root, "chown needs root");
    }
    let own = |location: &TestLocation, path: &Path| {
        std::os::unix::fs::chown(path, Some(1000), Some(1000)).unwrap();
        let restored = location.settings.restore_leftovers();
        assert!(matches!(
            &restored[..],
            [Err(SettingError::RecordDirectory(_))]
        ));
        assert_eq!(location.current_value(), "4");
    };
    let location = TestLocation::new();
    fs::write(&location.setting, "4\n").unwrap();
    location.write_record("read-ahead@sda.json", &read_ahead_record().to_string());
    own(&location, &location.record_path());
    own(&location, &location.records);
    assert!(
        location
            .settings
            .lock_setting(location.read_ahead())
            .is_err()
    );
}

#[test]
fn symlink_leaving_kernel_tree_is_not_followed() {
    let location = TestLocation::new();
    fs::remove_file(&location.setting).unwrap();
    let queue = location.setting.parent().unwrap();
    // An absolute link, and a link as the last component.
    for (link, target) in [
        (queue.to_owned(), location.directory.path().join("outside")),
        (
            location.setting.clone(),
            location.directory.path().join("victim"),
        ),
    ] {
        let outside = location.directory.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("read_ahead_kb"), "128\n").unwrap();
        let _ = fs::remove_dir_all(&link);
        symlink(&target, &link).unwrap();
        assert!(
            location
                .settings
                .lock_setting(location.read_ahead())
                .is_err()
        );
        fs::remove_file(&link).unwrap();
        fs::create_dir_all(queue).unwrap();
    }
}

#[test]
fn stale_temporary_file_of_killed_process_is_removed() {
    let location = TestLocation::new();
    location.write_record(".diskscope-0123456789abcdef", "{");
    assert!(location.settings.restore_leftovers().is_empty());
    let path = location.records.join(".diskscope-0123456789abcdef");
    assert!(path.exists(), "its process may be about to rename it");
    let old = std::time::SystemTime::now() - 2 * STALE_TEMPORARY_AGE;
    fs::File::open(&path).unwrap().set_modified(old).unwrap();
    assert!(location.settings.restore_leftovers().is_empty());
    assert!(!path.exists());
}

/// Every rename of a directory interrupts the kernel while it resolves a `..`; links in /sys
/// contain `..`.
#[test]
fn setting_opens_despite_concurrent_renames() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let location = TestLocation::new();
    let root = location.directory.path();
    let (real, name) = (
        root.join("sys/devices/pci0/block/sda"),
        root.join("sys/class/block/sda"),
    );
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::rename(&name, &real).unwrap();
    symlink("../../devices/pci0/block/sda", &name).unwrap();
    let setting = location.read_ahead();
    let roots = SysPaths::under_root(root);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (here, there) = (root.join(format!("a{number}")), root.join("sys"));
            fs::create_dir(&here).unwrap();
            let there = there.join(format!("a{number}"));
            let ended = &ended;
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    fs::rename(&here, &there).unwrap();
                    fs::rename(&there, &here).unwrap();
                }
            });
        }
        let failed: Vec<_> = (0..5000)
            .filter_map(|_| setting_file::SettingFile::open(&roots, &setting).err())
            .map(|error| error.to_string())
            .collect();
        ended.store(true, Ordering::Relaxed);
        assert!(failed.is_empty(), "{}: {}", failed.len(), failed[0]);
    });
}

#[test]
fn symlink_leaving_sysfs_is_not_followed() {
    let location = TestLocation::new();
    let root = location.directory.path();
    fs::create_dir_all(root.join("elsewhere/queue")).unwrap();
    fs::write(root.join("elsewhere/queue/read_ahead_kb"), "1").unwrap();
    for (device, target) in [
        ("sdb", "../../../elsewhere".to_owned()),
        ("sdc", root.join("elsewhere").display().to_string()),
    ] {
        symlink(target, root.join("sys/class/block").join(device)).unwrap();
        let setting = SystemSetting::read_ahead(device).unwrap();
        let opened = setting_file::SettingFile::open(&SysPaths::under_root(root), &setting);
        assert!(opened.is_err(), "{device}");
    }
}

#[test]
fn setting_is_restored_until_it_is_set_again() {
    let location = TestLocation::new();
    let mut guard = location.guard();
    for value in ["8", "4096"] {
        guard.set(value).unwrap();
        assert_eq!(
            (location.current_value().as_str(), location.records()),
            (value, 1)
        );
        guard.restore_until_set().unwrap();
        assert_eq!(
            (location.current_value().as_str(), location.records()),
            ("128", 0)
        );
        let other = location.settings.lock_setting(location.read_ahead());
        assert!(other.unwrap_err().is_locked_by_process());
    }
    // Set by somebody else, although the guard had set it.
    fs::write(&location.setting, "4096\n").unwrap();
    guard.set("8").unwrap();
    assert_eq!(guard.original_value(), "4096");
    guard.restore_until_set().unwrap();
    fs::write(&location.setting, "8\n").unwrap();
    drop(guard);
    assert_eq!(
        (location.current_value().as_str(), location.records()),
        ("8", 0)
    );
}

#[test]
fn settings_that_a_process_has_changed_are_listed_while_they_are() {
    let location = TestLocation::new();
    let changed_by = |process| location.settings.settings_changed_by(process);
    let own = std::process::id();
    let mut guard = location.guard();
    assert_eq!(changed_by(own), []);
    guard.set("8").unwrap();
    let expected = ChangedSetting {
        path: location.setting.clone(),
        value: "8".to_owned(),
        original: "128".to_owned(),
    };
    assert_eq!(changed_by(own), [expected]);
    assert_eq!(changed_by(own + 1), []);
    fs::write(&location.setting, "16\n").unwrap();
    assert_eq!(changed_by(own), [], "by somebody else");
    fs::write(&location.setting, "8\n").unwrap();
    guard.restore_until_set().unwrap();
    assert_eq!(changed_by(own), []);
}
