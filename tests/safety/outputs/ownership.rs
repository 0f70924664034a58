//! What an existing file keeps, and what a new one gets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::outputs::sandbox::{
    LONG_RUN, ORDINARY_USER, OutputSandbox, assert_document, exit_code, is_root, stderr, stdout,
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
fn hard_link_is_written_in_place() {
    let sandbox = OutputSandbox::new();
    fs::write(sandbox.join("one"), "x".repeat(100_000)).unwrap();
    fs::hard_link(sandbox.join("one"), sandbox.join("two")).unwrap();
    let output = sandbox.run_to("one");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(sandbox.join("two")).unwrap());
    assert_eq!(owner_mode_and_inode(&sandbox.join("one")).3, 2);
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

#[test]
fn extended_attributes_and_acls_are_kept() {
    let sandbox = OutputSandbox::new();
    for (name, program, words) in [
        ("xattr", "setfattr", &["-n", "user.note", "-v", "kept"][..]),
        ("acl", "setfacl", &["-m", "u:12345:r"][..]),
    ] {
        fs::write(sandbox.join(name), "before").unwrap();
        let set = Command::new(program)
            .args(words)
            .arg(sandbox.join(name))
            .output();
        if !set.is_ok_and(|output| output.status.success()) {
            skip(Requirement::Program, format!("{program} fails here"));
            continue;
        }
        let list = || {
            let mut list = vec![0; 4096];
            let length = rustix::fs::listxattr(sandbox.join(name), &mut list[..]).unwrap();
            list.truncate(length);
            list
        };
        let before = list();
        assert!(!before.is_empty());
        let output = sandbox.run_to(name);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_eq!(list(), before);
        assert_document(&fs::read_to_string(sandbox.join(name)).unwrap());
    }
}

#[test]
fn bind_mounted_file_is_written_in_place() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        echo before > "$D/file"
        echo mountpoint > "$D/at"
        mount --bind "$D/file" "$D/at"
        "$P" $RUN --json "$D/at" > /dev/null
        cmp "$D/file" "$D/at"
        umount "$D/at"
        cat "$D/at"
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "mountpoint\n");
    assert_document(&fs::read_to_string(sandbox.join("file")).unwrap());
}

#[test]
fn project_id_is_kept() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        truncate -s 320M "$D/image"
        mkfs.xfs -q "$D/image"
        mkdir "$D/m"
        mount -o loop "$D/image" "$D/m"
        echo before > "$D/m/out"
        chattr -p 4242 "$D/m/out"
        "$P" $RUN --json "$D/m/out" > /dev/null
        lsattr -p "$D/m/out"
        cp "$D/m/out" "$D/out"
        umount "$D/m"
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    if stderr(&output).contains("mount:") {
        return skip(Requirement::Xfs, stderr(&output));
    }
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let listed = stdout(&output);
    assert!(listed.trim_start().starts_with("4242 "), "{listed}");
    assert_document(&fs::read_to_string(sandbox.join("out")).unwrap());
}

#[test]
fn attributes_that_change_during_the_run_are_kept() {
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("scratch")).unwrap();
    let (path, link) = (sandbox.join("out.json"), sandbox.join("link"));
    for has_link in [false, true] {
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let child = sandbox.command(&LONG_RUN).spawn().unwrap();
        let journal = sandbox.wait_for_journal();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            chown(&path, Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
        }
        if has_link {
            fs::hard_link(&path, &link).unwrap();
        }
        let changed = owner_mode_and_inode(&path);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(exit_code(&output), 130, "{}", stderr(&output));
        assert_eq!(owner_mode_and_inode(&path), changed, "{has_link}");
        let read = if has_link { &link } else { &path };
        assert!(fs::read_to_string(read).unwrap().contains("interrupted"));
        assert!(!journal.exists());
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn file_in_directory_without_write_permission_is_written_in_place() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    fs::create_dir(sandbox.join("closed")).unwrap();
    fs::write(sandbox.join("closed/out"), "before").unwrap();
    chown(
        sandbox.join("closed/out"),
        Some(ORDINARY_USER),
        Some(ORDINARY_USER),
    )
    .unwrap();
    for path in sandbox.path().ancestors().take(1) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = r#"cp "$P" "$D/program" && XDG_STATE_HOME=/nonexistent setpriv --reuid 1000 \
        --regid 1000 --clear-groups "$D/program" $RUN --json closed/out"#;
    let output = sandbox.script(script).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(sandbox.join("closed/out")).unwrap());
    assert_eq!(
        owner_mode_and_inode(&sandbox.join("closed/out")).0,
        ORDINARY_USER
    );
}

#[test]
fn set_user_id_bit_is_kept_for_its_owner() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let script = r#"
        mount -t tmpfs -o mode=755 none "$D"
        cd "$D" && cp "$P" program && mkdir state && chown 1000:1000 state
        echo before > out.json && chown 1000:1000 out.json && chmod 6755 out.json
        setpriv --reuid 1000 --regid 1000 --clear-groups ./program $RUN --json out.json >/dev/null
        stat -c %a out.json
        head -c 1 out.json
    "#;
    if let Some(output) = sandbox.script_in_mount_namespace(script) {
        assert_eq!(stdout(&output), "6755\n{", "{}", stderr(&output));
    }
}

