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
        assert_refused(&sandbox, &output, "a symbolic link that user 1000 created");
    }
    let output = sandbox
        .command(&["record", "shared/way/day.rec"])
        .output()
        .unwrap();
    assert_refused(&sandbox, &output, "a symbolic link that user 1000 created");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(sandbox.file_names("."), ["shared", "victim"]);
}

#[test]
fn symlink_of_other_user_reaches_only_their_files() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let home = sandbox.join("home");
    fs::create_dir(&home).unwrap();
    fs::write(sandbox.join("victim"), "precious").unwrap();
    fs::write(home.join("own"), "before").unwrap();
    symlink("../victim", home.join("bad")).unwrap();
    symlink("own", home.join("good")).unwrap();
    for name in ["", "own", "bad", "good"] {
        lchown(home.join(name), Some(ORDINARY_USER), None).unwrap();
    }
    assert_refused(
        &sandbox,
        &sandbox.run_to("home/bad"),
        "a symbolic link of user 1000",
    );
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
    let output = sandbox.run_to("home/good");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_document(&fs::read_to_string(home.join("own")).unwrap());
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
        assert_refused(
            &sandbox,
            &sandbox.run_to(name),
            "a symbolic link of user 1000",
        );
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
    fs::write(sandbox.join("victim"), "precious").unwrap();
    fs::hard_link(sandbox.join("victim"), shared.join("hard")).unwrap();
    let output = sandbox.run_to("shared/hard");
    assert_refused(&sandbox, &output, "another name of a file");
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
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
        message
            .matches("a symbolic link of user 1000 leads to an open file")
            .count(),
        5,
        "{message}"
    );
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
    assert_eq!(sandbox.file_names("."), ["err", "home", "victim"]);
}

#[test]
fn open_file_of_other_process_must_belong_to_its_user() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    for name in ["victim", "theirs"] {
        fs::write(sandbox.join(name), "precious").unwrap();
    }
    chown(sandbox.join("theirs"), Some(ORDINARY_USER), None).unwrap();
    let script = r#"
        setpriv --reuid 1000 --regid 1000 --clear-groups sleep 60 8< victim 9<> theirs & other=$!
        until [ "$(cat /proc/$other/comm)" = sleep ]; do :; done
        "$P" $RUN --json /proc/$other/fd/8 2> err; echo $?
        "$P" $RUN --json /proc/$other/fd/9 > text 2>> err; echo $?
        kill $other
    "#;
    let output = sandbox.script(script).output().unwrap();
    let message = fs::read_to_string(sandbox.join("err")).unwrap();
    assert_eq!(stdout(&output), "2\n0\n", "{message}");
    assert!(message.contains("it belongs to user 0"), "{message}");
    assert_eq!(
        fs::read_to_string(sandbox.join("victim")).unwrap(),
        "precious"
    );
    assert_document(&fs::read_to_string(sandbox.join("theirs")).unwrap());
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
        // What anybody can do where fs.protected_hardlinks is 0.
        fs::hard_link(sandbox.join("victim"), shared.join("hard")).unwrap();
        symlink("../victim", sandbox.join("link-of-root")).unwrap();
        fs::hard_link(sandbox.join("link-of-root"), shared.join("second")).unwrap();
        for (name, why) in [
            ("shared/theirs", "belongs to user 1000"),
            ("shared/planted", "a symbolic link that user 1000 created"),
            ("shared/hard", "another name of a file of user 0"),
            ("shared/second", "another name of a symbolic link of user 0"),
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
        let why = "a symbolic link of any user who can write to its directory";
        for name in ["shared/out.json", "shared/below/link"] {
            assert_refused(&sandbox, &sandbox.run_to(name), why);
        }
        // Nobody else can move it in one with a sticky bit.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        let output = sandbox.run_to("shared/out.json");
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_document(&fs::read_to_string(sandbox.join("victim")).unwrap());
    }
}

/// A link below directories of two users leads to files of neither.
#[test]
fn link_that_two_users_can_move_is_not_followed() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let home = sandbox.join("home");
    let other = ORDINARY_USER + 1;
    fs::create_dir_all(home.join("other")).unwrap();
    fs::write(sandbox.join("victim"), "precious").unwrap();
    symlink("../../victim", home.join("other/link")).unwrap();
    chown(&home, Some(ORDINARY_USER), None).unwrap();
    for path in [home.join("other"), sandbox.join("victim")] {
        chown(path, Some(other), None).unwrap();
    }
    let output = sandbox.run_to("home/other/link");
    assert_refused(&sandbox, &output, "a symbolic link of user 1000");
}

