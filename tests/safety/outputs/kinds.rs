//! What an output leads to: devices, pipes, directories, descriptors, what cannot be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;

use rustix::process::{Pid, Signal, kill_process};

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{Answer, OutputSandbox, assert_document};
use crate::requirement::is_root;

#[test]
fn character_device_as_output_is_not_replaced() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        ln -s null /dev/link
        before=$(stat -c '%n %F %t:%T' /dev/*)
        for name in null full random link; do
            status=0
            "$P" $RUN --json /dev/$name > "$D/text" 2> "$D/$name.err" || status=$?
            echo $name $status $(grep -c IOPS "$D/text")
        done
        "$P" $RUN --json "$D/one.json" > "$D/text"
        "$P" report "$D/one.json" -o /dev/null 2>&1
        [ "$before" = "$(stat -c '%n %F %t:%T' /dev/*)" ] && echo unchanged
    "#;
    let Some(answer) = sandbox.script_with_dev(None, script) else {
        return;
    };
    let expected = "null 0 1\nfull 1 1\nrandom 2 0\nlink 0 1\n\
        report written to /dev/null\nunchanged\n";
    assert_eq!(answer.stdout, expected, "{answer:?}");
    let full = sandbox.read("full.err");
    assert!(full.contains("No space left"), "{full}");
    assert!(full.contains("saved: "), "{full}");
    let random = sandbox.read("random.err");
    assert!(random.contains("a character device other than"), "{random}");
}

#[test]
fn block_device_as_output_is_refused_and_keeps_its_bytes() {
    let content = vec![0x5a; 1 << 20];
    let Some(device) = LoopDevice::with(&content) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    sandbox.write_session("s.json");
    let script = r#"
        ln -s /dev/loop$LOOP /dev/link
        mknod "/dev/other" b 7 $LOOP
        before=$(stat -c '%n %F %t:%T' /dev/*)
        for name in loop$LOOP link other; do
            for command in "$RUN --json" "report $D/s.json -o"; do
                "$P" $command /dev/$name 2> "$D/err" || echo $? $(grep -c 'is a block device' "$D/err")
            done
        done
        [ "$before" = "$(stat -c '%n %F %t:%T' /dev/*)" ] && echo unchanged
    "#;
    let Some(answer) = sandbox.script_with_dev(Some(&device), script) else {
        return;
    };
    let expected = "2 1\n".repeat(6) + "unchanged\n";
    assert_eq!(answer.stdout, expected, "{answer:?}");
    assert_eq!(sandbox.saved_session_count(), 1, "nothing was measured");
    assert!(fs::read(device.file()).unwrap() == content);
}

#[test]
fn what_is_no_output_is_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    let script =
        "chmod 755 .; mkfifo pipe; mkdir directory at; touch file at/out; cp \"$P\" program";
    sandbox.script(script).assert(0, "");
    let _socket = UnixListener::bind(sandbox.join("socket")).unwrap();
    for (name, why) in [
        ("directory", "is a directory"),
        ("directory/", ""),
        (".", ""),
        ("/", ""),
        ("new/", ""),
        ("directory/..", ""),
        ("", ""),
        ("socket", "is a socket"),
        ("missing/out.json", "missing/out.json"),
        ("file/out.json", "file/out.json"),
        ("pipe", "start a program that reads pipe first"),
    ] {
        sandbox.assert_refused(&sandbox.run_to(name), why);
    }
    let both = "run random-read sim:ssd --json both.json -o ./both.json";
    sandbox.assert_refused(&sandbox.run(both), "the same file");
    assert!(!sandbox.join("both.json").exists());
    // What the kernel refuses, and mount points; as root, or as an ordinary user.
    for (script, user, why) in [
        ("mount -t tmpfs -o ro none at", "", "Read-only file system"),
        ("mount --bind file at/out", "", "a mount point"),
        ("chown 1000 at/out", "user", "Permission denied"),
        ("rm at/out", "user", "Permission denied"),
    ] {
        let script = format!("{script}; {user} ./program $RUN --json at/out");
        if let Some(answer) = sandbox.script_with_mounts(&script) {
            sandbox.assert_refused(&answer, why);
        }
    }
    assert!(!sandbox.join("at/out").exists());
}

#[test]
fn pipes_and_descriptors_as_output_receive_only_the_document() {
    let sandbox = OutputSandbox::new();
    assert_document(&sandbox.run_to("-").stdout);
    for script in [
        r#""$P" $RUN --json >(cat > copy) > text; status=$?; wait $!; exit $status"#,
        r#"mkfifo pipe; cat pipe > copy & "$P" $RUN --json pipe > text && wait $! && [ -p pipe ]"#,
        r#""$P" $RUN --json /dev/stdout >> log && cp log copy && "$P" $RUN > text"#,
    ] {
        sandbox.script(script).assert(0, "");
        assert_document(&sandbox.read("copy"));
        assert!(sandbox.read("text").contains("IOPS"), "{script}");
    }
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let script = format!(r#""$P" $RUN --json {name}; [ -h /dev/stdout ] || echo replaced"#);
        let Some(answer) = sandbox.script_with_dev(None, &script) else {
            return;
        };
        answer.assert(0, "");
        assert_document(&answer.stdout);
    }
}

#[test]
fn output_that_the_command_reads_or_writes_is_refused() {
    let sandbox = OutputSandbox::new();
    let content = vec![7; 1 << 20];
    let data = sandbox.write("data", &content);
    fs::hard_link(data, sandbox.join("other")).unwrap();
    for output in ["data", "other", "./data"] {
        let words = "run random-write data --overwrite data --requests 10 --json";
        let answer = sandbox.run(&format!("{words} {output}"));
        sandbox.assert_refused(&answer, "also an output of this command");
    }
    assert!(fs::read(sandbox.join("data")).unwrap() == content);
    let session = sandbox.write_session("s.json");
    sandbox.write_session("t.json");
    symlink("s.json", sandbox.join("link")).unwrap();
    fs::hard_link(session, sandbox.join("hard")).unwrap();
    let before = sandbox.read("s.json");
    for name in ["s.json", "./s.json", "link", "hard"] {
        let answer = sandbox.run(&format!("report t.json s.json -o {name}"));
        answer.assert(2, "also an input");
    }
    for script in [
        r#""$P" report s.json -o - >> s.json"#,
        r#""$P" report s.json -o /dev/fd/3 3>> s.json"#,
    ] {
        sandbox.script(script).assert(2, "");
    }
    assert_eq!(sandbox.read("s.json"), before);
}

#[test]
fn kernel_files_as_output_are_refused() {
    let sandbox = OutputSandbox::new();
    sandbox.write_session("s.json");
    // A host name and mounts of the script's own.
    let script = r#"
        exec unshare --uts bash -euc '
            hostname before
            mkdir "$D/tree" && mount -t sysfs none "$D/tree" && mountpoint -q "$D/tree"
            touch "$D/bound" && mount --bind /proc/sys/kernel/hostname "$D/bound"
            set +e
            for name in /proc/sys/kernel/hostname /proc/self/comm /proc/thread-self/comm \
                "$D/tree/kernel/mm/ksm/run" "$D/tree/new" "$D/bound"; do
                "$P" report "$D/s.json" -o "$name" 2>> "$D/err"; echo $?
            done
            "$P" report "$D/s.json" -o /dev/fd/7 7> /proc/sys/kernel/hostname 2>> "$D/err"; echo $?
            hostname'
    "#;
    let Some(answer) = sandbox.script_with_mounts(script) else {
        return;
    };
    let expected = "2\n".repeat(7) + "before\n";
    assert_eq!(answer.stdout, expected, "{}{answer:?}", sandbox.read("err"));
}

#[test]
fn file_or_directory_of_others_is_not_made_a_ring() {
    let sandbox = OutputSandbox::new();
    sandbox.write("image", "precious");
    symlink(sandbox.join("state"), sandbox.join("link")).unwrap();
    for (name, mode) in [("shared", 0o777), ("foreign", 0o755)] {
        fs::create_dir(sandbox.join(name)).unwrap();
        fs::set_permissions(sandbox.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut cases = vec![
        ("image", "a symbolic link, or no directory"),
        ("link", "a symbolic link, or no directory"),
        ("shared", "writable by other users"),
        (".", "is no ring: it holds other files"),
    ];
    if is_root() {
        chown(sandbox.join("foreign"), Some(1000), None).unwrap();
        cases.push(("foreign", "belongs to another user"));
    }
    for (name, why) in cases {
        let answer = sandbox.run(&format!("record {name} --ring 4MB --duration 100ms"));
        sandbox.assert_refused(&answer, why);
    }
    assert_eq!(sandbox.read("image"), "precious");
    for name in ["shared", "foreign"] {
        assert_eq!(fs::read_dir(sandbox.join(name)).unwrap().count(), 0);
    }
}

#[test]
fn file_size_limit_is_an_error_and_the_result_is_printed() {
    let sandbox = OutputSandbox::new();
    let linked = sandbox.write("linked", "before");
    fs::hard_link(linked, sandbox.join("linked2")).unwrap();
    sandbox.write("old.json", "before");
    for name in ["new.json", "old.json", "linked"] {
        // bash counts blocks of 1024 bytes; the document is longer.
        let answer = sandbox.script(&format!(
            "ulimit -f 2; trap '' PIPE; \"$P\" $RUN --json {name} 2> err; s=$?; cat err >&2; exit $s"
        ));
        answer.assert(1, "File too large");
        assert!(answer.stdout.contains("IOPS"), "{answer:?}");
    }
    assert_eq!(sandbox.read("old.json"), "before");
    assert_eq!(sandbox.read("linked"), "before");
    assert!(!sandbox.join("new.json").exists());
}

#[test]
fn output_file_created_during_run_is_not_overwritten() {
    for exists in [false, true] {
        let sandbox = OutputSandbox::new();
        fs::create_dir(sandbox.join("scratch")).unwrap();
        if exists {
            sandbox.write("out.json", "before");
        }
        let words = "run random-read scratch --scratch-size 16MiB --duration 60s --json out.json";
        let child = sandbox.command(words).spawn().unwrap();
        let journal = sandbox.wait_for_journal();
        assert_eq!(super::privacy::mode(&journal), 0o600);
        let theirs = sandbox.write("theirs", "theirs");
        fs::rename(theirs, sandbox.join("out.json")).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let answer = Answer::new(child.wait_with_output().unwrap());
        answer.assert(1, "no longer the same file");
        assert!(answer.stdout.contains("INTERRUPTED"), "{answer:?}");
        assert_eq!(sandbox.read("out.json"), "theirs");
        assert_eq!(sandbox.file_names(), ["out.json", "scratch", "state"]);
    }
}
