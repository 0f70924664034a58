//! Rights that come from the program's file are refused; those that the caller has are used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

use crate::requirement::{Requirement, skip};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SETPRIV_ARGUMENTS: [&str; 3] = ["--reuid=1000", "--regid=1000", "--clear-groups"];

/// The program's copy, run by an ordinary user with these further options of setpriv(1).
fn run_as_ordinary_user(program: &Path, options: &[&str]) -> Output {
    Command::new("setpriv")
        .args(SETPRIV_ARGUMENTS)
        .args(options)
        .arg(program)
        .args(["tests", "--json"])
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn assert_refused(output: &Output, sentence: &str) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains(sentence), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(output.stdout.is_empty());
}

fn assert_runs(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
}

fn set_capabilities(program: &Path, text: &str) -> bool {
    let done = Command::new("setcap").arg(text).arg(program).output();
    match done {
        Ok(done) if done.status.success() => true,
        Ok(done) => {
            skip(Requirement::Program, stderr(&done));
            false
        }
        Err(error) => {
            skip(Requirement::Program, format!("setcap: {error}"));
            false
        }
    }
}

/// A copy of the program in a directory that everybody may look into; `None`, and why, without
/// root and setpriv.
fn copy_program() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    if !rustix::process::geteuid().is_root() {
        skip(
            Requirement::Root,
            "only root makes a set-uid file of root's",
        );
        return None;
    }
    if let Err(error) = Command::new("setpriv").arg("--version").output() {
        skip(Requirement::Program, format!("setpriv: {error}"));
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("diskscope");
    // By a process of its own: one that another test starts meanwhile would inherit our descriptor, and
    // a file that is open for writing is not executed.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_diskscope"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    set_mode(&program, 0o755);
    Some((directory, program))
}

fn set_mode(program: &Path, mode: u32) {
    fs::set_permissions(program, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn set_uid_and_set_gid_program_is_refused() {
    let Some((_directory, program)) = copy_program() else {
        return;
    };
    assert_runs(&run_as_ordinary_user(&program, &[]));
    for mode in [0o4755, 0o2755, 0o6755] {
        set_mode(&program, mode);
        assert_refused(&run_as_ordinary_user(&program, &[]), "set-uid or set-gid");
    }
    // Of another ordinary user.
    chown(&program, Some(65_534), Some(65_534)).unwrap();
    set_mode(&program, 0o4755);
    assert_refused(&run_as_ordinary_user(&program, &[]), "set-uid or set-gid");
    set_mode(&program, 0o755);
    assert_runs(&run_as_ordinary_user(&program, &[]));
}

#[test]
fn program_with_file_capabilities_is_refused() {
    let Some((_directory, program)) = copy_program() else {
        return;
    };
    let inherited = ["--inh-caps=+dac_override"];
    for (capabilities, options) in [
        ("cap_dac_override+ep", &[][..]),
        ("cap_sys_ptrace+p", &[]),
        ("cap_dac_override+ei", &inherited),
    ] {
        if !set_capabilities(&program, capabilities) {
            return;
        }
        assert_refused(&run_as_ordinary_user(&program, options), "has capabilities");
    }
}

#[test]
fn program_with_ambient_capabilities_runs() {
    let Some((_directory, program)) = copy_program() else {
        return;
    };
    let ambient = [
        "--inh-caps=+dac_read_search,+sys_ptrace",
        "--ambient-caps=+dac_read_search,+sys_ptrace",
    ];
    assert_runs(&run_as_ordinary_user(&program, &ambient));
    // Root has nothing from the file.
    if set_capabilities(&program, "cap_sys_ptrace+ep") {
        let root = Command::new(&program).args(["tests", "--json"]).output();
        assert_runs(&root.unwrap());
    }
}
