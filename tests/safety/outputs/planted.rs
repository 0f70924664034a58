//! Names that somebody else made in a directory that others can write.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};

use crate::outputs::sandbox::{
    ORDINARY_USER, OutputSandbox, assert_document, assert_refused, exit_code, is_root, stderr,
    stdout,
};

#[test]
fn link_planted_as_partial_file_is_not_followed() {
    let sandbox = OutputSandbox::new();
    let shared = sandbox.sticky_directory("shared");
    let victim = sandbox.join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, shared.join("out.json.partial")).unwrap();
    symlink(&victim, shared.join("report.html.partial")).unwrap();
    let output = sandbox.run_to("shared/out.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let words = ["report", "shared/out.json", "-o", "shared/report.html"];
    let output = sandbox.command(&words).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_document(&fs::read_to_string(shared.join("out.json")).unwrap());
}

#[test]
fn link_of_another_user_as_output_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let shared = sandbox.sticky_directory("shared");
    let victim = sandbox.join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, shared.join("out.json")).unwrap();
    symlink(sandbox.path(), shared.join("way")).unwrap();
    symlink(sandbox.join("made"), shared.join("dangling")).unwrap();
    for name in ["out.json", "way", "dangling"] {
        lchown(shared.join(name), Some(ORDINARY_USER), None).unwrap();
    }
    for name in ["shared/out.json", "shared/way/victim", "shared/dangling"] {
        let output = sandbox.run_to(name);
        assert_refused(
            &sandbox,
            &output,
            "a symbolic link in a directory that others can write",
        );
    }
    let output = sandbox
        .command(&["record", "shared/way/day.rec"])
        .output()
        .unwrap();
    assert_refused(
        &sandbox,
        &output,
        "a symbolic link in a directory that others can write",
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(sandbox.file_names("."), ["shared", "victim"]);
}

#[test]
fn movable_root_symlink_reaches_no_root_file() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let home = sandbox.join("home");
    fs::create_dir_all(home.join("deep/er")).unwrap();
    fs::write(sandbox.join("victim"), "precious").unwrap();
    // Made by root; the owner of the directory gave it this name, or moved what it lies in.
    symlink(sandbox.join("victim"), home.join("moved")).unwrap();
    symlink("../../../victim", home.join("deep/er/below")).unwrap();
    lchown(&home, Some(ORDINARY_USER), None).unwrap();
    for name in ["home/moved", "home/deep/er/below"] {
        assert_refused(&sandbox, &sandbox.run_to(name), "belongs to user 1000");
    }
    let victim = fs::read_to_string(sandbox.join("victim")).unwrap();
    assert_eq!(victim, "precious");
}

#[test]
fn file_of_another_user_in_shared_directory_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let shared = sandbox.sticky_directory("shared");
    fs::write(shared.join("theirs"), "before").unwrap();
    chown(shared.join("theirs"), Some(ORDINARY_USER), None).unwrap();
    let output = sandbox.run_to("shared/theirs");
    assert_refused(&sandbox, &output, "belongs to user 1000");
    assert_eq!(fs::read_to_string(shared.join("theirs")).unwrap(), "before");
}

#[test]
fn recording_never_opens_existing_file() {
    let sandbox = OutputSandbox::new();
    fs::write(sandbox.join("victim"), "precious").unwrap();
    symlink("victim", sandbox.join("link")).unwrap();
    symlink("nowhere", sandbox.join("dangling")).unwrap();
    for name in ["victim", "link"] {
        let output = sandbox.command(&["record", name]).output().unwrap();
        assert_refused(&sandbox, &output, "exists already");
    }
    let words = [
        "record",
        "dangling",
        "--interval",
        "100ms",
        "--duration",
        "100ms",
    ];
    let output = sandbox.command(&words).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        fs::metadata(sandbox.join("nowhere")).unwrap().mode() & 0o777,
        0o600
    );
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
}

