//! Outputs that cannot be written: known before the run, or without losing its result.

use std::fs;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{
    LONG_RUN, ORDINARY_USER, OutputSandbox, assert_refused, exit_code, is_root, stderr, stdout,
};

#[test]
fn output_below_missing_directory_is_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    assert_refused(
        &sandbox,
        &sandbox.run_to("missing/out.json"),
        "missing/out.json",
    );
    fs::write(sandbox.join("file"), "").unwrap();
    assert_refused(&sandbox, &sandbox.run_to("file/out.json"), "file/out.json");
}

#[test]
fn read_only_file_system_is_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        mkdir "$D/closed"
        mount -t tmpfs -o ro none "$D/closed"
        mountpoint -q "$D/closed"
        exec "$P" $RUN --json "$D/closed/out.json"
    "#;
    if let Some(output) = sandbox.script_in_mount_namespace(script) {
        assert_refused(&sandbox, &output, "Read-only file system");
    }
}

#[test]
fn directory_without_write_permission_is_refused_before_the_run() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let script = r#"
        mount -t tmpfs -o mode=755 none "$D"
        cd "$D" && cp "$P" program && mkdir state && chown 1000:1000 state
        echo before > readonly && chmod 444 readonly && chown 1000 readonly
        for name in out.json readonly; do
            setpriv --reuid 1000 --regid 1000 --clear-groups ./program $RUN --json $name \
                2>&1 || echo $?
        done
        cat readonly
        ls state
    "#;
    if let Some(output) = sandbox.script_in_mount_namespace(script) {
        let message = stdout(&output);
        assert_eq!(message.matches("Permission denied").count(), 2, "{message}");
        assert!(
            message.ends_with("\n2\nbefore\n"),
            "{message} {}",
            stderr(&output)
        );
        assert!(!message.contains("IOPS"), "user {ORDINARY_USER}: {message}");
    }
}

#[test]
fn file_size_limit_is_an_error_and_the_result_is_printed() {
    let sandbox = OutputSandbox::new();
    fs::write(sandbox.join("old.json"), "before").unwrap();
    fs::write(sandbox.join("linked"), "before").unwrap();
    fs::hard_link(sandbox.join("linked"), sandbox.join("linked2")).unwrap();
    for name in ["new.json", "old.json", "linked"] {
        // bash counts blocks of 1024 bytes; the document is longer.
        let script = format!("ulimit -f 2; trap '' PIPE; \"$P\" $RUN --json {name} 2> \"$D/err\"");
        let output = sandbox.script(&script).output().unwrap();
        let message = fs::read_to_string(sandbox.join("err")).unwrap();
        assert_eq!(exit_code(&output), 1, "{message}");
        assert!(message.contains("File too large"), "{message}");
        assert!(stdout(&output).contains("IOPS"), "{}", stdout(&output));
    }
    assert_eq!(
        fs::read_to_string(sandbox.join("old.json")).unwrap(),
        "before"
    );
    assert_eq!(
        fs::read_to_string(sandbox.join("linked")).unwrap(),
        "before"
    );
    assert!(!sandbox.join("new.json").exists());
}

#[test]
fn output_file_created_during_run_is_not_overwritten() {
    for exists in [false, true] {
        let sandbox = OutputSandbox::new();
        fs::create_dir(sandbox.join("scratch")).unwrap();
        let path = sandbox.join("out.json");
        if exists {
            fs::write(&path, "before").unwrap();
        }
        let child = sandbox.command(&LONG_RUN).spawn().unwrap();
        sandbox.wait_for_journal();
        fs::write(sandbox.join("theirs"), "theirs").unwrap();
        fs::rename(sandbox.join("theirs"), &path).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 1, "{message}");
        assert!(message.contains("no longer the same file"), "{message}");
        assert!(
            stdout(&output).contains("INTERRUPTED"),
            "{}",
            stdout(&output)
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(sandbox.file_names("."), ["out.json", "scratch", "state"]);
    }
}

/// A stream that cannot start leaves no file: the same command would be refused because of it afterwards.
#[test]
fn stream_without_the_right_to_trace_leaves_no_file() {
    let Some(device) = LoopDevice::with(&vec![0; 1 << 20]) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    let script = r#"
        mount -t tmpfs -o mode=755 none "$D"
        cd "$D" && cp "$P" program && chown 1000:1000 .
        for command in "trace $DEVICE --json" "watch --by-device --count 1"; do
            setpriv --reuid 1000 --regid 1000 --clear-groups ./program $command -o stream 2>&1 || echo $?
            ls -A stream 2> /dev/null || true
        done
    "#;
    let script = format!("DEVICE={}\n{script}", device.path());
    if let Some(output) = sandbox.script_in_mount_namespace(&script) {
        let message = stdout(&output);
        assert_eq!(message.matches("not permitted").count(), 2, "{message}");
        assert_eq!(message.matches("\n1\n").count(), 2, "{message}");
        assert!(!message.contains("\nstream"), "{message}");
    }
}
