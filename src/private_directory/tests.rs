use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::requirement;
use crate::requirement::Requirement;

type DirectoryError = PrivateDirectoryError;

const SUBDIRECTORY: &str = "diskscope/settings";

fn base_directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn create_directory(base: &Path) -> Result<PrivateDirectory, DirectoryError> {
    PrivateDirectory::create(base, Path::new(SUBDIRECTORY))
}

fn os_name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn permission_bits(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_permission_bits(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn missing_private_directory_is_created_with_owner_access_only() {
    let base = base_directory();
    let below = base.path().join("missing/state");
    let directory = create_directory(&below).unwrap();
    assert_eq!(directory.path(), below.join(SUBDIRECTORY));
    assert_eq!(permission_bits(&below.join("diskscope")), 0o700);
    assert_eq!(permission_bits(&below.join(SUBDIRECTORY)), 0o700);
    assert_eq!(permission_bits(&below), 0o700);
    assert!(create_directory(&below).is_ok(), "a second time");
}

#[test]
fn create_restricts_directory_readable_by_others() {
    let base = base_directory();
    create_directory(base.path()).unwrap();
    let own = base.path().join(SUBDIRECTORY);
    set_permission_bits(&own, 0o755);
    PrivateDirectory::open(base.path(), Path::new(SUBDIRECTORY)).unwrap();
    assert_eq!(permission_bits(&own), 0o755);
    create_directory(base.path()).unwrap();
    assert_eq!(permission_bits(&own), 0o700);
    // Another user of the directory has a file in it.
    fs::write(own.join("file"), "").unwrap();
    set_permission_bits(&own, 0o755);
    create_directory(base.path()).unwrap();
    assert_eq!(permission_bits(&own), 0o755);
}

#[test]
fn directory_without_owner_permissions_gets_them() {
    let base = base_directory();
    create_directory(base.path()).unwrap();
    let own = base.path().join(SUBDIRECTORY);
    // As after a umask of 0777.
    set_permission_bits(&own, 0);
    let directory = create_directory(base.path()).unwrap();
    assert_eq!(permission_bits(&own), 0o700);
    assert!(directory.entry_names().unwrap().is_empty());
}

#[test]
fn open_does_not_create_missing_directory() {
    let base = base_directory();
    let error = PrivateDirectory::open(base.path(), Path::new(SUBDIRECTORY)).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn directory_that_is_a_symlink_is_refused_at_each_component() {
    for component in ["diskscope", SUBDIRECTORY] {
        let base = base_directory();
        let elsewhere = base.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("settings")).unwrap();
        let link = base.path().join(component);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        let error = create_directory(base.path()).unwrap_err();
        assert!(
            matches!(&error, DirectoryError::SymbolicLink { path } if *path == link),
            "{error}"
        );
        assert!(error.advice().contains("remove it"));
    }
}

#[test]
fn directory_that_others_can_write_to_is_refused() {
    for (component, bits) in [
        ("diskscope", 0o720),
        (SUBDIRECTORY, 0o702),
        (SUBDIRECTORY, 0o1777),
    ] {
        let base = base_directory();
        create_directory(base.path()).unwrap();
        let path = base.path().join(component);
        set_permission_bits(&path, bits);
        let error = create_directory(base.path()).unwrap_err();
        assert!(
            matches!(&error, DirectoryError::WritableByOthers { mode, .. } if *mode == bits),
            "{error}"
        );
        assert_eq!(permission_bits(&path), bits, "left as it was");
    }
}

#[test]
fn directory_and_file_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return requirement::skip(Requirement::Root, "chown needs root");
    }
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    let file = base.path().join(SUBDIRECTORY).join("file");
    directory.create_new(os_name("file")).unwrap();
    std::os::unix::fs::chown(&file, Some(1000), None).unwrap();
    let error = directory
        .open_file(os_name("file"), PrivateFileAccess::Read)
        .unwrap_err();
    assert!(
        matches!(error, DirectoryError::WrongOwner { owner: 1000, .. }),
        "{error}"
    );
    for component in [SUBDIRECTORY, "diskscope"] {
        let path = base.path().join(component);
        std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
        let error = create_directory(base.path()).unwrap_err();
        assert!(
            matches!(&error, DirectoryError::WrongOwner { path: at, owner: 1000, .. } if *at == path),
            "{error}"
        );
    }
}

