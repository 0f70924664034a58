//! A real loop device is overwritten from the launcher: after its path was typed, and not before.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use diskscope::bench::{self, RunEvent, RunRequest};
use diskscope::drive::{Consent, ErrorKind};
use diskscope::engine::CancellationToken;
use diskscope::roots::SysPaths;
use diskscope::run::consent::inspect_impact;
use diskscope::run::{StartError, run_benchmark};
use diskscope::session::document::{BenchmarkRun, RunState};
use diskscope::session::store;

use crate::file_system::make_file_system;
use crate::loop_device::LoopDevice;
use crate::pty::PtyTerminal;
use crate::requirement::Requirement;
use crate::{benchmark_position, setsid_is_available, start_diskscope, state_directory};

const CONTENT: u8 = 0x5a;

/// A device full of content, where there are terminals to try it in.
fn new_device() -> Option<LoopDevice> {
    setsid_is_available()
        .then(|| LoopDevice::with(&vec![CONTENT; 32 << 20]))
        .flatten()
}

/// The device's bytes as the kernel gives them, all from the file behind it.
fn is_unchanged(device: &LoopDevice) -> bool {
    let bytes = std::fs::read(device.file()).unwrap();
    bytes.iter().all(|byte| *byte == CONTENT)
}

/// From the Live screen to the question: 200 random writes to that path.
fn open_question(terminal: &mut PtyTerminal, path: &str) {
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("b");
    terminal.wait_for_text("scratch-size");
    // A slash opens the search; a text that begins with one is a path.
    terminal.send_keys(&format!("/{path}\r"));
    terminal.wait_until("the typed path alone", |screen| {
        let shown = screen.contents();
        shown.contains(path) && !shown.contains("path: ") && !shown.contains("scratch-size")
    });
    // To the tests, one further than random-read; then to its parameters.
    terminal.send_keys("\tj\t");
    let down = "j".repeat(benchmark_position("random-write", "requests"));
    terminal.send_keys(&format!("{down}\r\x15200\r"));
    terminal.wait_for_text("overwrites existing data");
    terminal.send_keys("s");
    terminal.wait_for_text("Current contents");
}

#[test]
fn device_is_overwritten_only_after_typing_its_path() {
    let Some(device) = new_device() else { return };
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, device.path());
    terminal.wait_for_text("32 MiB");
    terminal.wait_for_text("Type the path to start");

    let wrong = format!("{}0", device.path());
    for mistake in ["y", "/dev/loop", &wrong] {
        terminal.send_keys(&format!("\x15{mistake}\r"));
        terminal.wait_for_text("nothing was started");
        // Back to a field without a mistake.
        terminal.send_keys("\x15");
        terminal.wait_until("the empty field", |screen| {
            !screen.contents().contains("nothing was started")
        });
    }
    assert!(is_unchanged(&device));

    terminal.send_keys(&format!("{}\r", device.path()));
    terminal.wait_for_text("JSON saved in");
    assert!(!is_unchanged(&device));

    // Nothing of the consent is left: the same again asks again.
    terminal.send_keys("\x1b");
    terminal.wait_for_text("overwrites existing data");
    terminal.send_keys("s");
    terminal.wait_for_text("Type the path to start");
    terminal.send_keys("\r\x1b");
    terminal.wait_for_text("TARGET");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());

    let saved = store::list_sessions(&directory.path().join("state/diskscope/sessions")).unwrap();
    assert_eq!(saved.len(), 1, "one run and no other");
    let run = &store::load_session(&saved[0]).unwrap().runs[0];
    assert_eq!(run.state, RunState::Finished);
    assert_eq!(run.findings.latency.write.as_ref().unwrap().count, 200);
    assert!(run.reproduce.diskscope.contains("--overwrite"));
}

#[test]
fn device_in_use_accepts_no_consent() {
    let Some(device) = new_device() else { return };
    // Another program has it for itself, as a file system would.
    let holder = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
    let held = rustix::fs::open(device.path(), holder, rustix::fs::Mode::empty()).unwrap();
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, device.path());
    terminal.wait_for_text("no option overrides this");
    terminal.send_keys(&format!("{}\r", device.path()));
    // The key that leaves is heard after all of these.
    terminal.send_keys("\x1b");
    terminal.wait_for_text("TARGET");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    drop(held);
    assert!(is_unchanged(&device));
    assert!(!directory.path().join("state/diskscope/sessions").exists());
}

#[test]
fn device_changed_since_it_was_shown_is_not_overwritten() {
    let Some(device) = new_device() else { return };
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, device.path());
    terminal.wait_for_text("no known signature");
    // A file system is made on it while the question stands.
    if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
        return;
    }
    let before = std::fs::read(device.file()).unwrap();
    terminal.send_keys(&format!("{}\r", device.path()));
    terminal.wait_for_text("has changed since it was opened");
    assert!(std::fs::read(device.file()).unwrap() == before);
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn typed_path_includes_consent_to_listed_signatures() {
    let Some(device) = new_device() else { return };
    if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, device.path());
    terminal.wait_for_text("Type the path to start");
    terminal.wait_for_text("Signatures that will be lost");
    assert!(
        terminal.screen_text().contains("ext4"),
        "{}",
        terminal.screen_text()
    );
    terminal.send_keys(&format!("{}\r", device.path()));
    terminal.wait_for_text("JSON saved in");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    let saved = store::list_sessions(&directory.path().join("state/diskscope/sessions")).unwrap();
    let run = &store::load_session(&saved[0]).unwrap().runs[0];
    let line = &run.reproduce.diskscope;
    assert!(line.ends_with("--overwrite-signatures"), "{line}");
}

