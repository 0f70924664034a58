//! Signals that whoever started the program wants to be ignored: `nohup`, jobs in the background of
//! a script.

use std::process::Child;

use diskscope::session::document::RunState;
use rustix::process::{Pid, Signal, kill_process};

use crate::robust::sandbox::{RunSandbox, stderr, wait_until};

/// A run of a second, started by a shell that ignores these signals.
fn start_run_ignoring(sandbox: &RunSandbox, signals: &str) -> Child {
    let script = format!("trap '' {signals}; exec \"$@\"");
    let run = sandbox.run("random-read", &["--duration", "1s"]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script, "sh"]).arg(run.get_program());
    shell.args(run.get_args()).current_dir(sandbox.path());
    shell.env("XDG_STATE_HOME", sandbox.state());
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped());
    shell.stderr(std::process::Stdio::piped());
    shell.spawn().unwrap()
}

#[test]
fn signals_ignored_at_start_stay_ignored() {
    for (names, sent) in [("HUP", Signal::HUP), ("INT QUIT", Signal::INT)] {
        let sandbox = RunSandbox::new();
        let child = start_run_ignoring(&sandbox, names);
        wait_until("the journal", || !sandbox.saved_sessions().is_empty());
        kill_process(Pid::from_child(&child), sent).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(
            sandbox.session().runs[0].state,
            RunState::Finished,
            "{names}"
        );
    }
}
