//! Commands that read a file, given something else.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::loop_device::LoopDevice;
use crate::outputs::place::{Place, assert_document, exit_code, stderr, stdout};

/// Every command that reads a file the user names, with that file and another one.
fn commands_reading(file: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["show", file],
        vec!["show", "--json", file],
        vec!["compare", file, "good.json"],
        vec!["compare", "good.json", file],
        vec!["report", file, "-o", "out.html"],
        vec!["report", "good.json", file, "-o", "-"],
        vec!["replay", file],
        vec!["replay", "--requests", file],
    ]
}

#[test]
fn unsupported_input_files_are_refused_immediately() {
    let place = Place::new();
    place.write_session("good.json");
    assert!(
        Command::new("mkfifo")
            .arg(place.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    fs::create_dir(place.join("directory")).unwrap();
    let _socket = UnixListener::bind(place.join("socket")).unwrap();
    let cases = [
        ("pipe", "is a pipe"),
        ("directory", "is a directory"),
        ("socket", "is a socket"),
        ("/dev/zero", "is a character device"),
        ("missing", "No such file"),
        ("good.json/below", "Not a directory"),
    ];
    for (file, why) in cases {
        for words in commands_reading(file) {
            // A pipe without a writer would be waited for without an end.
            let output = place
                .script(r#"timeout 20 "$P" "$@""#)
                .arg("bash")
                .args(&words)
                .output()
                .unwrap();
            let told = stderr(&output);
            assert_eq!(exit_code(&output), 2, "{words:?}: {told}");
            assert!(
                told.contains(why) && told.contains(file),
                "{words:?}: {told}"
            );
            assert_eq!(stdout(&output), "", "{words:?}");
        }
    }
    assert!(!place.join("out.html").exists());
}

#[test]
fn block_device_as_input_is_refused() {
    let Some(device) = LoopDevice::with(&vec![b'{'; 1 << 20]) else {
        return;
    };
    let place = Place::new();
    place.write_session("good.json");
    for words in commands_reading(device.path()) {
        let output = place.command(&words).output().unwrap();
        assert_eq!(exit_code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("is a block device"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn process_substitution_as_input_is_read() {
    let place = Place::new();
    place.write_session("good.json");
    let output = place
        .script(r#""$P" show --json <(cat good.json)"#)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&stdout(&output));
    let output = place
        .script(r#"cat good.json | "$P" show --json /dev/stdin"#)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&stdout(&output));
}

#[test]
fn unreadable_file_in_a_fleet_is_named_and_the_others_are_listed() {
    let place = Place::new();
    place.write_session("good.json");
    assert!(
        Command::new("mkfifo")
            .arg(place.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let words = ["compare", "good.json", "pipe", "--by", "iops"];
    let output = place
        .script(r#"timeout 20 "$P" "$@""#)
        .arg("bash")
        .args(words)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 1, "{}", stderr(&output));
    assert!(stdout(&output).contains("is a pipe"), "{}", stdout(&output));
}

/// Reading these acts on the kernel: procfs, sysfs, and a trace, of which reading takes the events.
#[test]
fn input_whose_reading_acts_on_the_kernel_is_refused() {
    let place = Place::new();
    place.write_session("good.json");
    symlink("/proc/uptime", place.join("link")).unwrap();
    for name in [
        "/proc/uptime",
        "/sys/kernel/uevent_seqnum",
        "link",
        "/proc/self/environ",
    ] {
        for command in commands_reading(name) {
            let output = place.command(&command).output().unwrap();
            assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
            let told = stderr(&output);
            assert!(told.contains("whose files act on the kernel"), "{told}");
        }
    }
    let script = r#"
        mkdir t; mount -t tracefs none t || exit 7
        instance=t/instances/$(basename "$D"); mkdir "$instance" || exit 7
        echo marked > "$instance/trace_marker"
        before=$(grep -c marked "$instance/trace")
        "$P" show "$instance/trace_pipe" 2> err || echo $?
        after=$(grep -c marked "$instance/trace")
        rmdir "$instance"; umount t
        echo $before $after
    "#;
    let Some(output) = place.script_in_mount_namespace(script) else {
        return;
    };
    if exit_code(&output) == 7 {
        let reason = "no tracefs instances";
        return crate::requirement::skip(crate::requirement::Requirement::Kernel, reason);
    }
    assert_eq!(stdout(&output), "2\n1 1\n", "{}", stderr(&output));
}
