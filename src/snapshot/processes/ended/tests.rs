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

fn record(pid: u32, parent: u32, name: &str, read: u64) -> ExitRecord {
    ExitRecord {
        pid,
        parent_pid: parent,
        name: name.as_bytes().to_vec(),
        io: io(read),
    }
}

fn with_records(mut sample: SystemSample, records: &[ExitRecord]) -> SystemSample {
    sample.exit_records = records.to_vec();
    sample
}

/// Two samples of the shell, a second apart: what it has read, and its ended children. The second
/// one has these records.
fn shell_with_records(
    [before, after]: [(u64, Option<u64>); 2],
    records: &[ExitRecord],
) -> [SystemSample; 2] {
    let shell = |second, (read, ended)| {
        SystemSample::of_processes(second, vec![process(SHELL, 1, read, ended, second)])
    };
    [shell(1, before), with_records(shell(2, after), records)]
}

type NamedPrograms = Vec<(String, u64)>;

/// Read bytes of the ended children of the shell and their names in each interval, and the bytes of
/// the shell that were counted twice.
fn recorded_reads(samples: &[SystemSample]) -> Vec<(Option<(u64, NamedPrograms)>, u64)> {
    let mut tracker = EndedChildren::default();
    samples
        .windows(2)
        .map(|pair| {
            let interval = SampleInterval::new(Some(&pair[0]), &pair[1]);
            let found = tracker.update(&interval);
            let unseen = found.unseen.get(&SHELL).map(|ended| {
                let names = ended.programs.iter();
                let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                let names = names.map(|(bytes, count)| (name(bytes), *count));
                (ended.io.read_bytes, names.collect())
            });
            let twice = found.counted_twice.get(&SHELL);
            (unseen, twice.map_or(0, |twice| twice.read_bytes))
        })
        .collect()
}

fn named(bytes: u64, names: &[(&str, u64)]) -> Option<(u64, NamedPrograms)> {
    let names = names
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    Some((bytes, names.collect()))
}

#[test]
fn recorded_children_are_named_and_counted_once() {
    let records = [
        record(60, SHELL, "dd", 3_000_000),
        record(61, SHELL, "dd", 3_000_000),
        record(62, SHELL, "cat", 1_000_000),
    ];
    let [before, after] =
        shell_with_records([(0, Some(0)), (7_000_000, Some(7_000_000))], &records);
    let samples = [
        before,
        after,
        SystemSample::of_processes(3, vec![process(SHELL, 1, 7_000_000, Some(7_000_000), 3)]),
    ];
    let expected = named(7_000_000, &[("dd", 2), ("cat", 1)]);
    assert_eq!(recorded_reads(&samples), [(expected, 0), (None, 0)]);
}

#[test]
fn recorded_child_whose_parent_was_read_earlier_is_not_counted_again() {
    let records = [record(60, SHELL, "dd", 3_000_000)];
    let [before, after] = shell_with_records([(0, Some(0)), (0, Some(0))], &records);
    let samples = [
        before,
        after,
        SystemSample::of_processes(3, vec![process(SHELL, 1, 3_000_000, Some(3_000_000), 3)]),
    ];
    let expected = named(3_000_000, &[("dd", 1)]);
    assert_eq!(recorded_reads(&samples), [(expected, 0), (None, 0)]);
}

#[test]
fn recorded_children_of_a_parent_with_threads_are_taken_off_its_own() {
    let records = [record(60, SHELL, "dd", 3_000_000)];
    let samples = shell_with_records([(0, None), (3_500_000, None)], &records);
    let expected = named(3_000_000, &[("dd", 1)]);
    assert_eq!(recorded_reads(&samples), [(expected, 3_000_000)]);
}

#[test]
fn recorded_child_that_was_sampled_counts_beyond_its_last_sample() {
    let samples = [
        SystemSample::of_processes(
            1,
            vec![
                process(SHELL, 1, 0, Some(0), 1),
                process(60, SHELL, 150_000_000, Some(0), 1),
            ],
        ),
        with_records(
            SystemSample::of_processes(
                2,
                vec![process(SHELL, 1, 157_000_000, Some(157_000_000), 2)],
            ),
            &[record(60, SHELL, "dd", 157_000_000)],
        ),
    ];
    let expected = named(7_000_000, &[("dd", 1)]);
    assert_eq!(recorded_reads(&samples), [(expected, 0)]);
}

#[test]
fn thread_that_ends_before_its_process_is_counted_with_it() {
    // A thread of 60 ends first; the process ends in the next interval, with the rest.
    let shell = |second| process(SHELL, 1, 0, Some(0), second);
    let samples = [
        SystemSample::of_processes(1, vec![shell(1)]),
        with_records(
            SystemSample::of_processes(
                2,
                vec![shell(2), process(60, SHELL, 3_000_000, Some(0), 2)],
            ),
            &[record(60, SHELL, "worker", 2_000_000)],
        ),
        with_records(
            SystemSample::of_processes(3, vec![shell(3)]),
            &[record(60, SHELL, "worker", 2_000_000)],
        ),
    ];
    let expected = named(1_000_000, &[("worker", 1)]);
    assert_eq!(recorded_reads(&samples), [(None, 0), (expected, 0)]);
}

#[test]
fn child_of_an_unseen_child_is_charged_to_the_ancestor_that_is_alive() {
    // sh -c of make starts dd and waits for it; both end within the interval.
    let records = [
        record(60, SHELL, "sh", 300_000),
        record(61, 60, "dd", 3_000_000),
    ];
    let samples = shell_with_records([(0, Some(0)), (3_300_000, Some(3_300_000))], &records);
    let expected = named(3_300_000, &[("dd", 1), ("sh", 1)]);
    assert_eq!(recorded_reads(&samples), [(expected, 0)]);
}
