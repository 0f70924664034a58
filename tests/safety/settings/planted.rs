//! Records that somebody else has written: nothing is changed on their word.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use crate::settings::sandbox::{
    ORIGINAL_READ_AHEAD, SettingsSandbox, device_name, loop_device, stderr,
};

/// A record as the program itself would write it, after it had changed 8 KiB to the value that the
/// device has now.
fn valid_record(device: &str) -> serde_json::Value {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let diskseq = fs::read_to_string(format!("/sys/class/block/{device}/diskseq"));
    let diskseq = diskseq.map(|text| text.trim().parse::<u64>().unwrap()).ok();
    serde_json::json!({
        "boot": boot.trim(),
        "diskseq": diskseq,
        "process": 4_194_305,
        "original": 8,
        "set_to": 96,
    })
}

#[test]
fn valid_setting_record_is_restored() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let records = sandbox.create_records();
    let file = records.join(format!("read-ahead@{}.json", device_name(&drive)));
    fs::write(&file, valid_record(device_name(&drive)).to_string()).unwrap();
    let message = stderr(&sandbox.start_and_restore());
    assert_eq!(drive.queue("read_ahead_kb"), "8\n", "{message}");
    assert!(message.contains("read_ahead_kb is 8 again"), "{message}");
    assert!(!file.exists());
}

/// As under `sudo -E`: root with another user's XDG_STATE_HOME, XDG_RUNTIME_DIR and HOME.
#[test]
fn record_in_another_users_directories_changes_nothing() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let theirs = sandbox.path().join("theirs");
    let records = theirs.join("diskscope/settings");
    fs::create_dir_all(&records).unwrap();
    let file = records.join(format!("read-ahead@{}.json", device_name(&drive)));
    fs::write(file, valid_record(device_name(&drive)).to_string()).unwrap();
    for path in [&theirs, &theirs.join("diskscope"), &records] {
        chown(path, Some(1000), Some(1000)).unwrap();
    }
    let mut command = sandbox.diskscope(&["tests", "--json"]);
    for variable in ["XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"] {
        command.env(variable, &theirs);
    }
    assert!(command.output().unwrap().status.success());
    assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
}

#[test]
fn record_writable_by_others_is_ignored_with_warning() {
    type Tamper = fn(&Path, &Path);
    let cases: [(&str, Tamper); 6] = [
        ("belongs to another user", |_, file| {
            chown(file, Some(1000), None).unwrap();
        }),
        ("belongs to another user", |records, _| {
            chown(records, Some(1000), None).unwrap();
        }),
        ("is writable by other users", |records, _| {
            fs::set_permissions(records, fs::Permissions::from_mode(0o770)).unwrap();
        }),
        ("is a symbolic link", |records, _| {
            let moved = records.with_extension("moved");
            fs::rename(records, &moved).unwrap();
            symlink(moved, records).unwrap();
        }),
        // The kernel follows no link there.
        ("symbolic links", |_, file| {
            let moved = file.with_extension("moved");
            fs::rename(file, &moved).unwrap();
            symlink(moved, file).unwrap();
        }),
        ("has another name", |_, file| {
            fs::hard_link(file, file.with_extension("second")).unwrap();
        }),
    ];
    let Some(drive) = loop_device() else { return };
    for (sentence, tamper) in cases {
        let Some(sandbox) = SettingsSandbox::new() else {
            return;
        };
        let records = sandbox.create_records();
        let file = records.join(format!("read-ahead@{}.json", device_name(&drive)));
        fs::write(&file, valid_record(device_name(&drive)).to_string()).unwrap();
        tamper(&records, &file);
        let message = stderr(&sandbox.start_and_restore());
        assert!(message.contains(sentence), "{sentence}: {message}");
        assert_eq!(
            drive.queue("read_ahead_kb"),
            ORIGINAL_READ_AHEAD,
            "{sentence}"
        );
    }
}

#[test]
fn record_of_another_boot_or_device_or_with_other_content_changes_nothing() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let records = sandbox.create_records();
    let file = records.join(format!("read-ahead@{}.json", device_name(&drive)));
    // What is planted, and what the next start says.
    for (key, value, sentence) in [
        ("boot", "00000000-0000-0000-0000-000000000000".into(), ""),
        ("diskseq", 0.into(), ""),
        ("set_to", 97.into(), ""),
        ("set_to", "96".into(), "is not a record"),
        ("original", "1\n".into(), "is not a record"),
        ("path", "/etc/passwd".into(), "is not a record"),
    ] {
        let mut planted = valid_record(device_name(&drive));
        planted[key] = value;
        fs::write(&file, planted.to_string()).unwrap();
        let message = stderr(&sandbox.start_and_restore());
        assert!(message.contains(sentence), "{key}: {message}");
        assert_eq!(message.is_empty(), sentence.is_empty(), "{message}");
        assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
        // What is about something that is no more goes.
        assert_eq!(file.exists(), !sentence.is_empty());
    }
}
