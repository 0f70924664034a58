//! What an output leads to: devices, pipes, directories, descriptors.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{
    ORDINARY_USER, OutputSandbox, assert_document, assert_refused, exit_code, is_root, stderr,
    stdout,
};

#[test]
fn character_device_as_output_is_not_replaced() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        ln -s null /dev/link
        before=$(stat -c '%n %F %t:%T' /dev/*)
        for name in null full random link; do
            "$P" $RUN --json /dev/$name > "$D/$name.out" 2> "$D/$name.err"
            echo $name $? $(grep -c IOPS "$D/$name.out")
        done
        "$P" $RUN --json "$D/one.json" > "$D/text" 2>&1
        "$P" report "$D/one.json" -o /dev/null 2>&1
        [ "$before" = "$(stat -c '%n %F %t:%T' /dev/*)" ] && echo unchanged
    "#;
    let Some(output) = sandbox.with_private_dev(None, script) else {
        return;
    };
    let expected = "null 0 1\nfull 1 1\nrandom 2 0\nlink 0 1\n\
        report written to /dev/null\nunchanged\n";
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    let full = fs::read_to_string(sandbox.join("full.err")).unwrap();
    assert!(full.contains("No space left"), "{full}");
    assert!(full.contains("saved: "), "{full}");
    let random = fs::read_to_string(sandbox.join("random.err")).unwrap();
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
            "$P" $RUN --json /dev/$name 2> "$D/err"
            echo $? $(grep -c 'is a block device' "$D/err")
            "$P" report "$D/s.json" -o /dev/$name 2> "$D/err"
            echo $? $(grep -c 'is a block device' "$D/err")
        done
        [ "$before" = "$(stat -c '%n %F %t:%T' /dev/*)" ] && echo unchanged
    "#;
    let Some(output) = sandbox.with_private_dev(Some(&device), script) else {
        return;
    };
    let expected = "2 1\n".repeat(6) + "unchanged\n";
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    assert_eq!(sandbox.saved_session_count(), 1, "nothing was measured");
    assert!(fs::read(device.file()).unwrap() == content);
}

#[test]
fn directory_and_socket_as_output_are_refused() {
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("directory")).unwrap();
    let _socket = UnixListener::bind(sandbox.join("socket")).unwrap();
    for name in [
        "directory",
        "directory/",
        ".",
        "/",
        "new/",
        "directory/..",
        "",
    ] {
        let output = sandbox.run_to(name);
        assert_eq!(exit_code(&output), 2, "{name}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert_refused(&sandbox, &sandbox.run_to("directory"), "is a directory");
    assert_refused(&sandbox, &sandbox.run_to("socket"), "is a socket");
}

#[test]
fn process_substitution_as_output_receives_the_document() {
    let sandbox = OutputSandbox::new();
    let script =
        r#""$P" $RUN --json >(cat > "$D/copy") > "$D/text"; status=$?; wait $!; exit $status"#;
    let output = sandbox.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(sandbox.join("copy")).unwrap());
    assert!(
        fs::read_to_string(sandbox.join("text"))
            .unwrap()
            .contains("IOPS")
    );
}

#[test]
fn named_pipe_as_output_is_written_into() {
    let sandbox = OutputSandbox::new();
    let pipe = sandbox.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut text = String::new();
            fs::File::open(pipe)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            text
        }
    });
    let output = sandbox.run_to("pipe");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&reader.join().unwrap());
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn named_pipe_without_reader_is_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    let output = sandbox
        .script(r#"mkfifo pipe && "$P" $RUN --json pipe"#)
        .output()
        .unwrap();
    assert_refused(&sandbox, &output, "start a program that reads pipe first");
}

#[test]
fn dev_stdout_as_output_receives_only_document() {
    let sandbox = OutputSandbox::new();
    assert_document(&stdout(&sandbox.run_to("-")));
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let script = format!(r#""$P" $RUN --json {name}; [ -h /dev/stdout ] || echo replaced"#);
        let Some(output) = sandbox.with_private_dev(None, &script) else {
            return;
        };
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_document(&stdout(&output));
    }
    let script = r#""$P" $RUN --json /dev/stdout >> log && "$P" report log -o /dev/fd/3 3>> log"#;
    let output = sandbox.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
    assert_document(&fs::read_to_string(sandbox.join("log")).unwrap());
}

#[test]
fn output_that_is_the_target_is_refused() {
    let sandbox = OutputSandbox::new();
    let content = vec![7; 1 << 20];
    fs::write(sandbox.join("data"), &content).unwrap();
    fs::hard_link(sandbox.join("data"), sandbox.join("other")).unwrap();
    for output in ["data", "other", "./data"] {
        let words = [
            "run",
            "random-write",
            "data",
            "--overwrite",
            "data",
            "--requests",
            "10",
            "--json",
            output,
        ];
        let output = sandbox.command(&words).output().unwrap();
        assert_refused(&sandbox, &output, "also an output of this command");
    }
    assert!(fs::read(sandbox.join("data")).unwrap() == content);
}

#[test]
fn report_onto_its_own_input_is_refused() {
    let sandbox = OutputSandbox::new();
    let session = sandbox.write_session("s.json");
    let other = sandbox.write_session("t.json");
    std::os::unix::fs::symlink("s.json", sandbox.join("link")).unwrap();
    fs::hard_link(&session, sandbox.join("hard")).unwrap();
    let before = fs::read(&session).unwrap();
    for name in ["s.json", "./s.json", "link", "hard"] {
        let words = ["report", other.to_str().unwrap(), "s.json", "-o", name];
        let output = sandbox.command(&words).output().unwrap();
        assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
        assert!(
            stderr(&output).contains("also an input"),
            "{}",
            stderr(&output)
        );
    }
    let output = sandbox
        .script(r#""$P" report s.json -o - >> s.json"#)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
    assert!(fs::read(&session).unwrap() == before);
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
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    let message = fs::read_to_string(sandbox.join("err")).unwrap_or_default();
    let expected = "2\n".repeat(7) + "before\n";
    assert_eq!(stdout(&output), expected, "{message}{}", stderr(&output));
}

#[test]
fn file_or_directory_of_others_is_not_made_a_ring() {
    let sandbox = OutputSandbox::new();
    fs::write(sandbox.join("image"), "precious").unwrap();
    symlink(sandbox.path(), sandbox.join("link")).unwrap();
    let directory = |name: &str, mode| {
        fs::create_dir(sandbox.join(name)).unwrap();
        fs::set_permissions(sandbox.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    directory("shared", 0o777);
    directory("foreign", 0o755);
    let mut cases = vec![
        ("image", "a symbolic link, or no directory"),
        ("link", "a symbolic link, or no directory"),
        ("shared", "writable by other users"),
        (".", "is no ring: it holds other files"),
    ];
    if is_root() {
        chown(sandbox.join("foreign"), Some(ORDINARY_USER), None).unwrap();
        cases.push(("foreign", "belongs to another user"));
    }
    for (name, why) in cases {
        let options = ["--ring", "4MB", "--duration", "100ms"];
        let path = sandbox.join(name);
        let words = [&["record", path.to_str().unwrap()][..], &options].concat();
        assert_refused(&sandbox, &sandbox.command(&words).output().unwrap(), why);
    }
    assert_eq!(
        fs::read_to_string(sandbox.join("image")).unwrap(),
        "precious"
    );
    for name in ["shared", "foreign"] {
        assert_eq!(fs::read_dir(sandbox.join(name)).unwrap().count(), 0);
    }
}
