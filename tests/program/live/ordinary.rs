//! The notices for an ordinary user: once that others' processes are not shown, and never a 0 for what
//! is not known.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::requirement::{Requirement, skip};

/// A user without rights (nobody).
const NOBODY_UID: &str = "65534";

/// What `watch` says to that user on both streams; `None` where it cannot be asked.
fn watch_as_nobody(directory: &Path) -> Option<(String, String)> {
    // The user may have no way to where the program was built.
    let program = directory.join("diskscope");
    fs::copy(env!("CARGO_BIN_EXE_diskscope"), &program).unwrap();
    for path in [directory, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ids = [
        format!("--reuid={NOBODY_UID}"),
        format!("--regid={NOBODY_UID}"),
    ];
    let output = Command::new("setpriv")
        .args(ids)
        .arg("--clear-groups")
        .arg(&program)
        .args(["watch", "--json", "--interval", "200ms", "--count", "3"])
        .output()
        .ok()?;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let refused = !output.status.success() && output.stdout.is_empty();
    (!refused).then(|| (text(output.stdout), text(output.stderr)))
}

#[test]
fn io_of_other_users_is_unknown_to_unprivileged_user() {
    let directory = tempfile::tempdir().unwrap();
    let Some((lines, notes)) = watch_as_nobody(directory.path()) else {
        skip(Requirement::Root, "needs root and setpriv");
        return;
    };
    let message = notes.matches("not permitted").count();
    assert_eq!(message, 1, "said once: {notes}");
    let samples: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(samples.len(), 3);
    for sample in &samples {
        assert!(sample["devices"].is_array() && sample["process_count"].as_u64() > Some(1));
        assert!(
            sample["host"]["cache_hits"].is_null(),
            "of its own reads alone"
        );
        for process in sample["processes"].as_array().unwrap() {
            let others = process["user"] != "nobody" && process["user"] != NOBODY_UID;
            if others {
                for field in ["read_bytes_per_s", "write_bytes_per_s", "read_total_bytes"] {
                    assert!(process[field].is_null(), "{process}");
                }
            }
        }
    }
}
