//! Who may read what the program keeps, and where it keeps it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use crate::place::{Place, USER, code, is_root, stderr, stdout};

/// Every file and directory below, with owner and mode.
fn below(path: &Path) -> Vec<(String, u32, u32)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(path) else {
        return found;
    };
    for entry in entries.map(Result::unwrap) {
        let facts = entry.metadata().unwrap();
        let name = entry.file_name().into_string().unwrap();
        found.push((name, facts.uid(), facts.mode() & 0o7777));
        if facts.is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}

#[test]
fn kept_files_are_private_whatever_the_umask() {
    for umask in ["000", "022", "077", "0277"] {
        let place = Place::new();
        let script = format!(
            "umask {umask}; \"$P\" $RUN > /dev/null && \
             \"$P\" record day.rec --interval 100ms --duration 100ms"
        );
        let output = place.script(&script).output().unwrap();
        assert_eq!(code(&output), 0, "{umask}: {}", stderr(&output));
        let recording = fs::metadata(place.join("day.rec")).unwrap();
        assert_eq!(recording.mode() & 0o777, 0o600, "{umask}");
        let kept = below(&place.join("state/diskscope"));
        assert_eq!(kept.len(), 2, "{kept:?}");
        for (name, _, mode) in kept {
            let expected = if name == "sessions" { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{umask} {name}");
        }
        let own = fs::metadata(place.join("state/diskscope")).unwrap();
        assert_eq!(own.mode() & 0o777, 0o700, "{umask}");
    }
}

#[test]
fn journal_of_a_run_under_way_is_private() {
    let place = Place::new();
    fs::create_dir(place.join("scratch")).unwrap();
    let words = [
        "run",
        "random-read",
        "scratch",
        "--scratch-size",
        "16MiB",
        "--duration",
        "60s",
    ];
    let mut child = place.command(&words).spawn().unwrap();
    let journal = place.wait_for_journal();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::metadata(journal).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn root_under_the_home_of_another_user_leaves_nothing_there() {
    if !is_root() {
        return;
    }
    for variable in ["HOME", "XDG_STATE_HOME"] {
        let place = Place::new();
        let home = place.join("home");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(USER), Some(USER)).unwrap();
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
        let Some(output) = place.namespace(&script) else {
            return;
        };
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("IOPS"));
        assert_eq!(below(&home), []);
        assert!(
            stderr(&output).contains("/roots/.local/state/diskscope/"),
            "{}",
            stderr(&output)
        );
        assert!(
            below(&place.join("roots"))
                .iter()
                .any(|(_, owner, mode)| (*owner, *mode) == (0, 0o600))
        );
    }
}

#[test]
fn state_directory_planted_by_another_user_is_not_used() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let base = place.sticky("state");
    let planted = base.join("diskscope");
    fs::create_dir(&planted).unwrap();
    chown(&planted, Some(USER), Some(USER)).unwrap();
    let output = place.run_to("out.json");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the session is not saved"),
        "{}",
        stderr(&output)
    );
    assert_eq!(below(&planted), []);
}
