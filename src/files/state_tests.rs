use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::time::SystemTime;

use super::*;
use crate::files::path::{check_controlled, is_trusted};
use crate::requirement::{Requirement, skip};

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

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_of_another_user(path: &Path) -> bool {
    if rustix::process::geteuid().is_root() {
        lchown(path, Some(1000), None).unwrap();
        return true;
    }
    skip(Requirement::Root, "chown needs root");
    false
}

#[test]
fn missing_directories_are_created_for_the_owner_only() {
    let base = base_directory();
    let missing = PrivateDirectory::open(base.path(), Path::new(OWN)).unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    let below = base.path().join("missing/state");
    let directory = create(&below).unwrap();
    directory.create_new(name("file")).unwrap();
    for path in [&below, &below.join("diskscope"), &below.join(OWN)] {
        assert_eq!(mode_of(path), 0o700, "{path:?}");
    }
    assert_eq!(mode_of(&directory.path().join("file")), 0o600);
    create(&below).unwrap();
}

#[test]
fn own_directory_that_is_a_link_or_in_the_hands_of_others_is_refused() {
    for component in ["diskscope", OWN] {
        let base = base_directory();
        let (own, elsewhere) = (base.path().join(component), base.path().join("elsewhere"));
        fs::create_dir_all(elsewhere.join("settings")).unwrap();
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        symlink(&elsewhere, &own).unwrap();
        let error = create(base.path()).unwrap_err();
        assert!(error.to_string().contains("a symbolic link"), "{error}");
        fs::remove_file(&own).unwrap();
        create(base.path()).unwrap();
        for mode in [0o720, 0o702, 0o1777] {
            set_mode(&own, mode);
            let error = create(base.path()).unwrap_err();
            assert!(
                error.to_string().contains("writable by other users"),
                "{error}"
            );
            assert_eq!(mode_of(&own), mode, "left as it was");
        }
        set_mode(&own, 0o700);
        if is_of_another_user(&own) {
            let error = create(base.path()).unwrap_err();
            assert!(error.to_string().contains("another user"), "{error}");
        }
    }
}

#[test]
fn base_that_others_can_redirect_is_refused() {
    let base = base_directory();
    let path = |name: &str| base.path().join(name);
    fs::create_dir_all(path("below/state")).unwrap();
    symlink("below", path("good")).unwrap();
    for trusted in ["below/state", "good/../good/state", "good/missing"] {
        assert!(is_trusted(&path(trusted)), "{trusted}");
    }
    for mode in [0o777, 0o770, 0o702] {
        set_mode(&path("below"), mode);
        for refused in ["below/state", "good/state", "below/missing"] {
            let error = create(&path(refused)).unwrap_err();
            assert!(error.is_untrusted(), "{refused} {mode:o}: {error}");
            assert!(!is_trusted(&path(refused)), "{refused}");
        }
        assert_eq!(fs::read_dir(path("below")).unwrap().count(), 1);
        // In a sticky directory others cannot move the user's own entries, but make links.
        set_mode(&path("below"), mode | 0o1000);
        symlink("state", path("below/link")).unwrap();
        assert!(is_trusted(&path("below/state")) && !is_trusted(&path("below/link")));
        fs::remove_file(path("below/link")).unwrap();
    }
    set_mode(&path("below"), 0o755);
    symlink("round", path("round")).unwrap();
    assert!(create(&path("round")).is_err());
    if is_of_another_user(&path("below")) {
        let error = create(&path("good/state")).unwrap_err();
        assert!(
            error.to_string().contains("belongs to user 1000"),
            "{error}"
        );
    }
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
    for own in ["..", "diskscope/../..", "/etc", "."] {
        let error = PrivateDirectory::create(base.path(), Path::new(own)).unwrap_err();
        assert!(
            matches!(error, FileError::InvalidName(_)),
            "{own:?}: {error}"
        );
    }
    let directory = create(base.path()).unwrap();
    for bad in ["", ".", "..", "../file", "a/b", "/etc/passwd"].map(name) {
        let results = [
            directory.create_new(bad).map(drop),
            directory.open_file(bad).map(drop),
            directory.open_or_create(bad).map(drop),
            directory.replace_file(bad, b"").map(drop),
            directory.write_new(bad, b""),
            directory.unlink(bad),
        ];
        for result in results {
            assert!(
                matches!(result, Err(FileError::InvalidName(_))),
                "{result:?}"
            );
        }
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
        assert!(
            directory
                .create_new(planted)
                .unwrap_err()
                .is_already_exists()
        );
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
