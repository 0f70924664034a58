//! What an existing file keeps, and what a new one gets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use crate::outputs::privacy::mode;
use crate::outputs::sandbox::{OutputSandbox, assert_document};
use crate::requirement::{Requirement, is_root, skip};

#[test]
fn existing_file_is_replaced_and_keeps_owner_and_mode() {
    let sandbox = OutputSandbox::new();
    let path = sandbox.write("out.json", "before");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if is_root() {
        chown(&path, Some(1000), Some(1000)).unwrap();
    }
    let facts = |path: &Path| {
        let facts = fs::metadata(path).unwrap();
        let owner = (facts.uid(), facts.gid(), facts.mode());
        (owner, facts.ino())
    };
    let (owner, inode) = facts(&path);
    sandbox.run_to("out.json").assert(0, "");
    assert_eq!(facts(&path).0, owner);
    assert_ne!(facts(&path).1, inode, "replaced at once");
    assert_document(&sandbox.read("out.json"));
    assert_eq!(sandbox.file_names(), ["out.json", "state"]);
}

#[test]
fn output_through_symlink_replaces_target_and_keeps_link() {
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("far")).unwrap();
    sandbox.write("far/file", "before");
    for (link, file) in [("link", "far/file"), ("dangling", "far/new")] {
        symlink(file, sandbox.join(link)).unwrap();
        sandbox.run_to(link).assert(0, "");
        assert!(sandbox.join(link).is_symlink());
        assert_document(&sandbox.read(file));
    }
}

/// What a file that is replaced does not keep is said, and nobody gets access by it.
#[test]
fn attributes_that_are_lost_are_named() {
    let sandbox = OutputSandbox::new();
    for (name, command, lost) in [
        (
            "xattr",
            "setfattr -n user.note -v x xattr",
            "extended attributes",
        ),
        (
            "acl",
            "setfacl -m u:12345:rw,g::- acl",
            "access control list",
        ),
        ("linked", "ln linked second", "other names"),
    ] {
        let path = sandbox.write(name, "before");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let set = sandbox.script(command);
        if set.status != 0 {
            skip(Requirement::Program, set.stderr);
            continue;
        }
        let note = format!("note: {name} is replaced without its {lost}");
        sandbox.run_to(name).assert(0, &note);
        assert_document(&sandbox.read(name));
        assert_eq!(mode(&path), 0o600, "{name}");
    }
    assert_eq!(sandbox.read("second"), "before");
}
