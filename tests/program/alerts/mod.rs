//! `watch --on CONDITION`: triggers of real loads, and the command that they start.

mod command;
mod exposition;
mod triggers;

use std::process::{Command, Output};

/// Holds in every sample but the first.
const ALWAYS: &str = "cpu_busy(system)>=0%";

/// `watch` with ten samples per second.
fn watch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.args(["watch", "--interval", "100ms"]);
    command.args(arguments);
    for variable in ["SUDO_UID", "SUDO_GID", "PKEXEC_UID"] {
        command.env_remove(variable);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a successful `watch` printed to stdout and stderr.
fn printed(output: &Output) -> (String, String) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    (stdout, stderr)
}