#[test]
fn way_that_others_can_change_is_refused() {
    for bits in [0o777, 0o770, 0o702] {
        let base = base_directory();
        let below = base.path().join("below/state");
        fs::create_dir_all(&below).unwrap();
        set_permission_bits(&base.path().join("below"), bits);
        for error in [
            create_directory(&below).unwrap_err(),
            PrivateDirectory::open(&below, Path::new(SUBDIRECTORY)).unwrap_err(),
        ] {
            assert!(error.is_untrusted(), "{bits:o}: {error}");
            assert!(
                error.to_string().contains("below is not trusted"),
                "{error}"
            );
        }
        assert!(!is_trusted(&below) && !is_trusted(&below.join("missing")));
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
        // In a sticky directory others cannot move the user's own entries.
        set_permission_bits(&base.path().join("below"), bits | 0o1000);
        assert!(is_trusted(&below));
        create_directory(&below).unwrap();
    }
}

#[test]
fn way_through_directory_or_link_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return requirement::skip(Requirement::Root, "chown needs root");
    }
    let base = base_directory();
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
        create_directory(&path(trusted)).unwrap();
    }
    for bad in ["theirs/state", "bad/state", "real/../theirs/missing"] {
        let error = create_directory(&path(bad)).unwrap_err();
        assert!(error.is_untrusted(), "{error}");
        assert!(
            error.to_string().contains("belongs to user 1000"),
            "{error}"
        );
    }
    assert!(create_directory(&path("round/state")).is_err());
    assert_eq!(fs::read_dir(path("theirs/state")).unwrap().count(), 0);
    // A link of root with a second hard link in a world-writable directory.
    let shared = path("shared");
    fs::create_dir(&shared).unwrap();
    fs::hard_link(path("good"), shared.join("second")).unwrap();
    set_permission_bits(&shared, 0o1777);
    let error = create_directory(&shared.join("second/state")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another name of a symbolic link"),
        "{error}"
    );
}

#[test]
fn subdirectory_outside_base_is_refused() {
    let base = base_directory();
    for own in ["", "..", "diskscope/../..", "/etc", "."] {
        let error = PrivateDirectory::create(base.path(), Path::new(own)).unwrap_err();
        assert!(
            matches!(error, DirectoryError::InvalidName { .. }),
            "{own:?}: {error}"
        );
    }
}

#[test]
fn name_with_several_components_is_refused_everywhere() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    directory.create_new(os_name("file")).unwrap();
    for bad in ["", ".", "..", "../file", "a/b", "/etc/passwd", "a\0b"] {
        let bad = os_name(bad);
        let refused = |error: DirectoryError| matches!(error, DirectoryError::InvalidName { .. });
        assert!(refused(directory.create_new(bad).unwrap_err()));
        assert!(refused(
            directory
                .open_file(bad, PrivateFileAccess::Read)
                .unwrap_err()
        ));
        assert!(refused(directory.open_or_create(bad).unwrap_err()));
        assert!(refused(directory.replace_file(bad, b"").unwrap_err()));
        assert!(refused(directory.rename(os_name("file"), bad).unwrap_err()));
        assert!(refused(directory.rename(bad, os_name("file")).unwrap_err()));
        assert!(refused(directory.unlink(bad).unwrap_err()));
    }
}

#[test]
fn private_file_is_created_once_with_owner_access_only() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    directory.create_new(os_name("file")).unwrap();
    assert_eq!(permission_bits(&directory.path().join("file")), 0o600);
    let error = directory.create_new(os_name("file")).unwrap_err();
    assert!(error.is_already_exists(), "{error}");
}