/// The current directory was moved by its owner: `..` is another directory now.
#[test]
fn parent_of_a_directory_that_another_user_moved_is_not_trusted() {
    if !is_root() {
        return;
    }
    let sandbox = OutputSandbox::new();
    let shared = sandbox.sticky_directory("shared");
    fs::create_dir_all(sandbox.join("home/work/deep")).unwrap();
    fs::create_dir(sandbox.join("etc")).unwrap();
    for victim in ["shared/out.json", "etc/conf"] {
        fs::write(sandbox.join(victim), "precious").unwrap();
    }
    for theirs in ["home", "home/work"] {
        chown(sandbox.join(theirs), Some(ORDINARY_USER), None).unwrap();
    }
    let run = |from: &str, output: &str| {
        let words = [&crate::outputs::sandbox::SHORT_RUN[..], &["--json", output]].concat();
        let mut command = sandbox.command(&words);
        command.current_dir(sandbox.join(from)).output().unwrap()
    };
    // Where it was: the parent is the same user's.
    let output = run("home/work", "../out.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    fs::remove_dir_all(sandbox.join("state")).unwrap();
    fs::rename(sandbox.join("home/work"), shared.join("work")).unwrap();
    let why = "the parent (..) of a directory of user 1000";
    for (from, output) in [
        ("shared/work", "../out.json"),
        ("shared/work", "../../etc/conf"),
        ("shared/work/deep", "../../out.json"),
        ("shared/work/deep", "../../new.json"),
        (".", "shared/work/../out.json"),
    ] {
        assert_refused(&sandbox, &run(from, output), why);
    }
    for victim in ["shared/out.json", "etc/conf"] {
        let text = fs::read_to_string(sandbox.join(victim)).unwrap();
        assert_eq!(text, "precious", "{victim}");
    }
    // Root's own directories are where root put them.
    let output = run("etc", "../etc/new.json");
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
}

/// As a stick is mounted by udisks2: owner and mode of what is on it were set elsewhere.
#[test]
fn link_on_a_medium_made_elsewhere_does_not_lead_off_it() {
    let sandbox = OutputSandbox::new();
    sandbox.write_session("s.json");
    let script = r#"
        mkdir m; echo precious > conf; : > fstab
        truncate -s 16M image; mkfs.ext4 -q -F image
        mount -o loop image m; mountpoint -q m
        echo before > m/inside
        ln -s "$D/conf" m/out.html; ln -s "$D" m/way; ln -s inside m/good
        umount m; [ -e /etc/fstab ] || { : > fstab-needed; exit 0; }
        mount --bind fstab /etc/fstab
        report() { "$P" report s.json -o "$1" 2>> err && echo 0 || echo $?; }
        mount -o loop,nosuid,nodev image m; mountpoint -q m
        report m/out.html; report m/way/conf; report m/way/new; report m/good; cat conf
        umount m
        # Mounted by the administrator.
        echo "/dev/sdx $D/m ext4 nosuid,nodev 0 0" > fstab
        mount -o loop,nosuid,nodev image m; mountpoint -q m
        report m/out.html; head -c 9 conf
        umount m
    "#;
    let Some(output) = sandbox.script_in_mount_namespace(script) else {
        return;
    };
    if sandbox.join("fstab-needed").exists() {
        let reason = "no /etc/fstab to mount another on";
        crate::requirement::skip(crate::requirement::Requirement::Namespaces, reason);
        return;
    }
    let message = fs::read_to_string(sandbox.join("err")).unwrap_or_default();
    let expected = "2\n2\n2\n0\nprecious\n0\n<!doctype";
    assert_eq!(
        stdout(&output).to_lowercase(),
        expected,
        "{message}{}",
        stderr(&output)
    );
    let refused = "a symbolic link on a medium leads off it";
    assert_eq!(message.matches(refused).count(), 3, "{message}");
    assert!(!sandbox.join("new").exists());
}
