//! Names that somebody else made, or can move, in a directory that others can write.

use crate::outputs::privacy::mode;
use crate::outputs::sandbox::{OutputSandbox, assert_document};
use crate::requirement::is_root;

const LINK: &str = "is a symbolic link";
const SHARED: &str = "a symbolic link in a directory that others can write";
const THEIRS: &str = "belongs to user 1000";

/// What is made in a directory where `victim` is a file of root's, as root unless it says `user`; an output, and why it is
/// refused. 9 is an open file of the script's, and `$OTHER` is another process with it.
const PLANTED: &[(&str, &str, &str)] = &[
    // In a directory like /tmp.
    ("mkdir -m 1777 a; user ln -s $D/victim a/x", "a/x", SHARED),
    ("mkdir -m 1777 a; user ln -s $D a/x", "a/x/victim", SHARED),
    ("mkdir -m 1777 a; user ln -s $D/new a/x", "a/x", SHARED),
    ("mkdir -m 1777 a; user touch a/x", "a/x", THEIRS),
    // Made by root; the owner of the directory gave it this name, or moved what it lies in.
    ("mkdir a; ln -s $D/victim a/x; chown 1000 a", "a/x", THEIRS),
    (
        "mkdir -p a/b/c; ln -s ../../../victim a/b/c/x; chown 1000 a",
        "a/b/c/x",
        THEIRS,
    ),
    // The same in a directory that a group, everybody or one on a list can write.
    ("mkdir -m 777 a; ln -s ../victim a/x", "a/x", LINK),
    ("mkdir -m 775 a; ln -s ../victim a/x", "a/x", LINK),
    ("mkdir -m 2775 a; ln -s ../victim a/x", "a/x", LINK),
    ("mkdir -m 1775 a; ln -s ../victim a/x", "a/x", LINK),
    ("mkdir -m 720 a; ln -s ../victim a/x", "a/x", LINK),
    (
        "mkdir -m 755 a; setfacl -m u:1000:rwx a; ln -s ../victim a/x",
        "a/x",
        LINK,
    ),
    (
        "mkdir -m 777 a; mkdir a/b; ln -s ../../victim a/b/x",
        "a/b/x",
        LINK,
    ),
    ("mkdir -m 775 a; touch a/x; chown 1000 a/x", "a/x", THEIRS),
    // Open files of this process and of another one.
    (
        "mkdir a; ln -s /proc/self/fd/9 a/x; chown -h 1000 a a/x",
        "a/x",
        THEIRS,
    ),
    (
        "mkdir a; ln -s /dev/fd/9 a/x; chown -h 1000 a a/x",
        "a/x",
        THEIRS,
    ),
    (
        "mkdir a; ln -s /proc/$OTHER/fd/9 a/x; chown -h 1000 a a/x",
        "a/x",
        THEIRS,
    ),
    (
        "mkdir a; ln -s /proc/$OTHER/cwd a/x; chown -h 1000 a a/x",
        "a/x/victim",
        THEIRS,
    ),
    (
        "mkdir a; ln -s /proc/$OTHER/cwd/new a/x; chown -h 1000 a a/x",
        "a/x",
        THEIRS,
    ),
];

#[test]
fn name_that_another_user_made_or_can_move_is_refused() {
    if !is_root() {
        return;
    }
    for (planted, name, why) in PLANTED {
        let sandbox = OutputSandbox::new();
        sandbox.write("victim", "precious");
        let answer = sandbox.script(&format!(
            "umask 022; chmod 755 .; exec 9<> victim; sleep 60 & OTHER=$!; {planted}
             $P $RUN --json {name}; status=$?; kill $OTHER; exit $status"
        ));
        sandbox.assert_refused(&answer, why);
        assert_eq!(sandbox.read("victim"), "precious", "{planted}");
        assert_eq!(sandbox.file_names(), ["a", "victim"], "{planted}");
    }
}

/// A file of root's own, in a directory that others can write, is made.
#[test]
fn links_beside_an_output_are_not_followed() {
    let sandbox = OutputSandbox::new();
    sandbox.write("victim", "precious");
    let script = r"
        mkdir -m 1777 shared
        ln -s ../victim shared/out.json.partial; ln -s ../victim shared/report.html.partial
        $P $RUN --json shared/out.json && $P report shared/out.json -o shared/report.html
    ";
    sandbox.script(script).assert(0, "");
    assert_eq!(sandbox.read("victim"), "precious");
    assert_document(&sandbox.read("shared/out.json"));
}

#[test]
fn recording_never_opens_existing_file() {
    let sandbox = OutputSandbox::new();
    sandbox.write("victim", "precious");
    let script = "ln -s victim link; ln -s nowhere dangling";
    sandbox.script(script).assert(0, "");
    for name in ["victim", "link"] {
        let answer = sandbox.run(&format!("record {name}"));
        sandbox.assert_refused(&answer, "exists already");
    }
    let words = "record dangling --interval 100ms --duration 100ms";
    sandbox.run(words).assert(0, "");
    assert_eq!(mode(&sandbox.join("nowhere")), 0o600);
    assert_eq!(sandbox.read("victim"), "precious");
}
