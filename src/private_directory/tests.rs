use super::*;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::requirement::{self, Requirement};

type Error = PrivateDirectoryError;

const OWN: &str = "diskscope/settings";

fn base() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn create(base: &Path) -> Result<PrivateDirectory, Error> {
    PrivateDirectory::create(base, Path::new(OWN))
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn directory_that_is_missing_is_made_for_its_owner_only() {
    let base = base();
    let below = base.path().join("missing/state");
    let directory = create(&below).unwrap();
    assert_eq!(directory.path(), below.join(OWN));
    assert_eq!(mode(&below.join("diskscope")), 0o700);
    assert_eq!(mode(&below.join(OWN)), 0o700);
    assert_eq!(mode(&below), 0o700);
    assert!(create(&below).is_ok(), "a second time");
}

#[test]
fn directory_that_others_can_read_is_closed_by_create_only() {
    let base = base();
    create(base.path()).unwrap();
    let own = base.path().join(OWN);
    set_mode(&own, 0o755);
    PrivateDirectory::open(base.path(), Path::new(OWN)).unwrap();
    assert_eq!(mode(&own), 0o755);
    create(base.path()).unwrap();
    assert_eq!(mode(&own), 0o700);
    // Somebody works with what is in it.
    fs::write(own.join("file"), "").unwrap();
    set_mode(&own, 0o755);
    create(base.path()).unwrap();
    assert_eq!(mode(&own), 0o755);
}

#[test]
fn directory_made_without_permissions_is_given_the_owners() {
    let base = base();
    create(base.path()).unwrap();
    let own = base.path().join(OWN);
    // As a umask of 0777 leaves it.
    set_mode(&own, 0);
    let directory = create(base.path()).unwrap();
    assert_eq!(mode(&own), 0o700);
    assert!(directory.names().unwrap().is_empty());
}

#[test]
fn directory_that_is_missing_is_not_made_by_open() {
    let base = base();
    let error = PrivateDirectory::open(base.path(), Path::new(OWN)).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn directory_that_is_a_symlink_is_refused_at_each_component() {
    for component in ["diskscope", OWN] {
        let base = base();
        let elsewhere = base.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("settings")).unwrap();
        let link = base.path().join(component);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        let error = create(base.path()).unwrap_err();
        assert!(
            matches!(&error, Error::SymbolicLink { path } if *path == link),
            "{error}"
        );
        assert!(error.advice().contains("remove it"));
    }
}

#[test]
fn directory_that_others_can_write_to_is_refused() {
    for (component, bits) in [("diskscope", 0o720), (OWN, 0o702), (OWN, 0o1777)] {
        let base = base();
        create(base.path()).unwrap();
        let path = base.path().join(component);
        set_mode(&path, bits);
        let error = create(base.path()).unwrap_err();
        assert!(
            matches!(&error, Error::WritableByOthers { mode, .. } if *mode == bits),
            "{error}"
        );
        assert_eq!(mode(&path), bits, "left as it was");
    }
}

#[test]
fn directory_and_file_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return requirement::skip(Requirement::Root, "chown needs root");
    }
    let base = base();
    let directory = create(base.path()).unwrap();
    let file = base.path().join(OWN).join("file");
    directory.create_new(name("file")).unwrap();
    std::os::unix::fs::chown(&file, Some(1000), None).unwrap();
    let error = directory.open_file(name("file"), Access::Read).unwrap_err();
    assert!(matches!(error, Error::Owner { owner: 1000, .. }), "{error}");
    for component in [OWN, "diskscope"] {
        let path = base.path().join(component);
        std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
        let error = create(base.path()).unwrap_err();
        assert!(
            matches!(&error, Error::Owner { path: at, owner: 1000, .. } if *at == path),
            "{error}"
        );
    }
}

#[test]
fn way_that_others_can_change_is_refused() {
    for bits in [0o777, 0o770, 0o702] {
        let base = base();
        let below = base.path().join("below/state");
        fs::create_dir_all(&below).unwrap();
        set_mode(&base.path().join("below"), bits);
        for error in [
            create(&below).unwrap_err(),
            PrivateDirectory::open(&below, Path::new(OWN)).unwrap_err(),
        ] {
            assert!(error.is_untrusted(), "{bits:o}: {error}");
            assert!(
                error.to_string().contains("below is not trusted"),
                "{error}"
            );
        }
        assert!(!is_trusted(&below) && !is_trusted(&below.join("missing")));
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
        // Only what is one's own there cannot be moved by others.
        set_mode(&base.path().join("below"), bits | 0o1000);
        assert!(is_trusted(&below));
        create(&below).unwrap();
    }
}

