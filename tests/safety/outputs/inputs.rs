//! Commands that read a file, given something else.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use crate::loop_device::LoopDevice;
use crate::outputs::sandbox::{OutputSandbox, assert_document};

/// Also what acts on the kernel when it is read.
#[test]
fn unsupported_input_files_are_refused_immediately() {
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    sandbox.script("mkfifo pipe; mkdir directory").assert(0, "");
    let _socket = UnixListener::bind(sandbox.join("socket")).unwrap();
    symlink("/proc/uptime", sandbox.join("link")).unwrap();
    let device = LoopDevice::with(&vec![b'{'; 1 << 20]);
    let mut cases = vec![
        ("pipe", "is a pipe"),
        ("directory", "is a directory"),
        ("socket", "is a socket"),
        ("/dev/zero", "is a character device"),
        ("missing", "No such file"),
        ("good.json/below", "Not a directory"),
        ("link", "whose files act on the kernel"),
        ("/sys/kernel/uevent_seqnum", "whose files act on the kernel"),
    ];
    cases.extend(device.iter().map(|it| (it.path(), "is a block device")));
    for (file, why) in cases {
        for words in [
            "show FILE",
            "compare good.json FILE",
            "report good.json FILE -o -",
            "replay FILE",
        ] {
            // A pipe without a writer would be waited for without an end.
            let words = words.replace("FILE", file);
            let answer = sandbox.script(&format!("timeout 20 \"$P\" {words}"));
            answer.assert(2, why);
            assert!(answer.stderr.contains(file), "{answer:?}");
            assert_eq!(answer.stdout, "", "{words}");
        }
    }
}

#[test]
fn process_substitution_as_input_is_read() {
    let sandbox = OutputSandbox::new();
    sandbox.write_session("good.json");
    for script in [
        r#""$P" show --json <(cat good.json)"#,
        r#"cat good.json | "$P" show --json /dev/stdin"#,
    ] {
        let answer = sandbox.script(script);
        answer.assert(0, "");
        assert_document(&answer.stdout);
    }
}
