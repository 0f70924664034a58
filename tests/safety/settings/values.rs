//! What a lock does with values that another program sets meanwhile, on ordinary files.

use std::fs;

use diskscope::drive::SettingsManager;
use diskscope::drive::settings::SystemSetting;
use diskscope::roots::SysPaths;

#[test]
fn value_of_another_program_is_the_one_to_restore() {
    // What another program sets before each of two changes, and the value in the end.
    for (first, second, restored) in [
        (None, None, "128"),
        (Some("64"), None, "64"),
        (None, Some("64"), "64"),
        (Some("64"), Some("32"), "32"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let file = root.join("sys/class/block/sda/queue/read_ahead_kb");
        let boot_id = root.join("proc/sys/kernel/random/boot_id");
        for (path, text) in [(&file, "128\n"), (&boot_id, "0123-4567\n")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let settings = SettingsManager::new(SysPaths::under_root(root), root.to_owned());
        let setting = SystemSetting::read_ahead("sda").unwrap();
        let mut lock = settings.lock_setting(setting).unwrap();
        for (other, value) in [(first, 4), (second, 8)] {
            if let Some(other) = other {
                fs::write(&file, other).unwrap();
            }
            lock.set(value).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), value.to_string());
        }
        lock.restore().unwrap();
        let now = fs::read_to_string(&file).unwrap();
        assert_eq!(now, restored, "{first:?}, {second:?}");
        // What another program sets from now on stays, although the lock had set that value.
        fs::write(&file, "8").unwrap();
        drop(lock);
        assert_eq!(fs::read_to_string(&file).unwrap(), "8");
        let record = root.join("diskscope/settings/read-ahead@sda.json");
        assert!(!record.exists());
    }
}
