//! What happens to a target while it is written.

use std::process::Stdio;

use crate::loop_device::LoopDevice;
use crate::place::{
    Background, Place, assert_refused, is_locked, is_root, overwrite, overwriting, wait_until,
};

/// A run of half a minute that has begun to write.
fn writing(target: &std::path::Path) -> Background {
    let mut command = overwriting(
        target.as_os_str(),
        &["--duration", "30s", "--rate", "100/s"],
    );
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let changed = || std::fs::metadata(target).unwrap().modified().unwrap();
    let before = changed();
    let child = Background(command.spawn().unwrap());
    wait_until("it holds its locks", || is_locked(target));
    wait_until("a write", || changed() != before);
    child
}

#[test]
fn second_run_on_the_same_file_is_refused() {
    let place = Place::new();
    let file = place.image("file");
    let first = writing(&file);
    assert_refused(&overwrite(&file), "holds a lock on");
    drop(first);
}

#[test]
fn run_ends_at_once_when_its_file_is_attached_to_a_loop_device() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let file = place.image("file");
    let mut run = writing(&file);
    let Some(device) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    let began = std::time::Instant::now();
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    assert_eq!(run.0.wait().unwrap().code(), Some(3));
    let document: serde_json::Value =
        serde_json::from_reader(run.0.stdout.take().unwrap()).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["state"], "failed");
    let said = run["error"].to_string();
    assert!(said.contains("is attached to"), "{said}");
    drop(device);
}
