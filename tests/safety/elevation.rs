//! Rights that come from the program's file are refused; those that the caller has are used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::requirement::{Requirement, is_root, skip};

/// A copy of the program in a directory that everybody may look into.
struct ProgramCopy {
    _directory: tempfile::TempDir,
    program: PathBuf,
}

impl ProgramCopy {
    /// `None`, and why, without root.
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = directory.path().join("diskscope");
        // By a process of its own: one that another test starts meanwhile would inherit our descriptor, and
        // a file that is open for writing is not executed.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_diskscope")).arg(&program);
        assert!(copy.status().unwrap().success());
        let copy = Self {
            _directory: directory,
            program,
        };
        copy.set_mode(0o755);
        Some(copy)
    }

    fn set_mode(&self, mode: u32) {
        fs::set_permissions(&self.program, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Gives the file capabilities; `false`, and why, where that fails.
    fn set_capabilities(&self, text: &str) -> bool {
        let done = Command::new("setcap").arg(text).arg(&self.program).status();
        let done = done.is_ok_and(|status| status.success());
        if !done {
            skip(Requirement::Program, "setcap fails");
        }
        done
    }

    /// Run by an ordinary user with these further options of setpriv(1).
    fn run(&self, options: &[&str]) -> Output {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=1000", "--regid=1000", "--clear-groups"]);
        command.args(options).arg(&self.program);
        command
            .args(["tests", "--json"])
            .env("HOME", "/nonexistent");
        command.output().unwrap()
    }

    #[track_caller]
    fn assert_refused(&self, options: &[&str], sentence: &str) {
        let output = self.run(options);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(message.contains(sentence), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn set_uid_and_set_gid_program_is_refused() {
    let Some(copy) = ProgramCopy::new() else {
        return;
    };
    assert!(copy.run(&[]).status.success());
    for (owner, mode) in [
        (0, 0o4755),
        (0, 0o2755),
        (0, 0o6755),
        // Of another ordinary user.
        (65_534, 0o4755),
    ] {
        chown(&copy.program, Some(owner), Some(owner)).unwrap();
        copy.set_mode(mode);
        copy.assert_refused(&[], "set-uid or set-gid");
    }
    copy.set_mode(0o755);
    assert!(copy.run(&[]).status.success());
}

#[test]
fn program_with_file_capabilities_is_refused_and_with_ambient_ones_runs() {
    let Some(copy) = ProgramCopy::new() else {
        return;
    };
    let ambient = [
        "--inh-caps=+dac_read_search,+sys_ptrace",
        "--ambient-caps=+dac_read_search,+sys_ptrace",
    ];
    assert!(copy.run(&ambient).status.success());
    for (capabilities, options) in [
        ("cap_dac_override+ep", &[][..]),
        ("cap_sys_ptrace+p", &[]),
        ("cap_dac_override+ei", &["--inh-caps=+dac_override"]),
    ] {
        if !copy.set_capabilities(capabilities) {
            return;
        }
        copy.assert_refused(options, "has capabilities");
    }
    // Root has nothing from the file.
    let root = Command::new(&copy.program).arg("tests").output();
    assert!(root.unwrap().status.success());
}
