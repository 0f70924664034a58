//! Outputs that cannot be written: known before the run, or without losing its result.

use std::fs;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{
    LONG_RUN, ORDINARY_USER, OutputSandbox, assert_document, assert_refused, exit_code, is_root,
    stderr, stdout,
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
fn in_place_output_on_full_file_system_is_unchanged() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        mkdir "$D/small" && mount -t tmpfs -o size=64k,mode=755 none "$D/small"
        mountpoint -q "$D/small"
        cd "$D/small"
        echo before > one && ln one two
        head -c 1M /dev/zero > filler 2> /dev/null || true
        status=0
        "$P" $RUN --json one > "$D/out" || status=$?
        cat two
        exit $status
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    assert_eq!(exit_code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("No space"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "before\n");
    assert!(
        fs::read_to_string(sandbox.join("out"))
            .unwrap()
            .contains("IOPS")
    );
}

/// A lease, as an NFS server holds it for a client that caches the file: it is released a while after
/// it is asked for.
#[test]
fn output_with_a_lease_is_written_after_its_release() {
    let sandbox = OutputSandbox::new();
    // F_SETLEASE is 1024, F_WRLCK 1 and F_UNLCK 2.
    let script = r#"
        echo before > "$D/out.json"
        perl -e '
            open(my $file, "+<", "out.json") or die;
            $SIG{IO} = sub { sleep 1; fcntl($file, 1024, 2); print "released\n"; exit };
            fcntl($file, 1024, 1) or die;
            $| = 1;
            print "held\n";
            sleep 100 while 1;
        ' > "$D/said" &
        until grep -q held "$D/said"; do sleep 0.1; done
        "$P" $RUN --json "$D/out.json"
        status=$?
        wait
        cat "$D/said"
        exit $status
    "#;
    let output = sandbox.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).ends_with("held\nreleased\n"));
    assert_document(&fs::read_to_string(sandbox.join("out.json")).unwrap());
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

/// ext2 has no fallocate: only writing shows whether there is room.
#[test]
fn in_place_output_without_fallocate_is_unchanged_on_failure() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        truncate -s 2M image && mkfs.ext2 -q -m 0 -b 1024 image || exit 9
        mkdir small && mount -o loop image small 2> err || exit 9
        mountpoint -q small
        yes "what was there before" | head -c "$LENGTH" > before
        cp before small/one && ln small/one small/two
        try() {
            status=0
            "$@" 2>> err > text || status=$?
            cmp small/two before > /dev/null && echo $status kept || echo $status lost
        }
        try bash -c "ulimit -f 4; trap '' PIPE; exec \"$P\" $RUN --json small/one"
        dd if=/dev/zero of=small/reserve bs=1k count=3 2> /dev/null
        dd if=/dev/zero of=small/filler bs=1k 2> /dev/null || true
        rm small/reserve
        try "$P" $RUN --json small/one
        umount small
    "#;
    for length in [20, 3000] {
        let script = script.replace("$LENGTH", &length.to_string());
        let Some(output) = sandbox.script_in_mount_namespace(&script) else {
            return;
        };
        let message = fs::read_to_string(sandbox.join("err")).unwrap_or_default();
        if exit_code(&output) == 9 {
            crate::requirement::skip(crate::requirement::Requirement::Loop, message.trim());
            return;
        }
        assert_eq!(
            stdout(&output),
            "1 kept\n1 kept\n",
            "{message}{}",
            stderr(&output)
        );
        assert!(message.contains("File too large"), "{message}");
        assert!(message.contains("No space"), "{message}");
        for name in ["small", "image"] {
            let path = sandbox.join(name);
            let _ = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

/// btrfs writes no block in place: writing over what is there needs space too, and so does putting it
/// back.
#[test]
fn in_place_output_on_almost_full_copy_on_write_file_system_is_unchanged() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        "$P" run survey sim:ssd --json 1 > text
        for copy in $(seq 2 30); do cp 1 $copy; done
        truncate -s 200M image && mkdir m && mkfs.btrfs -q image > text && mount -o loop image m || exit 9
        mountpoint -q m
        head -c 16M /dev/urandom > m/one && ln m/one m/two && cp m/one before
        sync
        head -c 1M /dev/zero > m/room && sync
        dd if=/dev/zero of=m/filler bs=64k 2> text || true
        dd if=/dev/zero of=m/filler2 bs=4k 2> text || true
        sync
        rm m/room && sync && btrfs filesystem sync m > text
        status=0
        "$P" report $(seq 30) -o m/one || status=$?
        cmp before m/two
        umount m
        exit $status
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    if exit_code(&output) == 9 {
        return crate::requirement::skip(crate::requirement::Requirement::Btrfs, stderr(&output));
    }
    assert_eq!(stdout(&output), "", "{}", stderr(&output));
    assert_eq!(exit_code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("No space"), "{}", stderr(&output));
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
