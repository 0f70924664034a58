//! Who may read what the program keeps, and where it keeps it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use crate::outputs::sandbox::{ORDINARY_USER, OutputSandbox, exit_code, is_root, stderr, stdout};

/// Every file and directory below, with owner and mode.
fn owners_and_modes_below(path: &Path) -> Vec<(String, u32, u32)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(path) else {
        return found;
    };
    for entry in entries.map(Result::unwrap) {
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
fn kept_files_are_private_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let sandbox = OutputSandbox::new();
        let script = format!(
            "umask {umask}; \"$P\" $RUN > /dev/null && \
             \"$P\" record day.rec --interval 100ms --duration 100ms"
        );
        let output = sandbox.script(&script).output().unwrap();
        assert_eq!(exit_code(&output), 0, "{umask}: {}", stderr(&output));
        let recording = fs::metadata(sandbox.join("day.rec")).unwrap();
        assert_eq!(recording.mode() & 0o777, 0o600, "{umask}");
        let kept = owners_and_modes_below(&sandbox.join("state/diskscope"));
        assert_eq!(kept.len(), 2, "{kept:?}");
        for (name, _, mode) in kept {
            let expected = if name == "sessions" { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{umask} {name}");
        }
        let own = fs::metadata(sandbox.join("state/diskscope")).unwrap();
        assert_eq!(own.mode() & 0o777, 0o700, "{umask}");
    }
}

#[test]
fn journal_of_active_run_is_private() {
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("scratch")).unwrap();
    let words = [
        "run",
        "random-read",
        "scratch",
        "--scratch-size",
        "16MiB",
        "--duration",
        "60s",
    ];
    let mut child = sandbox.command(&words).spawn().unwrap();
    let journal = sandbox.wait_for_journal();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::metadata(journal).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn root_with_other_users_home_creates_no_files_there() {
    if !is_root() {
        return;
    }
    for variable in ["HOME", "XDG_STATE_HOME"] {
        let sandbox = OutputSandbox::new();
        let home = sandbox.join("home");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
        // Root's own home directory is that of a password file of the test's own.
        let script = format!(
            r#"
            echo "root:x:0:0::$D/roots:/bin/sh" > "$D/passwd"
            mkdir "$D/roots"
            mount --bind "$D/passwd" /etc/passwd
            unset XDG_STATE_HOME
            export HOME="$D/home" {variable}="$D/home"
            "$P" $RUN
            "#
        );
        let Some(output) = sandbox.script_in_mount_namespace(&script) else {
            return;
        };
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("IOPS"));
        assert_eq!(owners_and_modes_below(&home), []);
        assert!(
            stderr(&output).contains("/roots/.local/state/diskscope/"),
            "{}",
            stderr(&output)
        );
        assert!(
            owners_and_modes_below(&sandbox.join("roots"))
                .iter()
                .any(|(_, owner, mode)| (*owner, *mode) == (0, 0o600))
        );
    }
}

#[test]
fn home_that_does_not_exist_is_not_created() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        unset XDG_STATE_HOME
        mkdir "$D/roots"
        echo "root:x:0:0::$D/roots:/bin/sh" > "$D/passwd"
        mount --bind "$D/passwd" /etc/passwd
        export HOME="$D/nonexistent"
        "$P" $RUN
        "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert!(!sandbox.join("nonexistent").exists());
}

#[test]
fn state_directory_planted_by_another_user_is_not_used() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let base = sandbox.sticky_directory("state");
    let planted = base.join("diskscope");
    fs::create_dir(&planted).unwrap();
    chown(&planted, Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
    let output = sandbox.run_to("out.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the session is not saved"),
        "{}",
        stderr(&output)
    );
    assert_eq!(owners_and_modes_below(&planted), []);
}

/// `$D/home` is where root's HOME leads, `$D/passwd` gives `$D/roots`; `$D/theirs` is another user's.
fn state_of_root(sandbox: &OutputSandbox, script: &str) -> Option<std::process::Output> {
    for name in ["home", "roots", "theirs", "etc"] {
        fs::create_dir(sandbox.join(name)).unwrap();
    }
    chown(
        sandbox.join("theirs"),
        Some(ORDINARY_USER),
        Some(ORDINARY_USER),
    )
    .unwrap();
    sandbox.script_in_mount_namespace(&format!(
        r#"
        echo "root:x:0:0::$D/roots:/bin/sh" > "$D/passwd"
        mount --bind "$D/passwd" /etc/passwd
        unset XDG_STATE_HOME
        export HOME="$D/home"
        user() {{ setpriv --reuid {ORDINARY_USER} --regid {ORDINARY_USER} --clear-groups "$@"; }}
        {script}
        "$P" $RUN
        "#
    ))
}

