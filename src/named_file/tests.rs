//! Resolution of paths, and creation of files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::fs::{CWD, Mode, openat};

use super::*;

fn open_directory(path: &Path) -> OpenDirectory {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    OpenDirectory::new(openat(CWD, path, flags, Mode::empty()).unwrap())
}

fn write_output(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    OutputFile::prepare(path, &[])?.write(bytes)
}

/// The directory and name that a path resolves to.
fn resolve_entry(path: &Path) -> Result<(FileId, OsString), OutputError> {
    match resolve::resolve_path(path)? {
        ResolvedPath::DirectoryEntry {
            directory, name, ..
        } => Ok((FileId::of_stat(&directory.stat().unwrap()), name)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn path_through_links_and_dots_ends_in_real_directory() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    fs::create_dir_all(base.join("a/b")).unwrap();
    symlink("a/b", base.join("way")).unwrap();
    symlink(base.join("way/../c"), base.join("last")).unwrap();
    let id = |path: &str| FileId::of_metadata(&fs::metadata(base.join(path)).unwrap());
    for (path, directory, name) in [
        ("a/b/c", "a/b", "c"),
        ("way/c", "a/b", "c"),
        ("way//./c", "a/b", "c"),
        ("way/../c", "a", "c"),
        ("last", "a", "c"),
    ] {
        let expected = (id(directory), OsString::from(name));
        assert_eq!(resolve_entry(&base.join(path)).unwrap(), expected, "{path}");
    }
}

#[test]
fn path_without_end_or_without_name_is_an_error() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    symlink("two", base.join("one")).unwrap();
    symlink("one", base.join("two")).unwrap();
    fs::write(base.join("file"), "").unwrap();
    for path in ["one", "one/x", "file/x", "missing/x", "file/..", "new/", ""] {
        let path = if path.is_empty() {
            PathBuf::new()
        } else {
            base.join(path)
        };
        assert!(resolve_entry(&path).is_err(), "{}", path.display());
    }
}

#[test]
fn own_descriptors_are_distinguished_from_other_processes() {
    let number = |path: &str| match resolve::resolve_path(Path::new(path)) {
        Ok(ResolvedPath::Descriptor(number)) => Some(number),
        Ok(ResolvedPath::OpenedFile(_)) => None,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(number("/proc/self/fd/0"), Some(0));
    assert_eq!(number("/dev/fd/1"), Some(1));
    let own = format!("/proc/{}/fd/2", std::process::id());
    assert_eq!(number(&own), Some(2));
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let other = number(&format!("/proc/{}/fd/2", child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(other, None);
}

#[test]
fn descriptor_opened_by_the_program_itself_is_refused() {
    use std::os::fd::AsRawFd;
    let base = tempfile::tempdir().unwrap();
    let file = fs::File::create(base.path().join("own")).unwrap();
    let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
    assert!(OutputFile::prepare(&path, &[]).is_err());
}

#[test]
fn new_output_file_appears_only_when_complete() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("new");
    let output = OutputFile::prepare(&path, &[]).unwrap();
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    output.write(b"text").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"text");
    drop(OutputFile::prepare(&base.path().join("other"), &[]).unwrap());
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
}

#[test]
fn output_file_is_written_into_moved_directory() {
    let base = tempfile::tempdir().unwrap();
    let (before, after) = (base.path().join("before"), base.path().join("after"));
    fs::create_dir(&before).unwrap();
    let output = OutputFile::prepare(&before.join("new"), &[]).unwrap();
    fs::rename(&before, &after).unwrap();
    symlink("/nonexistent", &before).unwrap();
    output.write(b"text").unwrap();
    assert_eq!(fs::read(after.join("new")).unwrap(), b"text");
}

#[test]
fn input_as_output_is_refused_by_identity() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "").unwrap();
    let (_, id) = input::open_input(&path, input::InputKind::RegularFile).unwrap();
    let refused = OutputFile::prepare(&path, &[id]).unwrap_err();
    assert!(matches!(refused, OutputError::IsInput { .. }), "{refused}");
    OutputFile::prepare(&base.path().join("other"), &[id]).unwrap();
}

#[test]
fn file_system_without_o_tmpfile_gets_complete_files() {
    let base = tempfile::tempdir().unwrap();
    let directory = open_directory(base.path());
    let probe = || TemporaryFile {
        is_linkable: false,
        ..directory.create_temporary(NewFileAccess::Umask).unwrap()
    };
    let publish = |existing, text: &[u8]| {
        probe().publish(&directory, "file".as_ref(), text, existing, &|_| Ok(()))
    };
    publish(ExistingFile::Keep, b"one").unwrap();
    let taken = publish(ExistingFile::Keep, b"two").unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(base.path().join("file")).unwrap(), b"one");
    let stat = directory.stat_entry("file".as_ref()).unwrap().unwrap();
    publish(ExistingFile::Replace(&stat), b"three").unwrap();
    assert_eq!(fs::read(base.path().join("file")).unwrap(), b"three");
    let failed = probe().publish(
        &directory,
        "other".as_ref(),
        b"",
        ExistingFile::Keep,
        &|_| Err(io::ErrorKind::Other.into()),
    );
    assert!(failed.is_err());
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
}

