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

fn process(pid: u32, parent: u32, total: u64, ended: Option<u64>, second: u64) -> ProcessSample {
    ProcessSample {
        identity: Arc::new(ProcessIdentity {
            pid,
            parent_pid: parent,
            start_ticks: u64::from(pid),
            ..ProcessIdentity::default()
        }),
        io: Availability::Available(io(total)),
        ended_io: ended.map(io),
        read_at: Duration::from_secs(second),
        ..ProcessSample::default()
    }
}

/// Read bytes of the ended children of the shell, and its own, in each interval.
fn shell_reads(samples: &[SystemSample]) -> Vec<(Option<u64>, u64)> {
    let mut tracker = EndedChildren::default();
    samples
        .windows(2)
        .map(|pair| {
            let interval = SampleInterval::new(Some(&pair[0]), &pair[1]);
            let found = tracker.update(&interval);
            let unseen = found.unseen.get(&SHELL).map(|ended| ended.io.read_bytes);
            let (own, _) = pair_of(&interval, SHELL).unwrap().io_delta().unwrap();
            let twice = found.counted_twice.get(&SHELL).copied().unwrap_or_default();
            (unseen, own.saturating_sub(&twice).read_bytes)
        })
        .collect()
}

#[test]
fn ended_child_counts_only_beyond_its_last_sample() {
    // The child was shown with 150 MB; it read 7 MB more before it ended. The shell read 1 kB.
    let samples = [
        SystemSample::of_processes(
            1,
            vec![
                process(SHELL, 1, 1000, Some(0), 1),
                process(60, SHELL, 150_000_000, Some(0), 1),
            ],
        ),
        SystemSample::of_processes(
            2,
            vec![process(SHELL, 1, 157_002_000, Some(157_000_000), 2)],
        ),
        SystemSample::of_processes(
            3,
            vec![process(SHELL, 1, 157_002_000, Some(157_000_000), 3)],
        ),
    ];
    assert_eq!(shell_reads(&samples), [(Some(7_000_000), 1000), (None, 0)]);
}

#[test]
fn children_that_no_sample_has_seen_are_not_lost() {
    let samples = [
        SystemSample::of_processes(1, vec![process(SHELL, 1, 0, Some(0), 1)]),
        SystemSample::of_processes(
            2,
            vec![process(SHELL, 1, 150_000_000, Some(150_000_000), 2)],
        ),
    ];
    assert_eq!(shell_reads(&samples), [(Some(150_000_000), 0)]);
}

#[test]
fn child_that_ends_while_the_sample_is_taken_is_taken_off_in_the_next() {
    // The parent was read before the child ended, the child after it.
    let samples = [
        SystemSample::of_processes(
            1,
            vec![
                process(SHELL, 1, 0, Some(0), 1),
                process(60, SHELL, 5_000_000, Some(0), 1),
            ],
        ),
        SystemSample::of_processes(2, vec![process(SHELL, 1, 0, Some(0), 2)]),
        SystemSample::of_processes(3, vec![process(SHELL, 1, 5_000_000, Some(5_000_000), 3)]),
    ];
    assert_eq!(shell_reads(&samples), [(None, 0), (None, 0)]);
}

#[test]
fn grandchild_that_ended_with_its_parent_is_taken_off_too() {
    let samples = [
        SystemSample::of_processes(
            1,
            vec![
                process(SHELL, 1, 0, Some(0), 1),
                process(60, SHELL, 1_000_000, Some(0), 1),
                process(61, 60, 5_000_000, Some(0), 1),
            ],
        ),
        SystemSample::of_processes(2, vec![process(SHELL, 1, 6_000_000, Some(6_000_000), 2)]),
    ];
    assert_eq!(shell_reads(&samples), [(None, 0)]);
}

#[test]
fn parent_with_threads_is_not_charged_with_what_was_shown_for_its_child() {
    let samples = [
        SystemSample::of_processes(
            1,
            vec![
                process(SHELL, 1, 0, None, 1),
                process(60, SHELL, 5_000_000, Some(0), 1),
            ],
        ),
        SystemSample::of_processes(2, vec![process(SHELL, 1, 5_300_000, None, 2)]),
    ];
    assert_eq!(shell_reads(&samples), [(None, 300_000)]);
}

#[test]
fn ended_child_whose_parent_ignores_it_is_forgotten() {
    let mut samples = vec![SystemSample::of_processes(
        1,
        vec![
            process(SHELL, 1, 0, Some(0), 1),
            process(60, SHELL, 5_000_000, Some(0), 1),
        ],
    )];
    for second in 2..5 {
        samples.push(SystemSample::of_processes(
            second,
            vec![process(SHELL, 1, 0, Some(0), second)],
        ));
    }
    samples.push(SystemSample::of_processes(
        5,
        vec![process(SHELL, 1, 5_000_000, Some(5_000_000), 5)],
    ));
    assert_eq!(shell_reads(&samples).last(), Some(&(Some(5_000_000), 0)));
}
