//! `diskscope why` on staged faults, each with parameters drawn at random, and on load that is fine.
//!
//! Other load of the machine may have causes of its own: a test looks at those of its own devices
//! and processes.

mod harmless;
mod recorded;
mod server;
mod situation;
mod situations;
mod staging;
mod usage;

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// The document of `why --json` over that time.
fn diagnosis(duration: &str) -> Value {
    let output = why(&["--json", "--duration", duration]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "diskscope-diagnosis");
    document
}

fn why(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .arg("why")
        .args(arguments)
        .output()
        .unwrap()
}

/// The codes of the causes of a device, in the order in which they are named.
fn codes_of_device<'d>(document: &'d Value, device: &str) -> Vec<&'d str> {
    let name = device.trim_start_matches("/dev/");
    let causes = document["causes"].as_array().unwrap().iter();
    causes
        .filter(|cause| cause["device"] == name)
        .map(|cause| cause["code"].as_str().unwrap())
        .collect()
}

/// Programs that run, with what they have started, until this is dropped.
struct Load(Vec<Child>);

impl Load {
    fn shell(lines: impl IntoIterator<Item = String>) -> Self {
        let start = |line: String| {
            Command::new("sh")
                .args(["-c", &line])
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self(lines.into_iter().map(start).collect())
    }

    fn pids(&self) -> Vec<u64> {
        self.0.iter().map(|child| child.id().into()).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &self.0 {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