#[test]
fn symlinked_file_is_neither_opened_nor_created() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    let victim = base.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, directory.path().join("link")).unwrap();
    symlink("missing", directory.path().join("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let link = os_name(link);
        for access in [PrivateFileAccess::Read, PrivateFileAccess::ReadWrite] {
            let error = directory.open_file(link, access).unwrap_err();
            assert!(
                matches!(error, DirectoryError::SymbolicLink { .. }),
                "{error}"
            );
        }
        assert!(directory.create_new(link).unwrap_err().is_already_exists());
        assert!(directory.open_or_create(link).is_err());
        directory.replace_file(link, b"new").unwrap();
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    assert!(!directory.path().join("missing").exists());
}

#[test]
fn hard_linked_or_shared_writable_file_is_refused() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    directory.create_new(os_name("file")).unwrap();
    let path = directory.path().join("file");
    let opened = || directory.open_file(os_name("file"), PrivateFileAccess::ReadWrite);
    fs::hard_link(&path, base.path().join("second")).unwrap();
    assert!(matches!(
        opened().unwrap_err(),
        DirectoryError::HardLinks { links: 2, .. }
    ));
    fs::remove_file(base.path().join("second")).unwrap();
    set_permission_bits(&path, 0o620);
    assert!(matches!(
        opened().unwrap_err(),
        DirectoryError::WritableByOthers { mode: 0o620, .. }
    ));
    set_permission_bits(&path, 0o644);
    assert!(opened().is_ok());
}

#[test]
fn fifo_and_directory_are_refused_without_blocking() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    rustix::fs::mkfifoat(&directory, "fifo", Mode::RWXU).unwrap();
    rustix::fs::mkdirat(&directory, "directory", Mode::RWXU).unwrap();
    for one in ["fifo", "directory"] {
        let error = directory
            .open_file(os_name(one), PrivateFileAccess::Read)
            .unwrap_err();
        assert!(
            matches!(error, DirectoryError::NotRegularFile { .. }),
            "{error}"
        );
    }
}

#[test]
fn replaced_file_has_new_content_and_no_temporary_remains() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    for content in ["one", "another"] {
        directory
            .replace_file(os_name("file"), content.as_bytes())
            .unwrap();
        let mut text = String::new();
        let mut file = directory
            .open_file(os_name("file"), PrivateFileAccess::Read)
            .unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, content);
        assert_eq!(directory.entry_names().unwrap(), ["file"]);
    }
    directory.rename(os_name("file"), os_name("other")).unwrap();
    assert_eq!(directory.entry_names().unwrap(), ["other"]);
}

#[test]
fn replaced_file_is_locked_until_it_is_closed() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    let file = directory.replace_file(os_name("file"), b"text").unwrap();
    let other = directory
        .open_file(os_name("file"), PrivateFileAccess::Read)
        .unwrap();
    assert!(file_lock::is_held(&other) && !file_lock::acquire(&other));
    drop(file);
    assert!(!file_lock::is_held(&other) && file_lock::acquire(&other));
}

#[test]
fn failed_replacement_removes_its_temporary_file() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    // A directory cannot be replaced by a file.
    rustix::fs::mkdirat(&directory, "taken", Mode::RWXU).unwrap();
    assert!(directory.replace_file(os_name("taken"), b"text").is_err());
    assert_eq!(directory.entry_names().unwrap(), ["taken"]);
}

#[test]
fn temporary_names_are_recognised() {
    let random = PrivateDirectory::temporary_name();
    assert_ne!(random, PrivateDirectory::temporary_name());
    assert!(PrivateDirectory::is_temporary(&random), "{random:?}");
    for other in [".tmp", "a.tmp", ".0123.tmp", ".zzzzzzzzzzzzzzzz.tmp"] {
        assert!(!PrivateDirectory::is_temporary(os_name(other)));
    }
}

#[test]
fn private_files_stay_in_opened_directory_after_rename() {
    let base = base_directory();
    let directory = create_directory(base.path()).unwrap();
    let moved = base.path().join("moved");
    fs::rename(directory.path(), &moved).unwrap();
    symlink(base.path(), base.path().join(SUBDIRECTORY)).unwrap();
    directory.create_new(os_name("file")).unwrap();
    assert!(moved.join("file").exists());
    assert!(!base.path().join("file").exists());
}
