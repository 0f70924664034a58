use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::time::SystemTime;

use super::*;
use crate::files::path::check_controlled;

const OWN: &str = "diskscope/settings";

fn base_directory() -> tempfile::TempDir {
    // A directory below /tmp itself is sticky and of root.
    tempfile::tempdir().unwrap()
}

fn create(base: &Path) -> Result<PrivateDirectory, FileError> {
    PrivateDirectory::create(base, Path::new(OWN))
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn program_that_others_can_replace_is_not_trusted() {
    let base = base_directory();
    let program = base.path().join("program");
    fs::write(&program, "").unwrap();
    let user = rustix::process::geteuid().as_raw();
    set_mode(&program, 0o755);
    check_controlled(&program, user).unwrap();
    set_mode(&program, 0o775);
    let is_private_group = user != 0;
    assert_eq!(check_controlled(&program, user).is_ok(), is_private_group);
    set_mode(&program, 0o777);
    assert!(check_controlled(&program, user).is_err());
    set_mode(&program, 0o755);
    if user == 0 {
        chown(&program, Some(1000), None).unwrap();
        assert!(check_controlled(&program, 0).is_err());
        check_controlled(&program, 1000).unwrap();
    }
}

#[test]
fn name_with_several_components_is_refused_everywhere() {
    let base = base_directory();
    let is_refused = |result: Result<(), _>| matches!(result, Err(FileError::InvalidName(_)));
    for own in ["..", "diskscope/../..", "/etc", "."] {
        let made = PrivateDirectory::create(base.path(), Path::new(own));
        assert!(is_refused(made.map(drop)), "{own:?}");
    }
    let directory = create(base.path()).unwrap();
    for bad in ["", ".", "..", "../file", "a/b", "/etc/passwd"].map(name) {
        assert!(is_refused(directory.create_new(bad).map(drop)));
        assert!(is_refused(directory.open_file(bad).map(drop)));
        assert!(is_refused(directory.open_or_create(bad).map(drop)));
        assert!(is_refused(directory.replace_file(bad, b"").map(drop)));
        assert!(is_refused(directory.write_new(bad, b"")));
        assert!(is_refused(directory.unlink(bad)));
    }
}

#[test]
fn planted_entries_are_not_opened() {
    let base = base_directory();
    let directory = create(base.path()).unwrap();
    let victim = base.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, directory.path().join("link")).unwrap();
    symlink("missing", directory.path().join("dangling")).unwrap();
    rustix::fs::mkfifoat(&directory, "fifo", Mode::RWXU).unwrap();
    mkdirat(&directory, "directory", Mode::RWXU).unwrap();
    fs::write(directory.path().join("open"), "").unwrap();
    set_mode(&directory.path().join("open"), 0o620);
    fs::hard_link(&victim, directory.path().join("second")).unwrap();
    for planted in ["link", "dangling", "fifo", "directory", "open", "second"].map(name) {
        assert!(directory.open_file(planted).is_err(), "{planted:?}");
        assert!(directory.open_or_create(planted).is_err(), "{planted:?}");
        let error = directory.create_new(planted).unwrap_err();
        assert!(error.is_already_exists(), "{planted:?}: {error}");
    }
    for replaced in ["link", "dangling", "second"].map(name) {
        directory.replace_file(replaced, b"new").unwrap();
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    assert!(!directory.path().join("missing").exists());
}

#[test]
fn file_is_replaced_as_a_whole_and_is_locked_until_it_is_closed() {
    let base = base_directory();
    let directory = create(base.path()).unwrap();
    for content in ["one", "another"] {
        let file = directory
            .replace_file(name("file"), content.as_bytes())
            .unwrap();
        let other = directory.open_file(name("file")).unwrap();
        assert!(is_locked(&other) && !lock(&other));
        drop(file);
        assert!(!is_locked(&other) && lock(&other));
        assert_eq!(std::io::read_to_string(other).unwrap(), content);
    }
    let error = directory.write_new(name("file"), b"new").unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    // A directory cannot be replaced by a file.
    mkdirat(&directory, "taken", Mode::RWXU).unwrap();
    assert!(directory.replace_file(name("taken"), b"text").is_err());
    let mut names = directory.entry_names().unwrap();
    names.sort();
    assert_eq!(names, ["file", "taken"], "no temporary file is left");
}

#[test]
fn files_stay_in_the_directory_that_was_opened() {
    let base = base_directory();
    let directory = create(base.path()).unwrap();
    let moved = base.path().join("moved");
    fs::rename(directory.path(), &moved).unwrap();
    symlink(base.path(), base.path().join(OWN)).unwrap();
    directory.create_new(name("file")).unwrap();
    assert!(moved.join("file").exists() && !base.path().join("file").exists());
}

#[test]
fn only_old_temporary_files_of_no_running_process_are_removed() {
    let base = base_directory();
    let directory = create(base.path()).unwrap();
    let make = |is_old: bool| {
        let (name, file) = create_temporary(&directory, FILE_MODE).unwrap();
        if is_old {
            let hour = Duration::from_secs(3600);
            file.set_modified(SystemTime::now() - hour).unwrap();
        }
        (name, file)
    };
    let [(young, _), (old, _), (stopped, file)] = [make(false), make(true), make(true)];
    assert!(lock(&file));
    directory.create_new(name(".diskscope-0123")).unwrap();
    directory.remove_old_temporaries(Duration::from_secs(60));
    let names = directory.entry_names().unwrap();
    assert!(names.contains(&young) && names.contains(&stopped) && !names.contains(&old));
    drop(file);
    directory.remove_old_temporaries(Duration::from_secs(60));
    let mut names = directory.entry_names().unwrap();
    names.sort();
    let mut kept = [young, ".diskscope-0123".into()];
    kept.sort();
    assert_eq!(names, kept);
}
