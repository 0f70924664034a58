//! Real requests of real loop devices are followed, each once, and nothing stays behind.
//! Needs root and loop devices; skipped visibly where there are none.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use diskscope::roots::SysPaths;
use diskscope::trace::events::{CaptureControl, TraceCapture};
use diskscope::trace::requests::{MatchErrors, RequestOperation, StageTimes, TracedRequest};
use diskscope::trace::stream::{RequestBatch, TraceDetail, TraceScope, follow_requests};
use serde_json::Value;

use crate::loop_device::LoopDevice;
use crate::process::{run_dd, wait_until, worker_id};
use crate::requirement::{Requirement, skip};

const BLOCK_BYTES: u64 = 4096;
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A loop device on a file of 64 MiB.
fn loop_device() -> Option<LoopDevice> {
    LoopDevice::with(&vec![0x5a; 64 << 20])
}

/// Reads so many blocks; the id of the process that did.
fn read_blocks(device: &LoopDevice, count: u64) -> u32 {
    run_dd(&[
        &format!("if={}", device.path()),
        "of=/dev/null",
        "bs=4k",
        &format!("count={count}"),
        "iflag=direct",
    ])
}

/// A capture whose requests are collected.
struct CollectingCapture {
    capture: TraceCapture,
    batches: Receiver<RequestBatch>,
}

impl CollectingCapture {
    fn start(device: &str) -> Option<Self> {
        Self::start_with(device, |_| CaptureControl::Continue)
    }

    fn start_with(
        device: &str,
        then: impl Fn(&RequestBatch) -> CaptureControl + Send + 'static,
    ) -> Option<Self> {
        let scope = TraceScope::of_device(&SysPaths::default(), device).unwrap();
        let (sender, message) = channel();
        match follow_requests(
            &SysPaths::default(),
            scope,
            TraceDetail::Full,
            move |batch| {
                let then = then(&batch);
                let _ = sender.send(batch);
                then
            },
        ) {
            Ok(capture) => Some(Self {
                capture,
                batches: message,
            }),
            Err(error) => {
                skip(Requirement::Tracing, error);
                None
            }
        }
    }

    fn stop_and_collect(self) -> (Vec<TracedRequest>, RequestBatch) {
        self.capture.stop();
        let mut all = Vec::new();
        let mut last = RequestBatch::default();
        for message in self.batches {
            all.extend(message.requests.iter().cloned());
            last = message;
        }
        (all, last)
    }
}

/// Instances of this program in the kernel, on a tracefs of the test's own.
fn list_instances() -> Vec<String> {
    let tracefs = MountedTracefs::new();
    let entries = std::fs::read_dir(tracefs.0.path().join("instances")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("diskscope-"))
        .collect()
}

fn instances_of(pid: u32) -> Vec<String> {
    let prefix = format!("diskscope-{pid}-");
    let mut all = list_instances();
    all.retain(|name| name.starts_with(&prefix));
    all
}

/// tracefs mounted on a temporary directory.
struct MountedTracefs(tempfile::TempDir);

impl MountedTracefs {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tracefs", "none"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(mounted.success());
        Self(directory)
    }
}

impl Drop for MountedTracefs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Whether one of this process's instances has switched off the events of a loop device.
fn is_paused(device: &str) -> bool {
    let tracefs = MountedTracefs::new();
    let number: u32 = device.trim_start_matches("/dev/loop").parse().unwrap();
    let wanted = format!("dev == {}", (7 << 20) | number);
    instances_of(std::process::id()).iter().any(|name| {
        let event = tracefs.0.path().join("instances").join(name);
        let event = event.join("events/block/block_bio_queue");
        // One that goes in this moment is not the one.
        let read = |file| std::fs::read_to_string(event.join(file)).unwrap_or_default();
        read("filter").contains(&wanted) && read("enable").trim() == "0"
    })
}

#[test]
fn paused_capture_reports_no_requests_and_stops_at_once() {
    let Some(disk) = loop_device() else { return };
    let rest = |message: &RequestBatch| match message.requests.is_empty() {
        true => CaptureControl::Continue,
        false => CaptureControl::Pause(10 * WAIT_TIMEOUT),
    };
    let Some(sampler) = CollectingCapture::start_with(disk.path(), rest) else {
        return;
    };
    let before = read_blocks(&disk, 1);
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !is_paused(disk.path()) {
        assert!(Instant::now() < deadline, "it does not rest");
        std::thread::sleep(Duration::from_millis(10));
    }
    let during = read_blocks(&disk, 50);
    let began = Instant::now();
    let (all, last) = sampler.stop_and_collect();
    assert!(began.elapsed() < WAIT_TIMEOUT);
    let of = |pid| {
        let requests = all.iter();
        requests
            .filter(|request| {
                request
                    .charged_actor()
                    .is_some_and(|actor| actor.pid == pid)
            })
            .count()
    };
    assert_eq!((of(before), of(during)), (1, 0));
    assert_eq!(last.match_errors, MatchErrors::default());
}

