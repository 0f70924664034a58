use std::sync::Arc;

use super::*;
use crate::probe::sample::{Availability, ProcessIdentity};

const SHELL: u32 = 50;

fn io(read: u64) -> ProcessIo {
    ProcessIo {
        rchar: read,
        read_bytes: read,
        ..ProcessIo::default()
    }
}

/// A process with all its counters, and its own I/O where that is known.
fn process(pid: u32, parent: u32, total: u64, own: Option<u64>, second: u64) -> ProcessSample {
    ProcessSample {
        identity: Arc::new(ProcessIdentity {
            pid,
            parent_pid: parent,
            start_ticks: u64::from(pid),
            ..ProcessIdentity::default()
        }),
        io: Availability::Available(io(total)),
        own_io: own.map(io),
        read_at: Duration::from_secs(second),
        ..ProcessSample::default()
    }
}

fn record(pid: u32, parent: u32, name: &str, read: u64) -> ExitRecord {
    ExitRecord {
        pid,
        parent_pid: parent,
        name: name.as_bytes().to_vec(),
        io: io(read),
        total_io: io(read),
    }
}

fn sample(second: u64, processes: Vec<ProcessSample>, records: &[ExitRecord]) -> SystemSample {
    SystemSample {
        exit_records: records.to_vec(),
        ..SystemSample::of_processes(second, processes)
    }
}

type Reads = (u64, u64, Vec<(String, u64)>);

/// The bytes that the shell has read in each interval, and those of its ended children with their names.
fn shell_reads(samples: &[SystemSample]) -> Vec<Reads> {
    let mut ended = EndedChildren::default();
    let reads = |pair: &[SystemSample]| {
        let interval = SampleInterval::new(Some(&pair[0]), &pair[1]);
        let found = ended.update(&interval);
        let children = found.unseen.get(&SHELL).cloned().unwrap_or_default();
        let (own, _) = found.own_io(pair_of(&interval, SHELL).unwrap()).unwrap();
        let programs = children.programs.iter();
        let programs = programs.map(|it| (it.name.to_string(), it.count)).collect();
        (own.read_bytes, children.io.read_bytes, programs)
    };
    samples.windows(2).map(reads).collect()
}

#[test]
fn recorded_children_are_named_and_the_shell_has_its_own_io_only() {
    let shell = |second, total, own| process(SHELL, 1, total, Some(own), second);
    let samples = [
        sample(1, vec![shell(1, 0, 0)], &[]),
        // sh -c of make has started dd and waited for it; the shell was read before it got their counters.
        sample(
            2,
            vec![shell(2, 1000, 1000)],
            &[
                record(60, SHELL, "sh", 300_000),
                record(61, 60, "dd", 3_000_000),
                record(62, SHELL, "dd", 3_000_000),
            ],
        ),
        sample(3, vec![shell(3, 6_301_000, 1000)], &[]),
    ];
    let programs = vec![("dd".to_owned(), 2), ("sh".to_owned(), 1)];
    let expected = [(1000, 6_300_000, programs), (0, 0, Vec::new())];
    assert_eq!(shell_reads(&samples), expected);
}

#[test]
fn small_reads_of_ended_children_are_no_line() {
    let shell = |second| process(SHELL, 1, 0, Some(0), second);
    let mut small = record(60, SHELL, "true", 0);
    small.io.rchar = MIN_SHOWN_BYTES - 1;
    let samples = [
        sample(1, vec![shell(1)], &[]),
        sample(2, vec![shell(2)], &[small]),
    ];
    assert_eq!(shell_reads(&samples), [(0, 0, Vec::new())]);
}

/// The own bytes of a shell of which only all counters are known, in each second.
fn reads_without_own_io(samples: &[&[(u32, u32, u64)]]) -> Vec<u64> {
    let samples: Vec<SystemSample> = (1..)
        .zip(samples)
        .map(|(second, processes)| {
            let processes = processes.iter();
            let processes = processes.map(|it| process(it.0, it.1, it.2, None, second));
            sample(second, processes.collect(), &[])
        })
        .collect();
    shell_reads(&samples)
        .into_iter()
        .map(|(own, ..)| own)
        .collect()
}

#[test]
fn without_exit_records_what_was_shown_of_a_child_is_not_shown_of_its_parent() {
    // The child was shown with 5 MB, and read 300 kB more before it ended.
    let reads = reads_without_own_io(&[
        &[(SHELL, 1, 0), (60, SHELL, 5_000_000)],
        &[(SHELL, 1, 5_300_000)],
    ]);
    assert_eq!(reads, [300_000]);
    // The parent was read before the child ended.
    let reads = reads_without_own_io(&[
        &[(SHELL, 1, 0), (60, SHELL, 5_000_000)],
        &[(SHELL, 1, 0)],
        &[(SHELL, 1, 5_000_000)],
    ]);
    assert_eq!(reads, [0, 0]);
    // A grandchild ended with its parent.
    let reads = reads_without_own_io(&[
        &[(SHELL, 1, 0), (60, SHELL, 1_000_000), (61, 60, 5_000_000)],
        &[(SHELL, 1, 6_000_000)],
    ]);
    assert_eq!(reads, [0]);
    // The shell ignores its children, and reads as much itself later.
    let reads = reads_without_own_io(&[
        &[(SHELL, 1, 0), (60, SHELL, 5_000_000)],
        &[(SHELL, 1, 0)],
        &[(SHELL, 1, 0)],
        &[(SHELL, 1, 5_000_000)],
    ]);
    assert_eq!(reads, [0, 0, 5_000_000]);
}