#[test]
fn way_through_directory_or_link_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return requirement::skip(Requirement::Root, "chown needs root");
    }
    let base = base();
    let path = |name: &str| base.path().join(name);
    fs::create_dir_all(path("real/state")).unwrap();
    fs::create_dir_all(path("theirs/state")).unwrap();
    symlink("real", path("good")).unwrap();
    symlink("good/../real/state", path("long")).unwrap();
    symlink("real", path("bad")).unwrap();
    symlink("round", path("round")).unwrap();
    for name in ["theirs", "bad"] {
        std::os::unix::fs::lchown(path(name), Some(1000), None).unwrap();
    }
    for trusted in ["real/state", "good/state", "long", "good/missing/state"] {
        assert!(is_trusted(&path(trusted)), "{trusted}");
        create(&path(trusted)).unwrap();
    }
    for bad in ["theirs/state", "bad/state", "real/../theirs/missing"] {
        let error = create(&path(bad)).unwrap_err();
        assert!(error.is_untrusted(), "{error}");
        assert!(
            error.to_string().contains("belongs to user 1000"),
            "{error}"
        );
    }
    assert!(create(&path("round/state")).is_err());
    assert_eq!(fs::read_dir(path("theirs/state")).unwrap().count(), 0);
    // A link of root's that somebody gave a second name in a directory that all can write.
    let shared = path("shared");
    fs::create_dir(&shared).unwrap();
    fs::hard_link(path("good"), shared.join("second")).unwrap();
    set_mode(&shared, 0o1777);
    let error = create(&shared.join("second/state")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another name of a symbolic link"),
        "{error}"
    );
}

#[test]
fn own_part_that_leads_elsewhere_is_refused() {
    let base = base();
    for own in ["", "..", "diskscope/../..", "/etc", "."] {
        let error = PrivateDirectory::create(base.path(), Path::new(own)).unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{own:?}: {error}");
    }
}

#[test]
fn name_that_is_not_one_component_is_refused_everywhere() {
    let base = base();
    let directory = create(base.path()).unwrap();
    directory.create_new(name("file")).unwrap();
    for bad in ["", ".", "..", "../file", "a/b", "/etc/passwd", "a\0b"] {
        let bad = name(bad);
        let refused = |error: Error| matches!(error, Error::Name { .. });
        assert!(refused(directory.create_new(bad).unwrap_err()));
        assert!(refused(directory.open_file(bad, Access::Read).unwrap_err()));
        assert!(refused(directory.open_or_create(bad).unwrap_err()));
        assert!(refused(directory.replace(bad, b"").unwrap_err()));
        assert!(refused(directory.rename(name("file"), bad).unwrap_err()));
        assert!(refused(directory.rename(bad, name("file")).unwrap_err()));
        assert!(refused(directory.unlink(bad).unwrap_err()));
        assert!(refused(directory.subdirectory(bad).unwrap_err()));
    }
}

#[test]
fn file_is_made_once_for_its_owner_only() {
    let base = base();
    let directory = create(base.path()).unwrap();
    directory.create_new(name("file")).unwrap();
    assert_eq!(mode(&directory.path().join("file")), 0o600);
    let error = directory.create_new(name("file")).unwrap_err();
    assert!(error.is_already_there(), "{error}");
}

