//! What an existing file keeps, and what a new one gets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::outputs::place::{
    ORDINARY_USER, Place, assert_document, exit_code, is_root, stderr, stdout,
};
use crate::requirement::{Requirement, skip};

fn owner_mode_and_inode(path: &Path) -> (u32, u32, u32, u64) {
    let facts = fs::metadata(path).unwrap();
    (
        facts.uid(),
        facts.gid(),
        facts.mode() & 0o7777,
        facts.nlink(),
    )
}

#[test]
fn existing_file_keeps_owner_and_mode() {
    let place = Place::new();
    let path = place.join("out.json");
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if is_root() {
        chown(&path, Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
    }
    let before = owner_mode_and_inode(&path);
    let inode = fs::metadata(&path).unwrap().ino();
    let output = place.run_to("out.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(owner_mode_and_inode(&path), before);
    assert_ne!(
        fs::metadata(&path).unwrap().ino(),
        inode,
        "replaced at once"
    );
    assert_document(&fs::read_to_string(&path).unwrap());
    assert_eq!(place.file_names("."), ["out.json", "state"]);
}

#[test]
fn new_output_file_respects_umask() {
    let place = Place::new();
    for (umask, mode) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        let script = format!("umask {umask}; \"$P\" $RUN --json {umask}.json");
        let output = place.script(&script).output().unwrap();
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_eq!(
            owner_mode_and_inode(&place.join(&format!("{umask}.json"))).2,
            mode
        );
    }
}

#[test]
fn hard_link_is_written_in_place() {
    let place = Place::new();
    fs::write(place.join("one"), "x".repeat(100_000)).unwrap();
    fs::hard_link(place.join("one"), place.join("two")).unwrap();
    let output = place.run_to("one");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(place.join("two")).unwrap());
    assert_eq!(owner_mode_and_inode(&place.join("one")).3, 2);
}

#[test]
fn output_through_symlink_replaces_target_and_keeps_link() {
    let place = Place::new();
    fs::create_dir(place.join("far")).unwrap();
    fs::write(place.join("far/file"), "before").unwrap();
    symlink("far/file", place.join("link")).unwrap();
    symlink("far/new", place.join("dangling")).unwrap();
    for (link, file) in [("link", "far/file"), ("dangling", "far/new")] {
        let output = place.run_to(link);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert!(fs::symlink_metadata(place.join(link)).unwrap().is_symlink());
        assert_document(&fs::read_to_string(place.join(file)).unwrap());
    }
}

#[test]
fn extended_attributes_and_acls_are_kept() {
    let place = Place::new();
    for (name, program, words) in [
        ("xattr", "setfattr", &["-n", "user.note", "-v", "kept"][..]),
        ("acl", "setfacl", &["-m", "u:12345:r"][..]),
    ] {
        fs::write(place.join(name), "before").unwrap();
        let set = Command::new(program)
            .args(words)
            .arg(place.join(name))
            .output();
        if !set.is_ok_and(|output| output.status.success()) {
            skip(Requirement::Program, format!("{program} fails here"));
            continue;
        }
        let list = || {
            let mut list = vec![0; 4096];
            let length = rustix::fs::listxattr(place.join(name), &mut list[..]).unwrap();
            list.truncate(length);
            list
        };
        let before = list();
        assert!(!before.is_empty());
        let output = place.run_to(name);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_eq!(list(), before);
        assert_document(&fs::read_to_string(place.join(name)).unwrap());
    }
}

#[test]
fn bind_mounted_file_is_written_in_place() {
    let place = Place::new();
    let script = r#"
        echo before > "$D/file"
        echo mountpoint > "$D/at"
        mount --bind "$D/file" "$D/at"
        "$P" $RUN --json "$D/at" > /dev/null
        cmp "$D/file" "$D/at"
        umount "$D/at"
        cat "$D/at"
    "#;
    let Some(output) = place.script_in_mount_namespace(script) else {
        return;
    };
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "mountpoint\n");
    assert_document(&fs::read_to_string(place.join("file")).unwrap());
}

#[test]
fn file_in_directory_without_write_permission_is_written_in_place() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    fs::create_dir(place.join("closed")).unwrap();
    fs::write(place.join("closed/out"), "before").unwrap();
    chown(
        place.join("closed/out"),
        Some(ORDINARY_USER),
        Some(ORDINARY_USER),
    )
    .unwrap();
    for path in place.path().ancestors().take(1) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = r#"cp "$P" "$D/program" && XDG_STATE_HOME=/nonexistent setpriv --reuid 1000 \
        --regid 1000 --clear-groups "$D/program" $RUN --json closed/out"#;
    let output = place.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(place.join("closed/out")).unwrap());
    assert_eq!(
        owner_mode_and_inode(&place.join("closed/out")).0,
        ORDINARY_USER
    );
}
