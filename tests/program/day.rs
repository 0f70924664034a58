//! Nothing grows over a day: samples in which processes, copies, jobs and devices come and go all the
//! time leave nothing behind. One test, for it looks at the memory of its process.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use diskscope::app::{AppEvent, AppState, Message, update};
use diskscope::probe::sample::{
    Availability, DiskCounters, FileKind, OpenFile, ProcessIdentity, ProcessIo, ProcessSample,
    RequestCounters,
};
use diskscope::probe::{SampleCollector, SystemSample};
use diskscope::roots::SysPaths;
use diskscope::snapshot::ViewBuilder;
use diskscope::transfers::arguments::parse_copy_order;
use diskscope::transfers::counting::{FileCount, JobCount, JobCounts};

/// A day, with a sample every ten seconds.
const SAMPLES: u64 = 8640;
/// After so many everything that is kept for a while is there.
const WARM_UP_SAMPLES: u64 = 2000;
/// Samples that a process lives for.
const LIFETIME_SAMPLES: u64 = 7;
/// Processes that are there at a time.
const PROCESS_COUNT: u64 = 40;
/// A leak of 300 bytes a sample is more than this over the day.
const SLACK_BYTES: u64 = 2 << 20;

/// Arguments of every process.
const LINE: &[u8] = b"cp\0-r\0tree\0copy\0";

/// Memory of this process that is its own (proc(5), `RssAnon`).
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let digits = line.unwrap().split_whitespace().nth(1).unwrap();
    digits.parse::<u64>().unwrap() * 1024
}

fn open_descriptor_count() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether no more than `count` descriptors are open. The thread that counts files of copies opens
/// directories for a moment, so one look may see more; what leaks stays.
fn has_at_most_open_descriptors(count: usize) -> bool {
    (0..200).any(|_| {
        let is_so = open_descriptor_count() <= count;
        if !is_so {
            thread::sleep(Duration::from_millis(50));
        }
        is_so
    })
}

/// A process that copies a file of its own, alone or as one of a job's.
fn process(pid: u32, born: u64, step: u64) -> ProcessSample {
    let done = (step - born) << 22;
    let file = |descriptor, name: &str, readable: bool| OpenFile {
        descriptor,
        path: format!("/{name}/{pid}-{born}").into_bytes().into(),
        kind: FileKind::Regular,
        inode: ((8, 1), u64::from(pid) << 32 | u64::from(descriptor)),
        position: done,
        readable,
        writable: !readable,
        size: Some(if readable { 1 << 30 } else { done }),
        allocated_bytes: done,
    };
    ProcessSample {
        identity: Arc::new(ProcessIdentity {
            pid,
            start_ticks: born,
            started: Duration::from_secs(born * 10),
            name: b"cp".to_vec(),
            arguments: LINE.to_vec(),
            ..ProcessIdentity::default()
        }),
        io: Availability::Available(ProcessIo {
            rchar: done,
            wchar: done,
            read_bytes: done,
            write_bytes: done,
            ..ProcessIo::default()
        }),
        read_at: Duration::from_secs(step * 10),
        files: [file(3, "from", true), file(4, "to", false)].into(),
        ..ProcessSample::default()
    }
}

/// What is counted of every fourth process.
fn job_counts(sample: &SystemSample) -> JobCounts {
    let is_job = |it: &&ProcessSample| it.identity.pid.is_multiple_of(4);
    let running = sample.processes.iter().filter(is_job).map(|process| {
        let done = process.files[0].position;
        let count = FileCount {
            files: 100,
            bytes: 1 << 30,
            is_complete: true,
            files_done: Some(done >> 22),
            bytes_done: Some(done),
            ..FileCount::default()
        };
        let order = Arc::new(parse_copy_order(b"cp", LINE).unwrap());
        (process.identity.key(), JobCount { order, count })
    });
    JobCounts {
        running: running.collect(),
        ended: Vec::new(),
    }
}