#[test]
fn file_that_is_a_symlink_is_neither_opened_nor_made() {
    let base = base();
    let directory = create(base.path()).unwrap();
    let victim = base.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, directory.path().join("link")).unwrap();
    symlink("missing", directory.path().join("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let link = name(link);
        for access in [Access::Read, Access::ReadWrite, Access::Append] {
            let error = directory.open_file(link, access).unwrap_err();
            assert!(matches!(error, Error::SymbolicLink { .. }), "{error}");
        }
        assert!(directory.create_new(link).unwrap_err().is_already_there());
        assert!(directory.open_or_create(link).is_err());
        directory.replace(link, b"new").unwrap();
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    assert!(!directory.path().join("missing").exists());
}

#[test]
fn file_with_a_second_name_or_open_to_others_is_refused() {
    let base = base();
    let directory = create(base.path()).unwrap();
    directory.create_new(name("file")).unwrap();
    let path = directory.path().join("file");
    let opened = || directory.open_file(name("file"), Access::ReadWrite);
    fs::hard_link(&path, base.path().join("second")).unwrap();
    assert!(matches!(
        opened().unwrap_err(),
        Error::HardLinks { links: 2, .. }
    ));
    fs::remove_file(base.path().join("second")).unwrap();
    set_mode(&path, 0o620);
    assert!(matches!(
        opened().unwrap_err(),
        Error::WritableByOthers { mode: 0o620, .. }
    ));
    set_mode(&path, 0o644);
    assert!(opened().is_ok());
}

#[test]
fn fifo_and_directory_are_refused_without_waiting() {
    let base = base();
    let directory = create(base.path()).unwrap();
    rustix::fs::mkfifoat(&directory, "fifo", Mode::RWXU).unwrap();
    directory.subdirectory(name("directory")).unwrap();
    for one in ["fifo", "directory"] {
        let error = directory.open_file(name(one), Access::Read).unwrap_err();
        assert!(matches!(error, Error::NoRegularFile { .. }), "{error}");
    }
}

#[test]
fn replaced_file_has_the_new_content_and_leaves_nothing_else() {
    let base = base();
    let directory = create(base.path()).unwrap();
    for content in ["one", "another"] {
        directory.replace(name("file"), content.as_bytes()).unwrap();
        let mut text = String::new();
        let mut file = directory.open_file(name("file"), Access::Read).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, content);
        assert_eq!(directory.names().unwrap(), ["file"]);
    }
    directory.sync().unwrap();
    directory.rename(name("file"), name("other")).unwrap();
    directory.create_new(name("third")).unwrap();
    let error = directory.rename_new(name("third"), name("other"));
    assert!(error.unwrap_err().is_already_there());
    directory.unlink(name("other")).unwrap();
    directory.rename_new(name("third"), name("other")).unwrap();
    assert_eq!(directory.names().unwrap(), ["other"]);
}

#[test]
fn failed_replacement_removes_its_temporary_file() {
    let base = base();
    let directory = create(base.path()).unwrap();
    // A directory cannot be replaced by a file.
    directory.subdirectory(name("taken")).unwrap();
    assert!(directory.replace(name("taken"), b"text").is_err());
    assert_eq!(directory.names().unwrap(), ["taken"]);
}

#[test]
fn temporary_name_is_told_from_others() {
    let random = temporary_name();
    assert_ne!(random, temporary_name());
    assert!(PrivateDirectory::is_temporary(&random), "{random:?}");
    for other in [".tmp", "a.tmp", ".0123.tmp", ".zzzzzzzzzzzzzzzz.tmp"] {
        assert!(!PrivateDirectory::is_temporary(name(other)));
    }
}

#[test]
fn files_stay_in_the_directory_that_was_opened() {
    let base = base();
    let directory = create(base.path()).unwrap();
    let moved = base.path().join("moved");
    fs::rename(directory.path(), &moved).unwrap();
    symlink(base.path(), base.path().join(OWN)).unwrap();
    directory.create_new(name("file")).unwrap();
    assert!(moved.join("file").exists());
    assert!(!base.path().join("file").exists());
}

#[test]
fn only_old_temporary_files_are_removed() {
    let base = base();
    let directory = create(base.path()).unwrap();
    let (young, old) = (temporary_name(), temporary_name());
    directory.create_new(&young).unwrap();
    directory.create_new(name("kept")).unwrap();
    let file = directory.create_new(&old).unwrap();
    let hour = Duration::from_secs(3600);
    file.set_modified(SystemTime::now() - hour).unwrap();
    directory.remove_old_temporaries(Duration::from_secs(60));
    let mut names = directory.names().unwrap();
    names.sort();
    let mut expected = [young, "kept".into()];
    expected.sort();
    assert_eq!(names, expected);
}
