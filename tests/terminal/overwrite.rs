//! A real loop device is overwritten from the launcher: after its path was typed, and not before.

use crate::requirement::{Requirement, skip};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use diskscope::bench::{self, Job, Progress};
use diskscope::drive::{Consent, ErrorKind};
use diskscope::engine::Control;
use diskscope::roots::Roots;
use diskscope::runtime::benchmark::{self, Beside, Order, Refused, Start, Watcher};
use diskscope::runtime::overwrite::stakes;
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
    // A slash opens the search; a text that begins with one is a path.
    terminal.keys(&format!("/{path}\r"));
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
    terminal.see("32 MiB");
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
    terminal.see("has changed since it was opened");
    assert!(std::fs::read(device.file()).unwrap() == before);
    terminal.keys("q");
    assert!(terminal.end().success());
}

#[test]
fn signatures_are_listed_above_the_typed_path_and_go_with_it() {
    let Some(device) = device() else { return };
    let made = Command::new("mkfs.ext4")
        .args(["-q", device.path()])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip(Requirement::Ext4, "mkfs.ext4 is missing");
        return;
    }
    let directory = directory();
    let mut terminal = diskscope(&[], directory.path());
    ask(&mut terminal, device.path());
    terminal.see("Type the path to start");
    terminal.see("Signatures that are lost");
    assert!(terminal.shown().contains("ext4"), "{}", terminal.shown());
    terminal.keys(&format!("{}\r", device.path()));
    terminal.see("JSON saved in");
    terminal.keys("q");
    assert!(terminal.end().success());
    let saved = store::list(&directory.path().join("state/diskscope/sessions")).unwrap();
    let run = &store::load(&saved[0]).unwrap().runs[0];
    let line = &run.reproduce.diskscope;
    assert!(line.ends_with("--overwrite-signatures"), "{line}");
}

#[test]
fn symlink_flipped_while_the_question_stands_leads_to_no_other_device() {
    let (Some(shown), Some(other)) = (device(), device()) else {
        return;
    };
    let directory = directory();
    let link = directory.path().join("link");
    symlink(shown.path(), &link).unwrap();
    let mut terminal = diskscope(&[], directory.path());
    ask(&mut terminal, link.to_str().unwrap());
    terminal.see("Type the path to start");
    let flat: String = terminal.shown().split_whitespace().collect();
    let leads_to = format!("->{}", shown.path());
    assert!(flat.contains(&leads_to), "{}", terminal.shown());
    std::fs::remove_file(&link).unwrap();
    symlink(other.path(), &link).unwrap();
    terminal.keys(&format!("{}\r", link.display()));
    terminal.see("has changed since it was opened");
    assert!(untouched(&shown) && untouched(&other));
    terminal.keys("q");
    assert!(terminal.end().success());
}

/// Sees what is overwritten, as the command line would print it.
#[derive(Default)]
struct Printed(Option<String>);

impl Watcher for Printed {
    fn preparing(&mut self, _: u64, _: u64) {}
    fn started(&mut self, start: &Start) {
        let overwritten = start.overwritten.as_ref().unwrap();
        self.0 = overwritten.resolved.clone();
    }
    fn progress(&mut self, _: &Progress, _: Beside<'_>) {}
}

/// Random writes to that path with that consent.
fn overwrite(path: &str, consent: Consent) -> (Result<(), Refused>, Option<String>) {
    let mut job = Job::new(bench::find("random-write").unwrap(), path);
    for (name, value) in [("requests", "20"), ("ramp", "0s")] {
        job.set(name, value).unwrap();
    }
    job.consent = Some(consent);
    let order = Order {
        job,
        repeat: 1,
        keep_in: None,
        outputs: Vec::new(),
    };
    let mut printed = Printed::default();
    let result = benchmark::run(&order, &Roots::default(), &Control::default(), &mut printed);
    (result.map(drop), printed.0)
}

#[test]
fn symlink_that_flips_all_the_time_never_lets_another_device_be_written() {
    const TRIES: usize = 60;
    let small = || LoopDevice::with(&vec![CONTENT; 2 << 20]);
    let (Some(one), Some(two)) = (small(), small()) else {
        return;
    };
    let directory = directory();
    let link = directory.path().join("link");
    symlink(one.path(), &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut started, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = directory.path().join("next");
            for device in [&two, &one].into_iter().cycle() {
                symlink(device.path(), &next).unwrap();
                std::fs::rename(&next, &link).unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        // The thread ends also when an assertion fails.
        let _stop = Stop(&stop);
        let path = link.to_str().unwrap();
        for attempt in 0..TRIES {
            // In turns: the interface, which shows first, and the command line, which opens once.
            let (shown, consent) = if attempt % 2 == 0 {
                let Ok(stakes) = stakes(&Roots::default(), path) else {
                    continue;
                };
                let inspected = stakes.medium.unwrap();
                let shown = inspected.medium().resolved_path().map(Path::to_path_buf);
                (shown, Consent::to_inspected(inspected))
            } else {
                (None, Consent::to_path(path))
            };
            let (result, printed) = overwrite(path, consent);
            let written = [&one, &two].map(|device| !untouched(device));
            match result {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
                    assert_eq!(written, [false, false], "{error}");
                    refused += 1;
                }
                Ok(()) => {
                    let printed = printed.unwrap();
                    let expected = [&one, &two].map(|device| device.path() == printed);
                    assert_eq!(written, expected, "only what was printed: {printed}");
                    assert!(shown.is_none_or(|shown| shown == Path::new(&printed)));
                    started += 1;
                }
            }
            for device in [&one, &two] {
                std::fs::write(device.path(), vec![CONTENT; 2 << 20]).unwrap();
                std::fs::File::open(device.path())
                    .unwrap()
                    .sync_all()
                    .unwrap();
            }
        }
    });
    assert!(started > 0, "{refused} refused");
    assert!(refused > 0, "{started} started");
}

/// Ends the thread that flips the symlink.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
