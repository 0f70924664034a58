//! A real loop device is overwritten from the launcher: after its path was typed, and not before.

use crate::requirement::{Requirement, skip};
use std::process::Command;

use diskscope::session::document::RunState;
use diskscope::session::store;

use crate::loop_device::LoopDevice;
use crate::pty::Terminal;
use crate::{directory, diskscope, place_of, possible};

const CONTENT: u8 = 0x5a;

/// A device full of content, where there are terminals to try it in.
fn device() -> Option<LoopDevice> {
    possible()
        .then(|| LoopDevice::with(&vec![CONTENT; 32 << 20]))
        .flatten()
}

/// The device's bytes as the kernel gives them, all from the file behind it.
fn untouched(device: &LoopDevice) -> bool {
    let bytes = std::fs::read(device.file()).unwrap();
    bytes.iter().all(|byte| *byte == CONTENT)
}

/// From the Live screen to the question: 200 random writes to that path.
fn ask(terminal: &mut Terminal, path: &str) {
    terminal.see("DEVICES");
    terminal.keys("b");
    terminal.see("scratch-size");
    // The field begins with a slash.
    terminal.keys(&format!("/{}\r", &path[1..]));
    terminal.wait("the typed path alone", |screen| {
        let shown = screen.contents();
        shown.contains(path) && !shown.contains("path: ") && !shown.contains("scratch-size")
    });
    // To the tests, one further than random-read; then to its parameters.
    terminal.keys("\tj\t");
    let down = "j".repeat(place_of("random-write", "requests"));
    terminal.keys(&format!("{down}\r\x15200\r"));
    terminal.see("it overwrites what is there");
    terminal.keys("s");
    terminal.see("What is there now");
}

#[test]
fn only_the_typed_path_overwrites_a_device() {
    let Some(device) = device() else { return };
    let directory = directory();
    let mut terminal = diskscope(&[], directory.path());
    ask(&mut terminal, device.path());
    terminal.see("33.6 MB");
    terminal.see("Type the path to start");

    let wrong = format!("{}0", device.path());
    for mistake in ["y", "/dev/loop", &wrong] {
        terminal.keys(&format!("\x15{mistake}\r"));
        terminal.see("nothing was started");
        // Back to a field without a mistake.
        terminal.keys("\x15");
        terminal.wait("the empty field", |screen| {
            !screen.contents().contains("nothing was started")
        });
    }
    assert!(untouched(&device));

    terminal.keys(&format!("{}\r", device.path()));
    terminal.see("JSON saved in");
    assert!(!untouched(&device));

    // Nothing of the consent is left: the same again asks again.
    terminal.keys("\x1b");
    terminal.see("it overwrites what is there");
    terminal.keys("s");
    terminal.see("Type the path to start");
    terminal.keys("\r\x1b");
    terminal.see("MEASURE WHAT");
    terminal.keys("q");
    assert!(terminal.end().success());

    let saved = store::list(&directory.path().join("state/diskscope/sessions")).unwrap();
    assert_eq!(saved.len(), 1, "one run and no other");
    let run = &store::load(&saved[0]).unwrap().runs[0];
    assert_eq!(run.state, RunState::Finished);
    assert_eq!(run.findings.latency.write.as_ref().unwrap().count, 200);
    assert!(run.reproduce.diskscope.contains("--overwrite"));
}

#[test]
fn a_device_in_use_cannot_be_consented_to() {
    let Some(device) = device() else { return };
    // Another program has it for itself, as a file system would.
    let holder = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
    let held = rustix::fs::open(device.path(), holder, rustix::fs::Mode::empty()).unwrap();
    let directory = directory();
    let mut terminal = diskscope(&[], directory.path());
    ask(&mut terminal, device.path());
    terminal.see("no option overrides this");
    terminal.keys(&format!("{}\r", device.path()));
    // The key that leaves is heard after all of these.
    terminal.keys("\x1b");
    terminal.see("MEASURE WHAT");
    terminal.keys("q");
    assert!(terminal.end().success());
    drop(held);
    assert!(untouched(&device));
    assert!(!directory.path().join("state/diskscope/sessions").exists());
}

#[test]
fn a_device_that_changed_since_it_was_shown_is_not_overwritten() {
    let Some(device) = device() else { return };
    let directory = directory();
    let mut terminal = diskscope(&[], directory.path());
    ask(&mut terminal, device.path());
    terminal.see("no known signature");
    // A file system is made on it while the question stands.
    let made = Command::new("mkfs.ext4")
        .args(["-q", device.path()])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip(Requirement::Ext4, "mkfs.ext4 is missing");
        return;
    }
    let before = std::fs::read(device.file()).unwrap();
    terminal.keys(&format!("{}\r", device.path()));
    terminal.see("not the target any more");
    assert!(std::fs::read(device.file()).unwrap() == before);
    terminal.keys("q");
    assert!(terminal.end().success());
}
