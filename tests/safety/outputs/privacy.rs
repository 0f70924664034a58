//! Who may read what the program keeps, and where it keeps it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::outputs::sandbox::OutputSandbox;
use crate::requirement::is_root;

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Every file and directory below, with owner and mode.
fn owners_and_modes_below(path: &Path) -> Vec<(String, u32, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let entry = entry.unwrap();
        let facts = entry.metadata().unwrap();
        let name = entry.file_name().into_string().unwrap();
        found.push((name, facts.uid(), facts.mode() & 0o7777));
        if facts.is_dir() {
            found.extend(owners_and_modes_below(&entry.path()));
        }
    }
    found
}

#[test]
fn kept_files_are_private_and_outputs_respect_the_umask() {
    for (umask, output_mode) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        let sandbox = OutputSandbox::new();
        let script = format!(
            "umask {umask}; \"$P\" $RUN --json out && \
             \"$P\" record day.rec --interval 100ms --duration 100ms"
        );
        sandbox.script(&script).assert(0, "");
        assert_eq!(mode(&sandbox.join("out")), output_mode);
        assert_eq!(mode(&sandbox.join("day.rec")), 0o600, "{umask}");
        assert_eq!(mode(&sandbox.join("state/diskscope")), 0o700, "{umask}");
        let kept = owners_and_modes_below(&sandbox.join("state/diskscope"));
        assert_eq!(kept.len(), 2, "{kept:?}");
        for (name, _, mode) in kept {
            let expected = if name == "sessions" { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{umask} {name}");
        }
    }
}

const HOME: &str = "/home/.local/state/diskscope/";
const PASSWORD_FILE: &str = "/roots/.local/state/diskscope/";
const NOWHERE: &str = "the session is not saved";

/// What is done as root, unless it says `user`, in a directory with `home`, where HOME leads, `roots`, which the
/// password file gives, `etc`, and `theirs`, which is another user's; and where root keeps its state then.
const STATES: &[(&str, &str)] = &[
    // The way is root's own, also through links and a directory like /tmp.
    ("ln -s $D/etc home/.local", HOME),
    ("ln -s ../etc/../etc home/.local", HOME),
    ("chmod 1777 home", HOME),
    (
        "chmod 1777 home; mkdir -m 755 home/.local; mkdir -m 700 home/.local/state",
        HOME,
    ),
    // HOME is a directory like /tmp, in which another user was first.
    (
        "chmod 1777 home; user mkdir home/.local; user ln -s $D/etc home/.local/state",
        PASSWORD_FILE,
    ),
    (
        "chmod 1777 home; user ln -s $D/etc home/.local",
        PASSWORD_FILE,
    ),
    (
        "chmod 1777 home; user mkdir -p home/.local/state",
        PASSWORD_FILE,
    ),
    ("chmod 777 home", PASSWORD_FILE),
    ("chmod 775 home", PASSWORD_FILE),
    // HOME, or a part of it, is another user's, whatever it leads to, or is not there.
    ("export HOME=$D/theirs", PASSWORD_FILE),
    ("export HOME=$D/missing", PASSWORD_FILE),
    (
        "ln -s $D/etc theirs/home; export HOME=$D/theirs/home",
        PASSWORD_FILE,
    ),
    (
        "user ln -s $D/etc theirs/home; export HOME=$D/theirs/home",
        PASSWORD_FILE,
    ),
    (
        "mkdir theirs/home; export HOME=$D/theirs/home",
        PASSWORD_FILE,
    ),
    (
        "chmod 1777 home; user ln -s $D/etc home/x; export XDG_STATE_HOME=$D/home/x HOME=$D/theirs",
        PASSWORD_FILE,
    ),
    (
        "export XDG_STATE_HOME=$D/theirs/new HOME=$D/theirs",
        PASSWORD_FILE,
    ),
    // Another user made the directory itself.
    (
        "chmod 1777 home; user mkdir home/x home/x/diskscope; chown root home/x; export XDG_STATE_HOME=$D/home/x",
        NOWHERE,
    ),
    // No other place either.
    ("home_is $D/theirs; export HOME=$D/theirs", NOWHERE),
];

/// Somebody else made a directory or link on the way, or can: nothing is written there.
#[test]
fn state_of_root_is_kept_only_where_nobody_else_decides() {
    if !is_root() {
        return;
    }
    for (script, place) in STATES {
        let sandbox = OutputSandbox::new();
        let script = format!(
            r#"
            umask 022; chmod 755 .; mkdir home roots theirs etc; chown 1000:1000 theirs
            unset XDG_STATE_HOME
            export HOME="$D/home"
            home_is "$D/roots"
            {script}
            "$P" $RUN
            "#
        );
        let Some(answer) = sandbox.script_with_mounts(&script) else {
            return;
        };
        answer.assert(0, place);
        let found: Vec<_> = ["etc", "theirs", "home", "missing"]
            .map(|name| owners_and_modes_below(&sandbox.join(name)))
            .concat();
        let sessions = found.iter().any(|(name, ..)| name == "sessions");
        assert_eq!(sessions, *place == HOME, "{script}: {found:?}");
        assert!(!sandbox.join("missing").exists());
    }
}

/// Where root has no other place either, nothing is kept: what lies there is neither removed nor
/// closed.
#[test]
fn directory_of_root_that_another_user_moved_is_left_as_it_is() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        umask 022; chmod 755 .; mkdir -p theirs/project/sessions; chown 1000 theirs
        home_is "$D/theirs"
        name=2026-01-01T000000-random-read.json.partial
        echo precious > theirs/project/sessions/$name
        touch -d '-1 hour' theirs/project/sessions/$name
        user mv theirs/project theirs/diskscope
        export XDG_STATE_HOME="$D/theirs" HOME="$D/theirs"
        "$P" $RUN
    "#;
    let Some(answer) = sandbox.script_with_mounts(script) else {
        return;
    };
    answer.assert(0, NOWHERE);
    answer.assert(0, "belongs to user 1000");
    let found = owners_and_modes_below(&sandbox.join("theirs"));
    let own = ("diskscope".to_owned(), 0, 0o755);
    assert!(found.contains(&own) && found.len() == 3, "{found:?}");
}

/// A user whose umask is 0002 has directories that the group of the same number can write.
#[test]
fn directory_of_the_users_private_group_is_the_users_own() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let script = r#"
        chmod 755 "$D"; mkdir -m 775 home; chown 1000:1000 home
        unset XDG_STATE_HOME; export HOME="$D/home"
        user() { setpriv --reuid 1000 --regid 1000 --groups 1000,1001 "$@"; }
        umask 0002; cd home
        user mkdir -p .local/state data; user touch data/out.json; user ln -s data way
        for round in 1 2; do
            user "$P" $RUN --json way/out.json > /dev/null; echo $?
            user "$P" $RUN > /dev/null; echo $?
            user find .local/state/diskscope/sessions -name '*.json' | wc -l
            user chgrp 1001 . .local
        done
    "#;
    let answer = sandbox.script(script);
    assert_eq!(answer.stdout, "0\n0\n2\n2\n0\n2\n", "{answer:?}");
    answer.assert(0, "is a symbolic link, and other users");
    answer.assert(0, NOWHERE);
}
