//! Load that is fine.

use std::fs::File;

use super::{Load, codes_of_device, diagnosis};
use crate::loop_device::LoopDevice;

/// Causes of severity warning or critical that name one of these processes or this device.
fn problems(document: &serde_json::Value, device: &str, pids: &[u64]) -> Vec<String> {
    let own = codes_of_device(document, device);
    let causes = document["causes"].as_array().unwrap().iter();
    causes
        .filter(|cause| cause["severity"] != "note")
        .filter(|cause| cause["code"] != "not-io" && cause["code"] != "drive-errors")
        .filter(|cause| {
            let victims = cause["victims"].as_array().unwrap().iter();
            let pid = |victim: &serde_json::Value| victim["pid"].as_u64().unwrap();
            own.contains(&cause["code"].as_str().unwrap())
                && cause["device"] == device.trim_start_matches("/dev/")
                || victims.map(pid).any(|pid| pids.contains(&pid))
        })
        .map(|cause| cause["sentence"].to_string())
        .collect()
}

#[test]
fn idle_device_has_no_cause() {
    let Some(device) = LoopDevice::with(&vec![0; 8 << 20]) else {
        return;
    };
    let document = diagnosis("3s");
    let found = problems(&document, device.path(), &[]);
    assert!(found.is_empty(), "{found:?} {document:#}");
}

#[test]
fn fast_reader_is_no_problem() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("disk");
    File::create(&path).unwrap().set_len(4 << 30).unwrap();
    let Some(device) = LoopDevice::attach(&path, &[]) else {
        return;
    };
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs=256K; done",
        device.path()
    )]);
    let document = diagnosis("5s");
    let pids = load.pids();
    drop(load);
    let found = problems(&document, device.path(), &pids);
    assert!(found.is_empty(), "{found:?} {document:#}");
}