#[test]
fn private_output_is_created_once_with_owner_access_only() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    let made = write_private(base.path(), "file", b"text").unwrap();
    assert_eq!(made, path);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    for again in [
        write_private(base.path(), "file", b"other").unwrap_err(),
        create_private(&path).unwrap_err(),
    ] {
        assert!(
            matches!(again, OutputError::AlreadyExists { .. }),
            "{again}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), b"text");
}

/// Also if a dangling link of that name leads to a place where a file could be created.
#[test]
fn name_made_by_the_program_stays_in_its_directory() {
    let base = tempfile::tempdir().unwrap();
    let below = base.path().join("below");
    fs::create_dir(&below).unwrap();
    for name in [
        "",
        ".",
        "..",
        "../file",
        "a/b",
        "/etc/file",
        "below/",
        "a\0b",
    ] {
        let refused = write_private(&below, name, b"text").unwrap_err();
        assert!(matches!(refused, OutputError::Name { .. }), "{refused}");
    }
    symlink("../elsewhere", below.join("link")).unwrap();
    let refused = write_private(&below, "link", b"text").unwrap_err();
    assert!(
        matches!(refused, OutputError::AlreadyExists { .. }),
        "{refused}"
    );
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
}

/// Another process replaces the file between the check and the replacement.
#[test]
fn file_that_appears_at_the_last_moment_keeps_its_name() {
    for is_linkable in [true, false] {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        fs::write(&path, "before").unwrap();
        let directory = open_directory(base.path());
        let looked_at = fs::File::open(&path).unwrap();
        let stat = fstat(&looked_at).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let publish = || {
            let temporary = directory.create_temporary(NewFileAccess::Private).unwrap();
            let temporary = TemporaryFile {
                is_linkable,
                ..temporary
            };
            let existing = ExistingFile::Replace(&stat);
            temporary.publish(&directory, "file".as_ref(), b"ours", existing, &|_| Ok(()))
        };
        let refused = publish().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        fs::remove_file(&path).unwrap();
        let refused = publish().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}

/// Writes to `path` after `replace` has changed the existing file.
fn changed_while_prepared(path: &Path, replace: impl FnOnce()) {
    let output = OutputFile::prepare(path, &[]).unwrap();
    replace();
    let refused = output.write(b"ours").unwrap_err();
    assert!(
        matches!(refused, OutputError::PathChanged { .. }),
        "{refused}"
    );
}

/// ext4 and XFS reuse the inode number of a removed file for the next one.
#[test]
fn file_with_the_number_of_the_removed_one_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    let number = |path: &Path| fs::symlink_metadata(path).unwrap().ino();
    for _ in 0..20 {
        fs::write(&path, "before").unwrap();
        let before = number(&path);
        changed_while_prepared(&path, || {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "theirs").unwrap();
            assert_ne!(number(&path), before, "it is held");
        });
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
    fs::write(&path, "before").unwrap();
    changed_while_prepared(&path, || {
        fs::remove_file(&path).unwrap();
        symlink("nowhere", &path).unwrap();
    });
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("nowhere"));
}

#[test]
fn overwrite_in_place_shrinks_and_grows_file() {
    let base = tempfile::tempdir().unwrap();
    let (path, link) = (base.path().join("file"), base.path().join("link"));
    fs::write(&path, "something").unwrap();
    fs::hard_link(&path, &link).unwrap();
    for text in ["", "much longer than it was before", "short"] {
        write_output(&path, text.as_bytes()).unwrap();
        assert_eq!(fs::read(&link).unwrap(), text.as_bytes());
    }
}

#[test]
fn file_in_a_directory_that_keeps_all_names_is_written_in_place() {
    use rustix::fs::{IFlags, ioctl_setflags};
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "before").unwrap();
    let directory = File::open(base.path()).unwrap();
    if let Err(error) = ioctl_setflags(&directory, IFlags::APPEND) {
        let skip = crate::requirement::skip;
        return skip(
            crate::requirement::Requirement::Root,
            format!("chattr +a: {error}"),
        );
    }
    let written = write_output(&path, b"after");
    let names = fs::read_dir(base.path()).unwrap().count();
    ioctl_setflags(&directory, IFlags::empty()).unwrap();
    written.unwrap();
    assert_eq!((names, fs::read(&path).unwrap()), (1, b"after".to_vec()));
}

