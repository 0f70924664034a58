//! The test's own count of requests and bytes against the kernel's.

use super::Provoked::ByTest;
use super::{Rule, is_device, is_direct, share};
use crate::session::document::{
    Evidence, KernelCounts, OtherUser, Relation, Run, RunState, Severity, Witness,
};
use crate::units;

/// Less than this is noise: a journal, a log line, a page of a program.
const LEAST_BYTES: u64 = 1 << 20;
/// Fewer requests say nothing.
const LEAST_REQUESTS: u64 = 100;
/// So much less at the device than was asked for means that something above it answered.
const MISSING: f64 = 0.02;
/// So much of what was written may be in memory still.
const NOT_YET_THERE: f64 = 0.1;
/// So many more requests than were made mean that the kernel splits them.
const SPLIT: f64 = 1.05;
/// So many of the requests may have been joined with a neighbour.
const MERGED: f64 = 0.05;
/// So much of what the drive did may be for others.
const OTHERS: f64 = 0.01;
/// Other users that are named.
const NAMED: usize = 4;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "served-from-cache",
        severity: Severity::Invalid,
        means: "Fewer bytes were read at the device than the test asked for: something above it \
                answered.",
        when: "more than 2 % of the bytes read, of at least 1 MiB, did not reach the device; holes of \
               a file are not counted",
        advice: "measure with --cache bypass, on a window larger than the machine's memory",
        provoked: ByTest("a_whole_file_has_no_holes_and_a_cached_one_is_served_from_memory"),
        find: served_from_cache,
    },
    Rule {
        code: "still-in-memory",
        severity: Severity::Warning,
        means: "Much of what was written had not reached the device when the run ended: the \
                figures are those of memory.",
        when: "more than 10 % of the bytes written, and at least 1 MiB, are missing in the \
               device's count",
        advice: "write with --cache bypass or --sync dsync, or much more than the machine's memory",
        provoked: ByTest("what_was_written_into_memory_is_told"),
        find: still_in_memory,
    },
    Rule {
        code: "other-users",
        severity: Severity::Warning,
        means: "Others used the drive during the run: what they took is missing in the figures.",
        when: "requests of others are more than 1 % of the test's bytes, and at least 1 MiB; on a \
               file system only what is seen of named processes counts, for it writes on its own \
               account too",
        advice: "stop them and measure again, or take the figures for what is left beside them",
        provoked: ByTest("another_process_on_the_same_device_is_named"),
        find: other_users,
    },
    Rule {
        code: "requests-split",
        severity: Severity::Note,
        means: "The kernel cut requests into smaller ones: IOPS and response times are of the \
                whole ones, the drive saw others.",
        when: "the device completed more than 5 % more requests than were made, with about the \
               same bytes",
        advice: "choose a --block-size up to max_sectors_kb of the device's queue; of a file, one \
                 that is not scattered",
        provoked: ByTest("requests_larger_than_the_queue_takes_are_split"),
        find: requests_split,
    },
    Rule {
        code: "requests-merged",
        severity: Severity::Note,
        means: "The kernel joined requests with their neighbours: the drive saw fewer and larger \
                ones.",
        when: "more than 5 % of the requests were merged, past the page cache",
        advice: "a larger --block-size says what the drive does with requests of that size; for \
                 single ones set nomerges of the device's queue to 2",
        provoked: ByTest("neighbours_that_the_kernel_joins_are_told"),
        find: requests_merged,
    },
];

/// What a direction asked and what arrived.
struct Flow {
    asked: u64,
    requests: u64,
    reached: u64,
}

/// What was read; what lies in holes of a file never asks the device.
fn reads(run: &Run) -> Option<(Flow, &KernelCounts)> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.asked?);
    let real = run.evidence.extents.as_ref().map_or(1.0, |extents| {
        1.0 - share(extents.hole_bytes + extents.unwritten_bytes, extents.bytes).unwrap_or(0.0)
    });
    // Others may read as well: what this program had read is at most what it handed down.
    let own = run.evidence.submitted.map_or(u64::MAX, |it| it.read_bytes);
    Some((
        Flow {
            asked: (asked.read_bytes as f64 * real) as u64,
            requests: asked.reads,
            reached: kernel.read_bytes.min(own),
        },
        kernel,
    ))
}

fn served_from_cache(run: &Run) -> Option<String> {
    let (flow, kernel) = reads(run)?;
    let encoded = run
        .evidence
        .extents
        .as_ref()
        .is_some_and(|it| it.encoded_bytes > 0);
    let missing = share(flow.asked.saturating_sub(flow.reached), flow.asked)?;
    let enough = flow.asked >= LEAST_BYTES;
    (enough && !encoded && missing > MISSING).then(|| {
        format!(
            "{} were asked for in {} reads, {} reached {}: {} came from a cache",
            units::capacity(flow.asked as f64),
            flow.requests,
            units::capacity(flow.reached as f64),
            kernel.device,
            units::percent(missing)
        )
    })
}