/// Somebody else made a directory or link on the way, or can.
#[test]
fn state_of_root_is_kept_only_where_nobody_else_decides() {
    if !is_root() {
        return;
    }
    for script in [
        // HOME is a directory like /tmp.
        "chmod 1777 home; user mkdir home/.local; user ln -s \"$D/etc\" home/.local/state",
        "chmod 1777 home; user ln -s \"$D/etc\" home/.local",
        "chmod 1777 home; user mkdir -p home/.local/state",
        "chmod 777 home",
        "chmod 775 home",
        // HOME, or a part of it, is another user's, whatever it leads to.
        "ln -s \"$D/etc\" theirs/home; export HOME=\"$D/theirs/home\"",
        "user ln -s \"$D/etc\" theirs/home; export HOME=\"$D/theirs/home\"",
        "mkdir theirs/home; export HOME=\"$D/theirs/home\"",
        "chmod 1777 home; user ln -s \"$D/etc\" home/x; export XDG_STATE_HOME=\"$D/home/x\"; \
         export HOME=\"$D/theirs\"",
        "export XDG_STATE_HOME=\"$D/theirs/new\" HOME=\"$D/theirs\"",
    ] {
        let sandbox = OutputSandbox::new();
        let Some(output) = state_of_root(&sandbox, script) else {
            return;
        };
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 0, "{script}: {message}");
        assert!(
            message.contains("/roots/.local/state/diskscope/"),
            "{script}: {message}"
        );
        for name in ["etc", "theirs", "home"] {
            let found = owners_and_modes_below(&sandbox.join(name));
            let is_planted = |name: &str| [".local", "state", "x", "home"].contains(&name);
            assert!(
                found.iter().all(|(name, ..)| is_planted(name)),
                "{script}: {found:?}"
            );
        }
    }
}

/// The way is root's own, also through links and a directory like /tmp.
#[test]
fn state_of_root_is_kept_where_root_alone_decides() {
    if !is_root() {
        return;
    }
    for script in [
        "ln -s \"$D/etc\" home/.local",
        "chmod 1777 home; mkdir -m 755 home/.local; mkdir -m 700 home/.local/state",
        "chmod 1777 home",
        "ln -s ../etc/../etc home/.local",
    ] {
        let sandbox = OutputSandbox::new();
        let Some(output) = state_of_root(&sandbox, script) else {
            return;
        };
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 0, "{script}: {message}");
        assert!(
            message.contains("/home/.local/state/diskscope/"),
            "{script}: {message}"
        );
    }
}

/// Where root has no other place either, nothing is kept: what lies there is neither removed nor
/// closed.
#[test]
fn directory_of_root_that_another_user_moved_is_left_as_it_is() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let script = r#"
        echo "root:x:0:0::$D/theirs:/bin/sh" > "$D/passwd"
        mkdir -p theirs/project/sessions; chmod 755 theirs/project theirs/project/sessions
        name=2026-01-01T000000-random-read.json.partial
        echo precious > theirs/project/sessions/$name
        touch -d '-1 hour' theirs/project/sessions/$name
        user mv theirs/project theirs/diskscope
        export XDG_STATE_HOME="$D/theirs" HOME="$D/theirs"
    "#;
    let Some(output) = state_of_root(&sandbox, script) else {
        return;
    };
    let message = stderr(&output);
    assert_eq!(exit_code(&output), 0, "{message}");
    assert!(message.contains("the session is not saved"), "{message}");
    assert!(message.contains("belongs to user 1000"), "{message}");
    let found = owners_and_modes_below(&sandbox.join("theirs"));
    assert!(
        found.contains(&("diskscope".to_owned(), 0, 0o755)),
        "{found:?}"
    );
    assert_eq!(found.len(), 3, "{found:?}");
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
        user "$P" $RUN --json way/out.json 2>> ../err > /dev/null; echo $?
        user find .local/state/diskscope/sessions -name '*.json' | wc -l
        user chgrp 1001 . .local
        user "$P" $RUN --json way/out.json 2>> ../err > /dev/null; echo $?
        user "$P" $RUN 2>> ../err > /dev/null; echo $?
        user find .local/state/diskscope/sessions -name '*.json' | wc -l
    "#;
    let output = sandbox.script(script).output().unwrap();
    let message = fs::read_to_string(sandbox.join("err")).unwrap_or_default();
    assert_eq!(
        stdout(&output),
        "0\n1\n2\n0\n1\n",
        "{message}{}",
        stderr(&output)
    );
    assert!(
        message.contains("is a symbolic link, and other users"),
        "{message}"
    );
    assert!(message.contains("the session is not saved"), "{message}");
}