#[test]
fn link_of_another_user_to_open_files_of_processes_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let home = sandbox.join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(ORDINARY_USER), None).unwrap();
    fs::write(sandbox.join("victim"), "precious").unwrap();
    // 9 is open in the script, and inherited by the program.
    let script = r#"
        exec 9<> victim
        sleep 60 & other=$!
        setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "
            ln -s /proc/$other/fd/9 home/other
            ln -s /proc/self/fd/9 home/own
            ln -s /dev/fd/9 home/short
            ln -s /proc/$other/cwd home/way
            ln -s /proc/$other/cwd/new home/new"
        for name in other own short way/victim new; do
            "$P" $RUN --json home/$name 2>> err; echo $name $?
        done
        kill $other
    "#;
    let output = sandbox.script(script).output().unwrap();
    let expected = "other 2\nown 2\nshort 2\nway/victim 2\nnew 2\n";
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), expected, "{message}");
    assert_eq!(
        message.matches("belongs to user 1000").count(),
        5,
        "{message}"
    );
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
    assert_eq!(sandbox.file_names("."), ["err", "home", "victim"]);
}

/// As far as it is called shared: by the group, with and without sticky bit, or by an access control
/// list.
#[test]
fn directory_writable_by_group_or_acl_is_shared() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        return;
    }
    for mode in [0o775, 0o2775, 0o1775, 0o720, 0o777, 0] {
        let sandbox = OutputSandbox::new();
        let shared = sandbox.sticky_directory("shared");
        let by_list = mode == 0;
        let bits = if by_list { 0o755 } else { mode };
        fs::set_permissions(&shared, fs::Permissions::from_mode(bits)).unwrap();
        if by_list {
            let words = ["-m", "u:1000:rwx", shared.to_str().unwrap()];
            let set = std::process::Command::new("setfacl").args(words).status();
            if !set.is_ok_and(|status| status.success()) {
                let reason = "no access control lists (setfacl)";
                crate::requirement::skip(crate::requirement::Requirement::Program, reason);
                continue;
            }
        }
        for name in ["victim", "shared/theirs"] {
            fs::write(sandbox.join(name), "precious").unwrap();
        }
        chown(shared.join("theirs"), Some(ORDINARY_USER), None).unwrap();
        symlink("../victim", shared.join("planted")).unwrap();
        lchown(shared.join("planted"), Some(ORDINARY_USER), None).unwrap();
        symlink("../victim", shared.join("of-root")).unwrap();
        for (name, why) in [
            ("shared/theirs", "belongs to user 1000"),
            ("shared/planted", "is a symbolic link"),
            ("shared/of-root", "is a symbolic link"),
        ] {
            assert_refused(&sandbox, &sandbox.run_to(name), why);
        }
        let victim = fs::read_to_string(sandbox.join("victim")).unwrap();
        assert_eq!(victim, "precious", "{mode:o}");
        let output = sandbox.run_to("shared/new");
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    }
}

/// A link of root's that others gave the name, or that lies below what they can move: directories
/// of root's that a group or everybody can write, without sticky bit.
#[test]
fn link_of_root_that_a_group_can_move_is_not_followed() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        return;
    }
    for mode in [0o777, 0o775, 0o2775] {
        let sandbox = OutputSandbox::new();
        let shared = sandbox.sticky_directory("shared");
        fs::create_dir(shared.join("below")).unwrap();
        fs::write(sandbox.join("victim"), "precious").unwrap();
        symlink("../victim", shared.join("current")).unwrap();
        symlink("../../victim", shared.join("below/link")).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(shared.join("current"), shared.join("out.json")).unwrap();
        let why = "is a symbolic link, and other users can write to";
        for name in ["shared/out.json", "shared/below/link"] {
            assert_refused(&sandbox, &sandbox.run_to(name), why);
        }
        assert_eq!(
            fs::read_to_string(sandbox.join("victim")).unwrap(),
            "precious"
        );
    }
}