#[test]
fn outputs_to_one_file_are_recognised_by_any_path() {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("d")).unwrap();
    let prepared = |name: &str| OutputFile::prepare(&base.path().join(name), &[]).unwrap();
    for existing in [false, true] {
        assert!(
            prepared("a").is_same_file(&prepared("d/../a")),
            "{existing}"
        );
        assert!(!prepared("a").is_same_file(&prepared("b")));
        assert!(!prepared("a").is_same_file(&prepared("d/a")));
        fs::write(base.path().join("a"), "").unwrap();
    }
}

/// Changes a file between preparation and writing, and returns its identity before.
fn written_after(path: &Path, change: impl FnOnce()) -> FileId {
    let id = FileId::of_metadata(&fs::metadata(path).unwrap());
    let output = OutputFile::prepare(path, &[]).unwrap();
    change();
    output.examine_again().unwrap().write(b"after").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"after");
    id
}

#[test]
fn mode_that_changes_after_preparation_is_kept() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "before").unwrap();
    let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o644);
    let id = written_after(&path, || set_mode(0o600));
    let now = fs::metadata(&path).unwrap();
    assert_eq!(now.mode() & 0o7777, 0o600);
    assert_ne!(FileId::of_metadata(&now), id, "replaced");
}

#[test]
fn owner_that_changes_after_preparation_is_kept() {
    if !rustix::process::geteuid().is_root() {
        let skip = crate::requirement::skip;
        return skip(crate::requirement::Requirement::Root, "chown".to_owned());
    }
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "before").unwrap();
    written_after(&path, || {
        std::os::unix::fs::chown(&path, Some(1000), Some(1000)).unwrap();
    });
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid()), (1000, 1000));
}

/// The number stands for all users, or groups, that have none here, and a new file would belong to
/// another one.
#[test]
fn file_whose_owner_or_group_may_have_no_number_is_written_in_place() {
    if !rustix::process::geteuid().is_root() {
        let skip = crate::requirement::skip;
        return skip(crate::requirement::Requirement::Root, "chown".to_owned());
    }
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    for (owner, group, is_same) in [(0, 65534, true), (65534, 0, true), (1000, 1000, false)] {
        fs::write(&path, "before").unwrap();
        std::os::unix::fs::chown(&path, Some(owner), Some(group)).unwrap();
        let id = written_after(&path, || {});
        let now = fs::metadata(&path).unwrap();
        assert_eq!((now.uid(), now.gid()), (owner, group));
        assert_eq!(FileId::of_metadata(&now) == id, is_same, "{owner}:{group}");
    }
}

/// Replaces a file; `change` is called with the number of calls before it when the attributes of the
/// new one are set, and tells whether it has all attributes of the old one.
fn replaced_while(path: &Path, change: &dyn Fn(u32) -> bool) -> io::Result<()> {
    let directory = open_directory(path.parent().unwrap());
    let old = File::open(path).unwrap();
    let stat = fstat(&old).unwrap();
    let temporary = directory.create_temporary(NewFileAccess::Private).unwrap();
    let calls = std::cell::Cell::new(0);
    let settle = |new: &File| {
        let is_equal =
            replacement::make_equal(&old, new)? && change(calls.replace(calls.get() + 1));
        is_equal
            .then_some(())
            .ok_or(io::ErrorKind::AlreadyExists.into())
    };
    let existing = ExistingFile::Replace(&stat);
    temporary.publish(
        &directory,
        path.file_name().unwrap(),
        b"new",
        existing,
        &settle,
    )
}

#[test]
fn mode_that_changes_in_the_moment_of_the_replacement_is_kept() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let close = |calls| {
        if calls == 1 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        true
    };
    replaced_while(&path, &close).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
}

#[test]
fn attributes_that_change_in_the_moment_of_the_replacement_leave_the_file_alone() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "before").unwrap();
    let refused = replaced_while(&path, &|calls| calls < 2).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
}

#[test]
fn second_name_after_preparation_gets_the_new_content() {
    let base = tempfile::tempdir().unwrap();
    let (path, link) = (base.path().join("file"), base.path().join("link"));
    fs::write(&path, "before").unwrap();
    let id = written_after(&path, || fs::hard_link(&path, &link).unwrap());
    assert_eq!(fs::read(&link).unwrap(), b"after");
    let now = fs::metadata(&path).unwrap();
    assert_eq!((FileId::of_metadata(&now), now.nlink()), (id, 2));
}

