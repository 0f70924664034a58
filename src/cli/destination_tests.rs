use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::fs::makedev;

use super::*;

fn whole(path: &Path) -> Result<Destination, FileError> {
    Destination::whole(Some(path), &[], NewFileAccess::Umask)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn file_is_replaced_when_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let mut new = whole(&path).unwrap();
    assert!(
        names(directory.path()).is_empty(),
        "nothing is left by the check"
    );
    new.write("first\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&path).unwrap();
    let mut existing = whole(&path).unwrap();
    assert_eq!(existing.note(), None);
    existing.write("second\n").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
    assert_eq!(after.mode(), before.mode());
    assert_ne!(after.ino(), before.ino());
    assert_eq!(names(directory.path()), ["out"]);
}

#[test]
fn file_that_takes_the_place_meanwhile_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("out"), directory.path().join("other"));
    for exists in [false, true] {
        let _ = fs::remove_file(&path);
        if exists {
            fs::write(&path, "before").unwrap();
        }
        let mut output = whole(&path).unwrap();
        fs::write(&other, "theirs").unwrap();
        fs::rename(&other, &path).unwrap();
        let error = output.write("mine\n").unwrap_err();
        assert!(matches!(error, FileError::PathChanged(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(names(directory.path()), ["out"]);
    }
}

#[test]
fn result_goes_to_the_directory_that_was_checked() {
    let directory = tempfile::tempdir().unwrap();
    let (place, moved) = (
        directory.path().join("place"),
        directory.path().join("moved"),
    );
    fs::create_dir(&place).unwrap();
    let mut output = whole(&place.join("out")).unwrap();
    fs::rename(&place, &moved).unwrap();
    fs::create_dir(&place).unwrap();
    output.write("text\n").unwrap();
    assert_eq!((names(&place).len(), names(&moved).len()), (0, 1));
}

#[test]
fn attributes_that_are_lost_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    fs::write(&path, "before").unwrap();
    fs::hard_link(&path, directory.path().join("second")).unwrap();
    let mut output = whole(&path).unwrap();
    let note = output.note().unwrap();
    assert!(
        note.ends_with("is replaced without its other names (hard links)"),
        "{note}"
    );
    output.write("after\n").unwrap();
    assert_eq!(
        fs::read_to_string(directory.path().join("second")).unwrap(),
        "before"
    );
}

#[test]
fn growing_file_is_new_and_leaves_nothing_before_its_first_result() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stream");
    for (results, content) in [
        (&[][..], None),
        (&[""], Some("")),
        (&["", "line\n", "next\n"], Some("line\nnext\n")),
    ] {
        let mut output = Destination::growing(Some(&path)).unwrap();
        for result in results {
            assert!(output.write(result).unwrap());
        }
        drop(output);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
        if content.is_some() {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            let error = Destination::growing(Some(&path)).unwrap_err();
            assert!(matches!(error, FileError::AlreadyExists(_)), "{error}");
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn same_file_is_known_by_other_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("one"), "").unwrap();
    fs::hard_link(path("one"), path("two")).unwrap();
    symlink(".", path("way")).unwrap();
    let is_same = |left: &str, right: &str| {
        whole(&path(left))
            .unwrap()
            .is_same_file(&whole(&path(right)).unwrap())
    };
    assert!(is_same("one", "two") && is_same("new", "way/new") && !is_same("one", "new"));
}

#[test]
fn character_device_other_than_a_terminal_is_no_output() {
    for (major, minor) in [(1, 3), (1, 7), (4, 64), (5, 0), (136, 2)] {
        assert!(is_text_device(makedev(major, minor)), "{major}:{minor}");
    }
    // /dev/mem, a watchdog, a tape, /dev/sg0.
    for (major, minor) in [(1, 1), (10, 130), (9, 0), (21, 0)] {
        assert!(!is_text_device(makedev(major, minor)), "{major}:{minor}");
    }
}