/// As in a container of an ordinary user: a group without a number in the user namespace has that of
/// the group nobody, which is another one outside of it.
#[test]
fn group_outside_of_the_user_namespace_is_kept() {
    let sandbox = OutputSandbox::new();
    let script = r#"
        mount -t tmpfs -o mode=755 none "$D"
        cd "$D" && cp "$P" program && mkdir out && echo before > out/file
        chown -R 1000:1000 out && chgrp 33 out/file && chmod 640 out/file
        unshare --user sleep 60 &
        for try in $(seq 300); do
            [ $(readlink /proc/$!/ns/user) != $(readlink /proc/self/ns/user) ] && break || sleep 0.1
        done
        for map in uid_map gid_map; do env printf '0 1000 1\n1 100000 65535\n' > /proc/$!/$map; done
        export XDG_STATE_HOME=/nonexistent
        nsenter --user --target $! --setuid 0 --setgid 0 ./program $RUN --json out/file > text
        kill $!
        stat -c '%u:%g %a' out/file
        head -c 1 out/file
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    if stderr(&output).contains("unshare:") {
        return skip(Requirement::Namespaces, stderr(&output));
    }
    assert_eq!(stdout(&output), "1000:33 640\n{", "{}", stderr(&output));
}

/// Flags that chattr(1) sets for a file, and that of an encrypted file that was moved out of its
/// directory.
#[test]
fn flags_of_the_file_are_kept() {
    let uncompressed = ("chattr +m out", "mkfs.btrfs -q", Requirement::Btrfs);
    let encrypted = (
        "key=$(head -c 64 /dev/zero | xfs_io -c add_enckey . | grep -o '[0-9a-f]\\{32\\}')
         mkdir safe && xfs_io -c \"set_encpolicy -v 2 $key\" safe
         echo before > safe/out && mv safe/out out && lsattr out | cut -d' ' -f1 | grep -q E",
        "mkfs.ext4 -q -O encrypt",
        Requirement::Kernel,
    );
    for (set_flag, make, requirement) in [uncompressed, encrypted] {
        let sandbox = OutputSandbox::new();
        let script = format!(
            r#"
            truncate -s 200M "$D/image" && mkdir "$D/m"
            {make} "$D/image" > "$D/text" && mount -o loop "$D/image" "$D/m" || exit 9
            cd "$D/m" && echo before > out && {set_flag} || exit 9
            lsattr out
            "$P" $RUN --json out > "$D/text"
            lsattr out
            cp out "$D/out"
            cd "$D" && umount m
            "#
        );
        let Some(output) = sandbox.script_in_mount_namespace(&script) else {
            return;
        };
        if exit_code(&output) == 9 {
            skip(requirement, stderr(&output));
            continue;
        }
        let listed = stdout(&output);
        let mut flags = listed.lines();
        assert!(
            flags
                .next()
                .is_some_and(|before| Some(before) == flags.next()),
            "{listed}"
        );
        assert_document(&fs::read_to_string(sandbox.join("out")).unwrap());
    }
}

/// The driver does not list them.
#[test]
fn windows_attributes_and_access_control_list_of_a_file_on_ntfs_are_kept() {
    let sandbox = OutputSandbox::new();
    // Archive, system, hidden; an access control list with one entry.
    let script = r#"
        truncate -s 64M "$D/image" && mkdir "$D/m"
        mkfs.ntfs -q -F -Q "$D/image" > "$D/text" 2>&1 || exit 9
        ntfs-3g "$D/image" "$D/m" || exit 9
        mountpoint -q "$D/m"
        cd "$D/m" && echo before > out
        setfattr -n system.ntfs_attrib_be -v "$ATTRIBUTES" out || exit 9
        setfattr -n system.ntfs_acl -v "$ACL" out || exit 9
        show() {
            getfattr -e hex -n system.ntfs_attrib_be out
            getfattr -e hex -n system.ntfs_acl out
        }
        show > "$D/before"
        "$P" $RUN --json out > "$D/text"
        show > "$D/after"
        cp out "$D/out"
        cd "$D" && umount m
    "#;
    let acl = "0x0100048014000000200000000000000030000000010100000000000512000000010200000000000520000000\
        200200000200340002000000000014008900120001010000000000010000000000001800ff011f00010200000000000520\
        00000020020000";
    let script = format!("ATTRIBUTES=0x00000026\nACL={acl}\n{script}");
    let Some(output) = sandbox.script_in_mount_namespace(&script) else {
        return;
    };
    if exit_code(&output) == 9 {
        return skip(Requirement::Program, stderr(&output));
    }
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let [before, after] = ["before", "after"].map(|file| fs::read(sandbox.join(file)).unwrap());
    assert!(!before.is_empty());
    assert_eq!(before, after);
    assert_document(&fs::read_to_string(sandbox.join("out")).unwrap());
}