#[test]
fn small_terminal_shows_every_signature_before_it_takes_the_path() {
    let Some(device) = new_device() else { return };
    if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
        return;
    }
    let before = std::fs::read(device.file()).unwrap();
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, device.path());
    terminal.wait_for_text("Type the path to start");
    terminal.resize(16, 60);
    terminal.wait_for_text("scroll with Down");
    terminal.send_keys(&format!("{}\r", device.path()));
    // Each key shows one line more, and the field comes with the last one.
    while !terminal.screen_text().contains("cannot be recovered") {
        let shown = terminal.screen_text();
        assert!(!shown.contains("ext4"), "{shown}");
        terminal.send_keys("\x1b[B");
        terminal.wait_until("the next line", |screen| screen.contents() != shown);
    }
    assert!(
        terminal.screen_text().contains("ext4"),
        "{}",
        terminal.screen_text()
    );
    assert!(std::fs::read(device.file()).unwrap() == before);
    terminal.send_keys(&format!("{}\r", device.path()));
    terminal.wait_for_text("JSON saved in");
    assert!(std::fs::read(device.file()).unwrap() != before);
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn symlink_changed_during_question_never_overwrites_other_device() {
    let (Some(shown), Some(other)) = (new_device(), new_device()) else {
        return;
    };
    let directory = state_directory();
    let link = directory.path().join("link");
    symlink(shown.path(), &link).unwrap();
    let mut terminal = start_diskscope(&[], directory.path());
    open_question(&mut terminal, link.to_str().unwrap());
    terminal.wait_for_text("Type the path to start");
    let flat: String = terminal.screen_text().split_whitespace().collect();
    let leads_to = format!("->{}", shown.path());
    assert!(flat.contains(&leads_to), "{}", terminal.screen_text());
    std::fs::remove_file(&link).unwrap();
    symlink(other.path(), &link).unwrap();
    terminal.send_keys(&format!("{}\r", link.display()));
    terminal.wait_for_text("has changed since it was opened");
    assert!(is_unchanged(&shown) && is_unchanged(&other));
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

/// Random writes to that path with that consent: the run, and what it overwrites as the command
/// line would print it.
fn run_overwrite(
    path: &str,
    consent: Consent,
) -> (Result<BenchmarkRun, StartError>, Option<String>) {
    let mut request = RunRequest::new(bench::find_benchmark("random-write").unwrap(), path);
    for (name, value) in [("requests", "20"), ("ramp", "0s")] {
        request.set(name, value).unwrap();
    }
    request.set_consent(consent);
    let mut overwritten = None;
    let mut sink = |event| {
        if let RunEvent::Started(start) = event {
            overwritten = start.overwritten_target.unwrap().resolved;
        }
    };
    let cancellation = CancellationToken::default();
    let result = run_benchmark(&request, &SysPaths::default(), &cancellation, &mut sink);
    let run = result.map(|report| report.session.runs[0].clone());
    (run, overwritten)
}

#[test]
fn alternating_symlink_never_overwrites_other_device() {
    const ATTEMPTS: usize = 60;
    let small = || LoopDevice::with(&vec![CONTENT; 16 << 20]);
    let (Some(one), Some(two)) = (small(), small()) else {
        return;
    };
    let directory = state_directory();
    let link = directory.path().join("link");
    symlink(one.path(), &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut finished, mut refused) = (0, 0);
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
        let _stop = StopOnDrop(&stop);
        let path = link.to_str().unwrap();
        for attempt in 0..ATTEMPTS {
            // In turns: the interface, which shows first, and the command line, which opens once.
            let (shown, consent) = if attempt % 2 == 0 {
                let Ok(impact) = inspect_impact(&SysPaths::default(), path) else {
                    continue;
                };
                let inspected = impact.medium.unwrap();
                let shown = inspected.medium().resolved_path().map(Path::to_path_buf);
                (shown, Consent::for_inspected(inspected))
            } else {
                (None, Consent::for_path(path))
            };
            let (result, printed) = run_overwrite(path, consent);
            let written = [&one, &two].map(|device| !is_unchanged(device));
            match result {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
                    assert_eq!(written, [false, false], "{error}");
                    refused += 1;
                }
                Ok(run) => {
                    let printed = printed.unwrap();
                    let expected = [&one, &two].map(|device| device.path() == printed);
                    assert!(shown.is_none_or(|shown| shown == Path::new(&printed)));
                    // Another test may attach a loop device just then, which ends the run before
                    // its first request.
                    let stopped = run.state == RunState::Failed && written == [false, false];
                    assert!(
                        stopped || written == expected,
                        "only what was printed: {printed}, {:?} {:?}",
                        run.state,
                        run.error
                    );
                    finished += u32::from(run.state == RunState::Finished);
                }
            }
            for device in [&one, &two] {
                std::fs::write(device.path(), vec![CONTENT; 16 << 20]).unwrap();
                std::fs::File::open(device.path())
                    .unwrap()
                    .sync_all()
                    .unwrap();
            }
        }
    });
    assert!(finished > 0, "{refused} refused");
    assert!(refused > 0, "{finished} finished");
}

/// Ends the thread that flips the symlink.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
