//! Records that somebody else has written: nothing is changed on their word.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::Value;

use crate::settings::sandbox::{ORIGINAL_READ_AHEAD, SettingsSandbox, loop_device, stderr};

/// A record as the program itself would write it, after it had changed 8 KiB to the value that the
/// device has now.
fn valid_record(device: &str) -> Value {
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

/// As under `sudo -E`: root with another user's XDG_STATE_HOME, XDG_RUNTIME_DIR and HOME.
#[test]
fn record_in_another_users_directories_changes_nothing() {
    let (Some(sandbox), Some(drive)) = (SettingsSandbox::new(), loop_device()) else {
        return;
    };
    let theirs = sandbox.path().join("theirs");
    let records = theirs.join("diskscope/settings");
    fs::create_dir_all(&records).unwrap();
    let file = records.join(format!("read-ahead@{}.json", drive.name()));
    fs::write(file, valid_record(drive.name()).to_string()).unwrap();
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

/// What somebody does to the directory of the records and to a record.
type Tamper = fn(&Path, &Path);

const TAMPERED: [(&str, Tamper); 6] = [
    ("belongs to another user", |_, file| {
        chown(file, Some(1000), None).unwrap();
    }),
    ("belongs to another user", |records, _| {
        chown(records, Some(1000), None).unwrap();
    }),
    ("is writable by other users", |records, _| {
        fs::set_permissions(records, fs::Permissions::from_mode(0o770)).unwrap();
    }),
    ("is a symbolic link", |records, _| replace_by_link(records)),
    // The kernel follows no link there.
    ("symbolic links", |_, file| replace_by_link(file)),
    ("has another name", |_, file| {
        fs::hard_link(file, file.with_extension("second")).unwrap();
    }),
];

fn replace_by_link(path: &Path) {
    let moved = path.with_extension("moved");
    fs::rename(path, &moved).unwrap();
    symlink(moved, path).unwrap();
}

#[test]
fn record_that_others_can_write_or_of_something_else_changes_nothing() {
    let Some(drive) = loop_device() else { return };
    // The answer to the next start with a record.
    let start = |record: &Value, tamper: Tamper| {
        let sandbox = SettingsSandbox::new()?;
        let records = sandbox.create_records();
        let file = records.join(format!("read-ahead@{}.json", drive.name()));
        fs::write(&file, record.to_string()).unwrap();
        tamper(&records, &file);
        let message = stderr(&sandbox.start_and_restore());
        Some((message, file.exists(), drive.queue("read_ahead_kb")))
    };
    let valid = valid_record(drive.name());
    for (sentence, tamper) in TAMPERED {
        let Some((message, _, now)) = start(&valid, tamper) else {
            return;
        };
        assert!(message.contains(sentence), "{sentence}: {message}");
        assert_eq!(now, ORIGINAL_READ_AHEAD, "{sentence}");
    }
    // Of another boot, of another device, after another change; no records.
    for (key, value, sentence) in [
        ("boot", "00000000-0000-0000-0000-000000000000".into(), ""),
        ("diskseq", 0.into(), ""),
        ("set_to", 97.into(), ""),
        ("set_to", "96".into(), "is not a record"),
        ("original", "1\n".into(), "is not a record"),
        ("path", "/etc/passwd".into(), "is not a record"),
    ] {
        let mut planted = valid.clone();
        planted[key] = value;
        let (message, exists, now) = start(&planted, |_, _| {}).unwrap();
        assert!(message.contains(sentence), "{key}: {message}");
        assert_eq!(message.is_empty(), sentence.is_empty(), "{message}");
        assert_eq!(now, ORIGINAL_READ_AHEAD);
        // What is about something that is no more goes.
        assert_eq!(exists, !sentence.is_empty());
    }
    let (message, exists, now) = start(&valid, |_, _| {}).unwrap();
    assert_eq!((now.as_str(), exists), ("8\n", false), "{message}");
    assert!(message.contains("read_ahead_kb is 8 again"), "{message}");
}