#[test]
fn capture_reports_requests_again_after_pause() {
    let Some(disk) = loop_device() else { return };
    let rest = |message: &RequestBatch| match message.requests.is_empty() {
        true => CaptureControl::Continue,
        false => CaptureControl::Pause(Duration::from_millis(1)),
    };
    let Some(sampler) = CollectingCapture::start_with(disk.path(), rest) else {
        return;
    };
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut spans = std::collections::BTreeSet::new();
    while spans.len() < 3 {
        assert!(Instant::now() < deadline, "only {spans:?}");
        read_blocks(&disk, 1);
        let message = sampler
            .batches
            .try_iter()
            .filter(|message| !message.requests.is_empty());
        spans.extend(message.map(|message| message.status.complete_since));
    }
    sampler.stop_and_collect();
}

#[test]
fn capture_reports_every_request_of_dd_once() {
    let Some(disk) = loop_device() else { return };
    let Some(sampler) = CollectingCapture::start(disk.path()) else {
        return;
    };
    let pid = read_blocks(&disk, 500);
    let (all, last) = sampler.stop_and_collect();
    let reads: Vec<&TracedRequest> = all
        .iter()
        .filter(|request| {
            request
                .charged_actor()
                .is_some_and(|actor| actor.pid == pid)
        })
        .collect();
    let sectors: Vec<u64> = reads.iter().map(|request| request.sector).collect();
    let expected: Vec<u64> = (0..500).map(|block| block * BLOCK_BYTES / 512).collect();
    assert_eq!(sectors, expected, "one at a time, in order, each once");
    for request in &reads {
        assert_eq!(request.operation, RequestOperation::Read);
        assert_eq!((request.bytes, request.error), (BLOCK_BYTES, 0));
        let StageTimes { q2d, d2c, q2c, .. } = request.timestamps.stages();
        assert_eq!(q2d.unwrap() + d2c.unwrap(), q2c.unwrap());
    }
    assert_eq!(
        (
            last.status.lost_events,
            last.match_errors.unmatched_completions
        ),
        (0, 0)
    );
}

#[test]
fn capture_reports_large_write_as_contiguous_parts() {
    let Some(disk) = loop_device() else { return };
    let Some(sampler) = CollectingCapture::start(disk.path()) else {
        return;
    };
    let output = format!("of={}", disk.path());
    let pid = run_dd(&["if=/dev/zero", &output, "bs=4M", "count=2", "oflag=direct"]);
    let (all, _) = sampler.stop_and_collect();
    let mut writes: Vec<(u64, u64)> = all
        .iter()
        .filter(|request| {
            request
                .charged_actor()
                .is_some_and(|actor| actor.pid == pid)
        })
        .filter(|request| request.operation == RequestOperation::Write)
        .map(|request| (request.sector, request.bytes / 512))
        .collect();
    writes.sort_unstable();
    let end = writes.iter().fold(0, |end, (sector, sectors)| {
        assert_eq!(*sector, end, "neither a gap nor twice the same");
        end + sectors
    });
    assert_eq!(end, (8 << 20) / 512);
}

#[test]
fn dropped_capture_leaves_no_trace_instance() {
    let Some(disk) = loop_device() else { return };
    let was_mounted = is_mounted();
    let Some(sampler) = CollectingCapture::start(disk.path()) else {
        return;
    };
    let pid = std::process::id();
    assert!(!instances_of(pid).is_empty());
    assert_eq!(is_mounted(), was_mounted, "nobody else sees our mount");
    drop(sampler);
    let tracefs = MountedTracefs::new();
    let enabled = tracefs.0.path().join("events/block/enable");
    assert_eq!(std::fs::read_to_string(enabled).unwrap().trim(), "0");
}

fn is_mounted() -> bool {
    std::fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .any(|line| line.contains(" /sys/kernel/tracing "))
}

/// The program itself, reading a device.
fn start_trace(device: &str, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["trace", device])
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a program records; the number of the process that does it.
fn wait_for_instance(program: &Child) -> u32 {
    let mut tracing = None;
    wait_until("it traces", || {
        let worker = worker_id(program).and_then(|id| u32::try_from(id).ok());
        tracing = worker.filter(|pid| instances_of(*pid).iter().any(|name| is_recording(name)));
        tracing.is_some()
    });
    tracing.unwrap()
}