/// Without another look the file is left alone: how a file that is written in place is used has to be
/// examined first.
#[test]
fn second_name_at_the_last_moment_prevents_replacement() {
    let base = tempfile::tempdir().unwrap();
    let (path, link) = (base.path().join("file"), base.path().join("link"));
    fs::write(&path, "before").unwrap();
    changed_while_prepared(&path, || fs::hard_link(&path, &link).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 2);
}

#[test]
fn special_mode_bits_are_preserved() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("file");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1640)).unwrap();
    let before = fs::metadata(&path).unwrap();
    write_output(&path, b"text").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
}

#[test]
fn program_with_file_capabilities_is_no_output() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("program");
    fs::write(&path, "before").unwrap();
    // `struct vfs_cap_data`: revision 2, CAP_NET_RAW permitted.
    let mut capabilities = [0_u8; 20];
    capabilities[3] = 2;
    capabilities[5] = 0x20;
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&path, "security.capability", &capabilities, flags).is_err() {
        let skip = crate::requirement::skip;
        skip(
            crate::requirement::Requirement::Root,
            "setting capabilities of a file",
        );
        return;
    }
    // Another process has it open, and this one has inherited it.
    let mut sleeping = std::process::Command::new("sleep")
        .arg("60")
        .stdin(File::open(&path).unwrap())
        .spawn()
        .unwrap();
    let inherited = rustix::fs::open(&path, OFlags::WRONLY, Mode::empty()).unwrap();
    let paths = [
        path.clone(),
        format!("/proc/{}/fd/0", sleeping.id()).into(),
        format!("/dev/fd/{}", inherited.as_raw_fd()).into(),
    ];
    let results = paths.map(|path| write_output(&path, b"text"));
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
    for result in results {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("file capabilities"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"before");
}

/// Another user keeps exchanging two links: one of root that leads to a harmless file, and one of
/// the user that leads to a file of root. Owner and target must belong to the same link.
#[test]
fn symlink_swapped_during_resolution_is_not_followed() {
    use rustix::fs::{RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    if !rustix::process::geteuid().is_root() {
        let skip = crate::requirement::skip;
        skip(crate::requirement::Requirement::Root, "links of two users");
        return;
    }
    const USER: u32 = 1000;
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    let (link, other) = (base.join("home/link"), base.join("home/other"));
    for name in ["home", "fine", "victim"] {
        fs::create_dir(base.join(name)).unwrap();
        fs::write(base.join(name).join("file"), "").unwrap();
    }
    symlink(base.join("fine"), &link).unwrap();
    symlink(base.join("victim"), &other).unwrap();
    // A link of root there may lead only to files of the directory's owner.
    let of_user = ["home", "fine", "fine/file"].map(|name| base.join(name));
    for path in of_user.iter().chain([&other]) {
        std::os::unix::fs::lchown(path, Some(USER), None).unwrap();
    }
    let fine = FileId::of_metadata(&fs::metadata(base.join("fine")).unwrap());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                renameat_with(CWD, &link, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let mut seen = (0, 0);
        let mut wrong = 0;
        while (seen.0 < 2000 || seen.1 < 2000) && wrong == 0 {
            match resolve_entry(&link.join("file")) {
                Ok((directory, _)) if directory == fine => seen.0 += 1,
                Ok(_) => wrong += 1,
                Err(_) => seen.1 += 1,
            }
        }
        ended.store(true, Ordering::Relaxed);
        assert_eq!(wrong, 0, "after {seen:?}");
    });
}

/// Whoever may make names there gives a file another one and takes it away again: its number of
/// names is one only for a moment.
#[test]
fn second_name_that_comes_and_goes_is_not_trusted() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let base = tempfile::tempdir().unwrap();
    let shared = base.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let (victim, name) = (base.path().join("victim"), shared.join("name"));
    fs::write(&victim, "").unwrap();
    fs::hard_link(&victim, &name).unwrap();
    let refused = |path: &Path| matches!(resolve_trusted(path), Err(TrustError::Untrusted(_)));
    assert!(refused(&name));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                fs::remove_file(&name).unwrap();
                fs::hard_link(&victim, &name).unwrap();
            }
        });
        let trusted = (0..20).filter(|_| resolve_trusted(&name).is_ok()).count();
        ended.store(true, Ordering::Relaxed);
        assert_eq!(trusted, 0);
    });
    fs::remove_file(&victim).unwrap();
    let alone = resolve_trusted(&name).unwrap();
    assert_eq!(
        alone.id(),
        FileId::of_metadata(&fs::metadata(&name).unwrap())
    );
    fs::remove_file(&name).unwrap();
    assert_eq!(resolve_trusted(&name).unwrap_err(), TrustError::Missing);
}
