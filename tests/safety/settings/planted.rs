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
    let read = |file: &str| {
        let path = format!("/sys/class/block/{device}/{file}");
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let diskseq: Option<u64> = Path::new("/sys/class/block")
        .join(device)
        .join("diskseq")
        .exists()
        .then(|| read("diskseq").parse().unwrap());
    serde_json::json!({
        "version": 1,
        "setting": format!("read-ahead@{device}"),
        "boot": boot.trim(),
        "device": { "number": read("dev"), "diskseq": diskseq, "wwid": null, "serial": null },
        "original": "8",
        "changed_to": [ORIGINAL_READ_AHEAD.trim()],
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
    let victim = sandbox.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let theirs = sandbox.path().join("theirs");
    let old = serde_json::json!({
        "path": victim, "original": "root::0:0::/:/bin/sh\n", "ours": ["precious"],
        "process": 4_194_305, "process_start": 1,
    });
    let new = valid_record(device_name(&drive)).to_string();
    let records = theirs.join("diskscope/settings");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join("4194305-0.setting.json"), old.to_string()).unwrap();
    fs::write(
        records.join(format!("read-ahead@{}.json", device_name(&drive))),
        new,
    )
    .unwrap();
    for path in [&theirs, &theirs.join("diskscope"), &records] {
        chown(path, Some(1000), Some(1000)).unwrap();
    }
    let output = sandbox
        .diskscope(&["tests", "--json"])
        .env("XDG_STATE_HOME", &theirs)
        .env("XDG_RUNTIME_DIR", &theirs)
        .env("HOME", &theirs)
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
}

#[test]
fn record_writable_by_others_is_ignored_with_warning() {
    type Tamper = fn(&Path, &Path);
    let cases: [(&str, Tamper); 6] = [
        ("belongs to user 1000", |_, file| {
            chown(file, Some(1000), None).unwrap();
        }),
        ("belongs to user 1000", |records, _| {
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
        ("is a symbolic link", |_, file| {
            let moved = file.with_extension("moved");
            fs::rename(file, &moved).unwrap();
            symlink(moved, file).unwrap();
        }),
        ("has 2 names", |_, file| {
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
fn record_of_another_boot_or_device_changes_nothing() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let records = sandbox.create_records();
    let file = records.join(format!("read-ahead@{}.json", device_name(&drive)));
    for (key, value, sentence) in [
        ("boot", "00000000-0000-0000-0000-000000000000".into(), ""),
        (
            "device",
            serde_json::json!({ "number": "8:0", "diskseq": 1, "wwid": null, "serial": null }),
            "another device has that name now",
        ),
    ] {
        let mut planted = valid_record(device_name(&drive));
        planted[key] = value;
        fs::write(&file, planted.to_string()).unwrap();
        let message = stderr(&sandbox.start_and_restore());
        assert!(message.contains(sentence), "{message}");
        assert_eq!(message.is_empty(), sentence.is_empty(), "{message}");
        assert_eq!(drive.queue("read_ahead_kb"), ORIGINAL_READ_AHEAD);
        assert!(!file.exists(), "it is about something that is no more");
    }
}