/// Recording is switched on after the last event.
fn is_recording(instance: &str) -> bool {
    let tracefs = MountedTracefs::new();
    let directory = tracefs.0.path().join("instances").join(instance);
    // One that goes in this moment is not the one.
    let read = |file| std::fs::read_to_string(directory.join(file)).unwrap_or_default();
    !read("set_event").is_empty() && read("tracing_on").trim() == "1"
}

fn send_signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn trace_prints_summary_on_signal_and_removes_leftovers_of_kill() {
    let Some(disk) = loop_device() else { return };
    let Some(sampler) = CollectingCapture::start(disk.path()) else {
        return;
    };
    drop(sampler);
    let mut killed = start_trace(disk.path(), &["--duration", "1h"]);
    let worker = wait_for_instance(&killed);
    send_signal(&killed, rustix::process::Signal::KILL);
    killed.wait().unwrap();
    assert!(!instances_of(worker).is_empty());
    wait_until("the worker ends too", || {
        !Path::new(&format!("/proc/{worker}")).exists()
    });
    let next = start_trace(disk.path(), &["--duration", "100ms"]);
    let text = String::from_utf8(next.wait_with_output().unwrap().stdout).unwrap();
    assert!(
        text.contains(" requests in ") && !text.contains("time s"),
        "{text}"
    );
    assert_eq!(instances_of(worker), Vec::<String>::new());

    let ended = start_trace(disk.path(), &["--duration", "1h", "--json"]);
    let worker = wait_for_instance(&ended);
    send_signal(&ended, rustix::process::Signal::TERM);
    let output = ended.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(instances_of(worker), Vec::<String>::new());
    let last = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["lost"], 0);
}

#[test]
fn trace_prints_its_summary_first_and_requests_where_they_are_wanted() {
    let Some(disk) = loop_device() else { return };
    if CollectingCapture::start(disk.path()).is_none() {
        return;
    }
    let printed = |words: &[&str]| {
        let program = start_trace(disk.path(), words);
        wait_for_instance(&program);
        let pid = read_blocks(&disk, 20);
        send_signal(&program, rustix::process::Signal::INT);
        let output = program.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        (String::from_utf8(output.stdout).unwrap(), pid)
    };
    for (words, listed) in [
        (&["--duration", "1h"][..], 0),
        (&["--duration", "1h", "--requests"], 20),
        (&["--duration", "1h", "--slower", "1h"], 0),
    ] {
        let (text, pid) = printed(words);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains(" requests in "), "{words:?}: {text}");
        let (_, rows) = text.split_once("time s").unwrap_or_default();
        assert_eq!(
            text.contains("time s"),
            words.len() > 2,
            "{words:?}: {text}"
        );
        let rows = rows
            .lines()
            .filter(|row| row.contains(&format!(" {pid} dd ")));
        assert_eq!(rows.count(), listed, "{words:?}: {text}");
    }
    let (text, _) = printed(&["--duration", "1h", "--json"]);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 20 && lines[0]["q2c_ns"].is_number(), "{text}");
    assert!(lines.last().unwrap()["summary"]["requests"].as_u64() >= Some(20));
}

/// Instances of other PID namespaces that record: `diskscope-PID-TIME-NAMESPACE`.
fn recording_instances_of_other_namespaces() -> Vec<String> {
    let own = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let own = own.to_str().unwrap().replace("pid:[", "").replace(']', "");
    let tracefs = MountedTracefs::new();
    let records = |name: &str| {
        let events = tracefs
            .0
            .path()
            .join("instances")
            .join(name)
            .join("set_event");
        std::fs::read_to_string(events).is_ok_and(|events| !events.is_empty())
    };
    let mut all = list_instances();
    all.retain(|name| name.split('-').nth(3) != Some(&own) && records(name));
    all
}

