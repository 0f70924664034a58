//! Commands that read a file, given something else.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{OutputSandbox, assert_document, exit_code, stderr, stdout};

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
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    assert!(
        Command::new("mkfifo")
            .arg(sandbox.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    fs::create_dir(sandbox.join("directory")).unwrap();
    let _socket = UnixListener::bind(sandbox.join("socket")).unwrap();
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
            let output = sandbox
                .script(r#"timeout 20 "$P" "$@""#)
                .arg("bash")
                .args(&words)
                .output()
                .unwrap();
            let message = stderr(&output);
            assert_eq!(exit_code(&output), 2, "{words:?}: {message}");
            assert!(
                message.contains(why) && message.contains(file),
                "{words:?}: {message}"
            );
            assert_eq!(stdout(&output), "", "{words:?}");
        }
    }
    assert!(!sandbox.join("out.html").exists());
}

#[test]
fn block_device_as_input_is_refused() {
    let Some(device) = LoopDevice::with(&vec![b'{'; 1 << 20]) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    for words in commands_reading(device.path()) {
        let output = sandbox.command(&words).output().unwrap();
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
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    let output = sandbox
        .script(r#""$P" show --json <(cat good.json)"#)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&stdout(&output));
    let output = sandbox
        .script(r#"cat good.json | "$P" show --json /dev/stdin"#)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&stdout(&output));
}

#[test]
fn unreadable_file_in_a_fleet_is_named_and_the_others_are_listed() {
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    assert!(
        Command::new("mkfifo")
            .arg(sandbox.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let words = ["compare", "good.json", "pipe", "--by", "iops"];
    let output = sandbox
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
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    symlink("/proc/uptime", sandbox.join("link")).unwrap();
    for name in [
        "/proc/uptime",
        "/sys/kernel/uevent_seqnum",
        "link",
        "/proc/self/environ",
    ] {
        for command in commands_reading(name) {
            let output = sandbox.command(&command).output().unwrap();
            assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
            let message = stderr(&output);
            assert!(
                message.contains("whose files act on the kernel"),
                "{message}"
            );
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
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    if exit_code(&output) == 7 {
        let reason = "no tracefs instances";
        return crate::requirement::skip(crate::requirement::Requirement::Kernel, reason);
    }
    assert_eq!(stdout(&output), "2\n1 1\n", "{}", stderr(&output));
}

#[test]
fn two_results_with_one_file_are_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    let words = [
        "run",
        "random-read",
        "sim:ssd",
        "--json",
        "both.json",
        "-o",
        "./both.json",
    ];
    let output = sandbox.command(&words).output().unwrap();
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("the same file"));
    assert!(!sandbox.join("both.json").exists());
}