fn still_in_memory(run: &Run) -> Option<String> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.asked?);
    let missing = asked.written_bytes.checked_sub(kernel.written_bytes)?;
    let encoded = run
        .evidence
        .extents
        .as_ref()
        .is_some_and(|it| it.encoded_bytes > 0);
    let much = missing >= LEAST_BYTES && share(missing, asked.written_bytes)? > NOT_YET_THERE;
    (much && !encoded && run.state != RunState::Running).then(|| {
        format!(
            "{} were written, {} had reached {} when the run ended",
            units::capacity(asked.written_bytes as f64),
            units::capacity(kernel.written_bytes as f64),
            kernel.device
        )
    })
}

/// What others did on the drive, in bytes: more than `named` is what nobody was seen to do.
struct Others {
    device: String,
    read: u64,
    written: u64,
}

fn other_users(run: &Run) -> Option<String> {
    let asked = run.evidence.asked?;
    let others = others(run)?;
    let bytes = others.read + others.written;
    let whole = asked.read_bytes + asked.written_bytes;
    if bytes < LEAST_BYTES || share(bytes, whole)? <= OTHERS {
        return None;
    }
    Some(format!(
        "beside the {} of the test {} did {}{}",
        units::capacity(whole as f64),
        others.device,
        directions(others.read, others.written),
        names(&run.evidence),
    ))
}

/// What the counts leave over for others, on the device or the whole drive of the partition, and
/// what was seen of them one by one: whichever is more.
fn others(run: &Run) -> Option<Others> {
    let kernel = run.kernel.as_ref()?;
    let submitted = run.evidence.submitted?;
    let asked = run.evidence.asked?;
    let whole = run
        .evidence
        .beneath
        .iter()
        .find(|it| it.relation == Relation::Whole);
    let counts = whole.map_or(kernel, |layer| &layer.counts);
    let seen = |bytes: fn(&OtherUser) -> u64, witness: fn(&OtherUser) -> bool| -> u64 {
        let known = run.evidence.others.iter().filter(|other| witness(other));
        known.map(bytes).sum()
    };
    let side = |counted: u64, own: u64, bytes: fn(&OtherUser) -> u64| {
        let left = counted.saturating_sub(own);
        // A file system reads and writes on its own account: only what somebody did counts.
        let left = if is_device(run) {
            left
        } else {
            left.min(seen(bytes, |_| true))
        };
        left.max(seen(bytes, |other| other.witness == Witness::Traced))
    };
    Some(Others {
        device: counts.device.clone().into(),
        read: side(
            counts.read_bytes,
            submitted
                .read_bytes
                .max(if is_direct(run) { asked.read_bytes } else { 0 }),
            |other| other.read_bytes,
        ),
        written: side(
            counts.written_bytes,
            submitted.written_bytes.max(asked.written_bytes),
            |other| other.written_bytes,
        ),
    })
}

/// `300 MB of reads and 2 MB of writes for others`.
fn directions(read: u64, written: u64) -> String {
    let sides = [(read, "reads"), (written, "writes")];
    let some = sides.iter().filter(|(bytes, _)| *bytes > 0);
    let words: Vec<String> = some
        .map(|(bytes, word)| format!("{} of {word}", units::capacity(*bytes as f64)))
        .collect();
    format!("{} for others", words.join(" and "))
}

fn names(evidence: &Evidence) -> String {
    let name = |other: &OtherUser| {
        let how = match other.witness {
            Witness::Traced => "",
            Witness::HasItOpen => ", has it open",
            Witness::SomeDrive => ", on some drive",
        };
        format!(
            "{} ({}: {}{how})",
            other.command,
            other.pid,
            units::capacity((other.read_bytes + other.written_bytes) as f64)
        )
    };
    let named: Vec<String> = evidence.others.iter().take(NAMED).map(name).collect();
    match named.is_empty() {
        true => "; nobody is left who could have been it, or this user may not see them".to_owned(),
        false => format!(": {}", named.join(", ")),
    }
}

/// Requests at the device for each that was made past the page cache, and their bytes likewise.
fn multiplied(run: &Run) -> Option<(u64, u64, &KernelCounts)> {
    let (kernel, asked) = (run.kernel.as_ref()?, run.evidence.asked?);
    let made = asked.reads + asked.writes;
    let bytes = share(
        kernel.read_bytes + kernel.written_bytes,
        asked.read_bytes + asked.written_bytes,
    )?;
    let comparable = is_direct(run) && made >= LEAST_REQUESTS && (0.98..1.02).contains(&bytes);
    comparable.then_some((made, kernel.reads + kernel.writes, kernel))
}

fn requests_split(run: &Run) -> Option<String> {
    let (made, completed, kernel) = multiplied(run)?;
    (share(completed, made)? > SPLIT).then(|| {
        let bytes = (kernel.read_bytes + kernel.written_bytes) as f64;
        format!(
            "{made} requests were made, {} completed {completed}, of {} on the average",
            kernel.device,
            units::block_size((bytes / completed as f64).round())
        )
    })
}

fn requests_merged(run: &Run) -> Option<String> {
    let (made, _, kernel) = multiplied(run)?;
    let merged = kernel.reads_merged + kernel.writes_merged;
    (share(merged, made)? > MERGED).then(|| {
        format!(
            "of {made} requests to {} {merged} were joined with a neighbour",
            kernel.device
        )
    })
}