/// Every process, and every device but the first, is there for a while only and never again.
fn sample(step: u64) -> SystemSample {
    let processes = (0..PROCESS_COUNT)
        .map(|place| {
            let born = (step + place) / LIFETIME_SAMPLES * LIFETIME_SAMPLES;
            let born = born.saturating_sub(place).min(step);
            process((born * PROCESS_COUNT + place) as u32 + 2, born, step)
        })
        .collect::<Vec<_>>();
    let disk = |name: String, minor: u32| DiskCounters {
        name,
        device_number: (8, minor),
        reads: RequestCounters {
            completed: step + 1,
            ..RequestCounters::default()
        },
        ..DiskCounters::default()
    };
    let passing = step / LIFETIME_SAMPLES;
    let mut sorted = processes;
    sorted.sort_by_key(|process| process.identity.pid);
    SystemSample {
        boot_time: Duration::from_secs(step * 10),
        time: "2026-01-02T03:04:05Z".to_owned(),
        disks: vec![
            disk("sda".to_owned(), 0),
            disk(format!("stick{passing}"), passing as u32 + 1),
        ],
        processes: sorted,
        ..SystemSample::default()
    }
}

/// The model and the screen's state.
fn model_day_of_samples() {
    let mut modeler = ViewBuilder::default();
    let mut state = AppState::new(Duration::from_secs(10));
    let mut settled = 0;
    let mut most = 0;
    for step in 0..SAMPLES {
        let sample = sample(step);
        modeler.set_job_counts(job_counts(&sample));
        let view = modeler.update(Arc::new(sample));
        most = most.max(view.transfers.len());
        update(
            &mut state,
            AppEvent::Message(Message::Snapshot(Arc::new(view))),
        );
        if step == WARM_UP_SAMPLES {
            settled = resident_bytes();
        }
    }
    let grown = resident_bytes().saturating_sub(settled);
    assert!(grown < SLACK_BYTES, "{grown} bytes more than at first");
    assert!(most as u64 > PROCESS_COUNT / 2, "copies were followed");
    assert!(most as u64 <= PROCESS_COUNT * 4, "{most} transfers at once");
}

fn write_process(proc: &Path, pid: u64, read: u64) {
    let directory = proc.join(pid.to_string());
    fs::create_dir_all(directory.join("fd")).unwrap();
    fs::create_dir_all(directory.join("fdinfo")).unwrap();
    let zeros = "0 ".repeat(30);
    let stat = format!("{pid} (cp) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} {zeros}\n");
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("cmdline"), b"cp\0-r\0a\0b\0").unwrap();
    fs::write(directory.join("status"), "Uid:\t0\t0\t0\t0\n").unwrap();
    let io = format!(
        "rchar: {read}\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: 0\n\
         cancelled_write_bytes: 0\n"
    );
    fs::write(directory.join("io"), io).unwrap();
}

/// The sampler, on processes that come and go.
fn sample_short_lived_processes() {
    let root = tempfile::tempdir().unwrap();
    let roots = SysPaths::under_root(root.path());
    fs::create_dir_all(&roots.proc).unwrap();
    let mut collector = SampleCollector::new(roots.clone());
    let (mut settled, rounds, alive) = ((0, 0), 600_u64, 5);
    for round in 1..=rounds {
        for pid in round..round + alive {
            write_process(&roots.proc, pid, round << 20);
        }
        if round > 1 {
            fs::remove_dir_all(roots.proc.join((round - 1).to_string())).unwrap();
        }
        let sample = collector.collect();
        assert_eq!(sample.processes.len() as u64, alive);
        if round == rounds / 3 {
            settled = (open_descriptor_count(), resident_bytes());
        }
    }
    let (open, used) = settled;
    assert!(
        has_at_most_open_descriptors(open),
        "descriptors of ended processes stay"
    );
    let grown = resident_bytes().saturating_sub(used);
    assert!(grown < SLACK_BYTES, "{grown} bytes more than at first");
}

#[test]
#[ignore = "run in a process of its own by day_of_samples_leaks_no_memory_or_descriptors"]
fn day_of_samples() {
    sample_short_lived_processes();
    model_day_of_samples();
}

/// Memory and descriptors are those of a process: other tests must not run in it.
#[test]
fn day_of_samples_leaks_no_memory_or_descriptors() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "day::day_of_samples", "--ignored"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}
