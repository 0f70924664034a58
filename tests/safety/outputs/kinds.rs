//! What an output leads to: devices, pipes, directories, descriptors.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{
    OutputSandbox, assert_document, assert_refused, exit_code, stderr, stdout,
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
}

#[test]
fn inherited_descriptor_as_output_is_appended() {
    let sandbox = OutputSandbox::new();
    let script = r#"echo before > log; "$P" $RUN --json /proc/self/fd/3 3>> log"#;
    let output = sandbox.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let log = fs::read_to_string(sandbox.join("log")).unwrap();
    assert_document(log.strip_prefix("before\n").unwrap());
    assert!(stdout(&output).contains("IOPS"));
}

#[test]
fn foreign_or_read_only_output_descriptor_is_refused() {
    let sandbox = OutputSandbox::new();
    // procfs has no names that could be replaced.
    let refused = |name: &str, why| assert_refused(&sandbox, &sandbox.run_to(name), why);
    refused("/proc/self/fd/77", "/proc/self/fd/77");
    refused("/proc/self/fd/0", "open for reading only");
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
fn output_that_is_the_image_of_the_target_is_refused() {
    let content = vec![0x5a; 1 << 20];
    let Some(device) = LoopDevice::with(&content) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    let image = device.file().to_str().unwrap();
    let words = [
        "run",
        "random-read",
        device.path(),
        "--requests",
        "10",
        "--json",
        image,
    ];
    let output = sandbox.command(&words).output().unwrap();
    assert_refused(&sandbox, &output, "is attached to");
    assert!(fs::read(device.file()).unwrap() == content);
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
            "$P" report "$D/s.json" -o - > /proc/sys/kernel/hostname 2>> "$D/err"; echo $?
            hostname'
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    let message = fs::read_to_string(sandbox.join("err")).unwrap_or_default();
    let expected = "2\n".repeat(8) + "before\n";
    assert_eq!(stdout(&output), expected, "{message}{}", stderr(&output));
    assert!(message.contains("is in procfs, whose files act on the kernel"));
    assert!(message.contains("is in sysfs, whose files act on the kernel"));
}

#[test]
fn file_in_use_as_medium_is_refused_as_output() {
    let content = vec![0x5a; 1 << 20];
    let Some(device) = LoopDevice::with(&content) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    sandbox.write_session("s.json");
    // The second one is written in place, the others would be replaced.
    fs::hard_link(device.file(), sandbox.join("linked")).unwrap();
    let script = r#"
        for name in "$IMAGE" linked; do
            "$P" $RUN --json "$name" 2>> err; echo $?
            "$P" report s.json -o "$name" 2>> err; echo $?
        done
        "$P" report s.json -o /dev/fd/5 5<> linked 2>> err; echo $?
        "$P" report s.json -o - 1<> linked 2>> err; echo $? >&2
    "#;
    let output = sandbox
        .script(script)
        .env("IMAGE", device.file())
        .output()
        .unwrap();
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), "2\n".repeat(5), "{message}");
    assert_eq!(stderr(&output), "2\n", "{message}");
    assert_eq!(message.matches("is not written: ").count(), 6, "{message}");
    assert!(message.contains("loop"), "{message}");
    assert!(fs::read(device.file()).unwrap() == content);
    assert_eq!(sandbox.saved_session_count(), 1, "nothing was measured");
}

#[test]
fn image_in_use_or_with_data_is_not_made_a_ring() {
    // The size of the file of `--ring 4MB`.
    const RING_BYTES: usize = 3_936_256;
    let zeros = vec![0; RING_BYTES];
    let Some(device) = LoopDevice::with(&zeros) else {
        return;
    };
    let sandbox = OutputSandbox::new();
    let mut image = zeros.clone();
    image[1024..].fill(0x5a);
    fs::write(sandbox.join("image"), &image).unwrap();
    let script = r#"
        for name in "$IMAGE" image; do
            "$P" record "$name" --ring 4MB --interval 100ms --duration 100ms 2>> err; echo $?
        done
        : > foreign && chown 1000 foreign
        "$P" record foreign --ring 4MB --interval 100ms --duration 100ms 2>> err; echo $?
    "#;
    let output = sandbox
        .script(script)
        .env("IMAGE", device.file())
        .output()
        .unwrap();
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), "2\n".repeat(3), "{message}");
    for reason in [
        "loop",
        "does not begin with DSKSRING",
        "belongs to user 1000",
    ] {
        assert!(message.contains(reason), "{reason}: {message}");
    }
    assert!(fs::read(device.file()).unwrap() == zeros);
    assert!(fs::read(sandbox.join("image")).unwrap() == image);
    assert_eq!(fs::metadata(sandbox.join("foreign")).unwrap().len(), 0);
}

#[test]
fn file_that_a_server_in_user_space_has_open_is_refused_as_output() {
    if !crate::outputs::sandbox::is_root() {
        return;
    }
    if !std::path::Path::new("/dev/fuse").exists() {
        let fuse = crate::requirement::Requirement::Fuse;
        return crate::requirement::skip(fuse, "no /dev/fuse");
    }
    let sandbox = OutputSandbox::new();
    // What makes a process a server is that it has the device open; its mount may be in another namespace.
    let script = r#"
        echo image > image && ln image other
        sleep 60 4< image &
        reader=$!
        "$P" config -o other; echo $?
        echo image > image
        sleep 60 3< /dev/fuse 4<> image &
        server=$!
        for name in image other; do "$P" config -o $name 2>> err; echo $?; done
        kill $server
        wait $server 2> /dev/null
        cat image
        "$P" config -o image; echo $?
        kill $reader
    "#;
    let output = sandbox.script(script).output().unwrap();
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), "0\n2\n2\nimage\n0\n", "{message}");
    assert!(message.contains("(sleep) has other open"), "{message}");
}

#[test]
fn swap_file_as_output_is_refused() {
    if !crate::outputs::sandbox::is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let script = r#"
        head -c 1M /dev/zero > swap && chmod 600 swap && mkswap swap > mkswap 2>&1 || exit 9
        swapon swap 2> swapon || exit 9
        "$P" $RUN --json swap 2> err; echo $?
        swapoff swap
    "#;
    let output = sandbox.script(script).output().unwrap();
    if exit_code(&output) == 9 {
        let why = fs::read_to_string(sandbox.join("swapon")).unwrap_or_default();
        crate::requirement::skip(crate::requirement::Requirement::Swap, why.trim());
        return;
    }
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), "2\n", "{message}");
    assert!(message.contains("swap"), "{message}");
}
