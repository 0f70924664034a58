//! What an existing file keeps, and what a new one gets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::outputs::sandbox::{
    ORDINARY_USER, OutputSandbox, assert_document, assert_refused, exit_code, is_root, stderr,
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
    let sandbox = OutputSandbox::new();
    let path = sandbox.join("out.json");
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if is_root() {
        chown(&path, Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
    }
    let before = owner_mode_and_inode(&path);
    let inode = fs::metadata(&path).unwrap().ino();
    let output = sandbox.run_to("out.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(owner_mode_and_inode(&path), before);
    assert_ne!(
        fs::metadata(&path).unwrap().ino(),
        inode,
        "replaced at once"
    );
    assert_document(&fs::read_to_string(&path).unwrap());
    assert_eq!(sandbox.file_names("."), ["out.json", "state"]);
}

#[test]
fn new_output_file_respects_umask() {
    let sandbox = OutputSandbox::new();
    for (umask, mode) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        let script = format!("umask {umask}; \"$P\" $RUN --json {umask}.json");
        let output = sandbox.script(&script).output().unwrap();
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_eq!(
            owner_mode_and_inode(&sandbox.join(&format!("{umask}.json"))).2,
            mode
        );
    }
}

#[test]
fn output_through_symlink_replaces_target_and_keeps_link() {
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("far")).unwrap();
    fs::write(sandbox.join("far/file"), "before").unwrap();
    symlink("far/file", sandbox.join("link")).unwrap();
    symlink("far/new", sandbox.join("dangling")).unwrap();
    for (link, file) in [("link", "far/file"), ("dangling", "far/new")] {
        let output = sandbox.run_to(link);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert!(
            fs::symlink_metadata(sandbox.join(link))
                .unwrap()
                .is_symlink()
        );
        assert_document(&fs::read_to_string(sandbox.join(file)).unwrap());
    }
}

/// What a file that is replaced does not keep is said, and nobody gets access by it.
#[test]
fn attributes_that_are_lost_are_named() {
    let sandbox = OutputSandbox::new();
    for (name, program, words, lost) in [
        (
            "xattr",
            "setfattr",
            &["-n", "user.note", "-v", "x"][..],
            "extended attributes",
        ),
        (
            "acl",
            "setfacl",
            &["-m", "u:12345:rw,g::-"][..],
            "access control list",
        ),
        ("linked", "ln", &["-f", "-T"][..], "other names"),
    ] {
        let path = sandbox.join(name);
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut set = Command::new(program);
        set.args(words).arg(&path);
        if name == "linked" {
            set.arg(sandbox.join("second"));
        }
        if !set.output().is_ok_and(|output| output.status.success()) {
            skip(Requirement::Program, format!("{program} fails here"));
            continue;
        }
        let output = sandbox.run_to(name);
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 0, "{message}");
        let note = format!("note: {name} is replaced without its {lost}");
        assert!(message.contains(&note), "{message}");
        assert_document(&fs::read_to_string(&path).unwrap());
        assert_eq!(owner_mode_and_inode(&path).2, 0o600, "{name}");
    }
    assert_eq!(
        fs::read_to_string(sandbox.join("second")).unwrap(),
        "before"
    );
}

#[test]
fn mount_point_is_refused_before_the_run() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        echo before > "$D/file"
        touch "$D/at"
        mount --bind "$D/file" "$D/at"
        "$P" $RUN --json "$D/at" || status=$?
        umount "$D/at"
        exit $status
    "#;
    if let Some(output) = sandbox.script_in_mount_namespace(script) {
        assert_refused(&sandbox, &output, "a mount point");
        assert_eq!(
            fs::read_to_string(sandbox.join("file")).unwrap(),
            "before\n"
        );
    }
}