/// Traces a device in a PID namespace of its own.
fn trace_in_namespace(device: &str, duration: &str) -> Child {
    Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .args([env!("CARGO_BIN_EXE_diskscope"), "trace", device])
        .args(["--duration", duration])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn trace_of_another_namespace_that_was_killed_is_removed_and_one_that_runs_is_not() {
    let Some(disk) = loop_device() else { return };
    if CollectingCapture::start(disk.path()).is_none() {
        return;
    }
    let mut running = trace_in_namespace(disk.path(), "1h");
    wait_until("it traces", || {
        !recording_instances_of_other_namespaces().is_empty()
    });
    let of_running = recording_instances_of_other_namespaces();
    let mut killed = trace_in_namespace(disk.path(), "1h");
    wait_until("another one traces", || {
        recording_instances_of_other_namespaces().len() > of_running.len()
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Its worker ends a moment later; each start of a trace tries again.
    wait_until("only the running one is left", || {
        let mut next = trace_in_namespace(disk.path(), "100ms");
        next.wait().unwrap();
        recording_instances_of_other_namespaces() == of_running
    });
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn trace_that_is_quit_at_once_leaves_no_instance() {
    let Some(disk) = loop_device() else { return };
    if CollectingCapture::start(disk.path()).is_none() {
        return;
    }
    let mut quit = start_trace(disk.path(), &["--duration", "1h"]);
    let worker = wait_for_instance(&quit);
    send_signal(&quit, rustix::process::Signal::QUIT);
    assert!(!quit.wait().unwrap().success());
    assert_eq!(instances_of(worker), Vec::<String>::new());
}

#[test]
fn writeback_pages_are_charged_to_the_dirtying_process() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(below) = underlying_device(directory.path()) else {
        skip(Requirement::Drive, "the directory lies on no block device");
        return;
    };
    let Some(sampler) = CollectingCapture::start(&below) else {
        return;
    };
    let file = directory.path().join("file");
    let pid = run_dd(&[
        "if=/dev/zero",
        &format!("of={}", file.display()),
        "bs=1M",
        "count=8",
    ]);
    // The thread of the kernel that syncs a whole file system is another than dd.
    let mut sync = Command::new("sync").arg("-f").arg(&file).spawn().unwrap();
    assert!(sync.wait().unwrap().success());
    let (all, _) = sampler.stop_and_collect();
    // Other programs write to the same file system meanwhile.
    let ours: Vec<&TracedRequest> = all
        .iter()
        .filter(|request| request.dirtied_by.is_some_and(|actor| actor.pid == pid))
        .collect();
    let written: u64 = ours.iter().map(|request| request.bytes).sum();
    assert_eq!(written, 8 << 20);
    for request in ours {
        assert_eq!(request.charged_actor().unwrap().name.as_bytes(), b"dd");
    }
}

fn underlying_device(path: &Path) -> Option<String> {
    let output = Command::new("findmnt")
        .args(["-no", "SOURCE", "-T"])
        .arg(path)
        .output()
        .ok()?;
    let source = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    let path = PathBuf::from(&source).canonicalize().ok()?;
    path.starts_with("/dev")
        .then(|| path.to_string_lossy().into_owned())
}

/// blktrace and this program watch the same workload and must see the same requests.
#[test]
fn traced_requests_match_blktrace() {
    let Some(disk) = loop_device() else { return };
    let traced = Command::new("sh")
        .arg("-c")
        .arg("blktrace -V >/dev/null 2>&1 && blkparse -V >/dev/null 2>&1")
        .status()
        .unwrap();
    if !traced.success() {
        skip(Requirement::Program, "blktrace is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut blktrace = Command::new("blktrace")
        .args(["-d", disk.path(), "-w", "4", "-o", "out", "-D"])
        .arg(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    if blktrace.try_wait().unwrap().is_some() {
        skip(
            Requirement::Kernel,
            "blktrace does not run here (debugfs, CONFIG_BLK_DEV_IO_TRACE?)",
        );
        return;
    }
    let Some(sampler) = CollectingCapture::start(disk.path()) else {
        blktrace.kill().unwrap();
        blktrace.wait().unwrap();
        return;
    };
    let pid = read_blocks(&disk, 300);
    let (all, _) = sampler.stop_and_collect();
    blktrace.wait().unwrap();
    let parsed = Command::new("blkparse")
        .args([
            "-i",
            "out",
            "-a",
            "complete",
            "-q",
            "-f",
            "%a %S %n\\n",
            "-D",
        ])
        .arg(directory.path())
        .output()
        .unwrap();
    let mut theirs: Vec<(u64, u64)> = String::from_utf8_lossy(&parsed.stdout)
        .lines()
        .filter_map(|line| line.strip_prefix("C "))
        .filter_map(|line| {
            let (sector, sectors) = line.split_once(' ')?;
            Some((sector.parse().ok()?, sectors.trim().parse().ok()?))
        })
        .collect();
    if theirs.is_empty() {
        skip(Requirement::Kernel, "blktrace recorded nothing here");
        return;
    }
    let mut ours: Vec<(u64, u64)> = all
        .iter()
        .filter(|request| {
            request
                .charged_actor()
                .is_some_and(|actor| actor.pid == pid)
        })
        .map(|request| (request.sector, request.bytes / 512))
        .collect();
    ours.sort_unstable();
    // Before and after the workload udev may look at the device.
    theirs.retain(|request| ours.contains(request));
    theirs.sort_unstable();
    theirs.dedup();
    assert_eq!(ours, theirs);
}
