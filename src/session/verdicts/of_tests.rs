//! Verdicts that a test gives itself, because only it knows: listed here to be documented with the
//! others. What a part of the test survey finds has the part's name and a slash in front.

/// A verdict that some test gives.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its fixed name.
    pub code: &'static str,
    /// Which tests give it.
    pub tests: &'static str,
    /// What it means.
    pub means: &'static str,
}

const fn known(code: &'static str, tests: &'static str, means: &'static str) -> Known {
    Known { code, tests, means }
}

/// All of them, by name.
pub const KNOWN: &[Known] = &[
    known(
        "advice-block-size",
        "survey",
        "the block size at which access and transfer take alike",
    ),
    known(
        "advice-full-copy",
        "survey",
        "how long a copy of the whole drive takes",
    ),
    known(
        "advice-queue-depth",
        "survey",
        "the queue depth at which requests are answered soon, and the one at which most are done",
    ),
    known(
        "command-time-unknown",
        "full-stroke, track-to-track, seek-curve",
        "seek times include the time of a command, for no cache answered a repeated read",
    ),
    known(
        "cylinder-not-told",
        "track-to-track",
        "the skews of the tracks do not show where a cylinder ends",
    ),
    known(
        "data-made-too-slowly",
        "compression",
        "this machine makes random data more slowly than the drive takes it",
    ),
    known(
        "does-not-rotate",
        "rotation and all of mechanics",
        "reads of the same sector are not whole revolutions apart",
    ),
    known(
        "drive-compresses",
        "compression",
        "zeros or repeated blocks are written faster than random data",
    ),
    known(
        "fast-start",
        "sequential-read, sequential-write",
        "its beginning is faster than its end",
    ),
    known(
        "file-cut-short",
        "write-sync-close",
        "a limit ended files before they were written",
    ),
    known(
        "job-never-joined",
        "interference",
        "the test ended before the job had done anything",
    ),
    known(
        "kernel-splits",
        "block-size-read, block-size-write",
        "some of the block sizes are larger than max_sectors_kb",
    ),
    known(
        "knee-differs",
        "concurrency-read, concurrency-write",
        "the curve of IOPS bends at another depth from round to round",
    ),
    known(
        "left-out",
        "survey",
        "a part could not be run; the code is PART/left-out",
    ),
    known(
        "mechanics-skipped",
        "survey",
        "tests of the arm were skipped, because nothing rotates",
    ),
    known(
        "no-best-batch",
        "reorder",
        "the measurements do not tell the best reorder buffer from the others",
    ),
    known(
        "no-best-iops-depth",
        "concurrency-read, concurrency-write",
        "the measurements do not tell the depth with the most IOPS from the others",
    ),
    known(
        "no-best-read-ahead",
        "read-ahead",
        "the measurements do not tell the best setting from the others",
    ),
    known(
        "no-cache-gain",
        "write-cache",
        "plain writes are about equally fast with and without the drive's cache",
    ),
    known(
        "no-compression",
        "compression",
        "zeros are written no faster than random data",
    ),
    known(
        "no-direct",
        "write-sync-close",
        "the file system does not take O_DIRECT",
    ),
    known(
        "no-optimal-depth",
        "concurrency-read, concurrency-write",
        "the measurements do not tell the optimal depth from the others",
    ),
    known(
        "no-page-cache",
        "read-modify-write",
        "a simulated drive has no page cache in front",
    ),
    known(
        "no-reorder-gain",
        "reorder",
        "no size of the reorder buffer is significantly faster than none",
    ),
    known(
        "no-response-model",
        "block-size-read, block-size-write",
        "response times do not follow access time plus transfer",
    ),
    known(
        "no-significant-penalty",
        "read-modify-write, write-cache",
        "whole and partial blocks, or plain and O_DSYNC writes, are about equally fast",
    ),
    known(
        "no-zones",
        "sequential-read",
        "it says that it rotates, but is equally fast everywhere",
    ),
    known(
        "not-512e",
        "read-modify-write",
        "no write past the cache can be smaller than a block",
    ),
    known("not-steady", "steady-state", "the rounds did not settle"),
    known(
        "nothing-written",
        "quartet",
        "the writing half was left out",
    ),
    known(
        "pace-changed",
        "compression",
        "the same data was written at different speeds",
    ),
    known(
        "queue-depth-not-reached",
        "random-read, random-write, mixed, concurrency-read, concurrency-write",
        "by Little's law fewer than 90 % of the requests asked for were in flight",
    ),
    known(
        "rate-not-reached",
        "random-read, random-write, mixed",
        "less than 98 % of --rate was done",
    ),
    known(
        "rotation-as-reported",
        "rotation",
        "it turns as fast as it says",
    ),
    known(
        "rotation-class",
        "rotation",
        "which class of speeds it belongs to",
    ),
    known(
        "rotation-differs",
        "rotation",
        "it turns at another speed than it says",
    ),
    known(
        "rotation-doubtful",
        "rotation and all of mechanics",
        "there is a rotation in the response times, but not beyond doubt",
    ),
    known(
        "rotational-flag-wrong",
        "rotation",
        "the kernel's flag says the opposite",
    ),
    known(
        "scheduler-ignores-classes",
        "interference",
        "the scheduler does not heed I/O classes",
    ),
    known(
        "seek-doubtful",
        "full-stroke, track-to-track, seek-curve",
        "waiting times are not evenly spread over a revolution (Anderson-Darling, 1 %)",
    ),
    known(
        "seek-uncertain",
        "track-to-track",
        "half the width of the limits is more than 5 % of the seek",
    ),
    known(
        "sequential-lines-differ",
        "quartet",
        "the sequential lines of a disk differ, though its medium gives the same to both",
    ),
    known(
        "setting-not-changeable",
        "read-ahead, write-cache",
        "a setting could not be changed",
    ),
    known(
        "setting-not-restored",
        "read-ahead, write-cache",
        "a setting could not be put back",
    ),
    known(
        "span-below-cylinder",
        "track-to-track",
        "the jumps stay within a cylinder",
    ),
    known(
        "surfaces-not-told",
        "geometry",
        "the skews do not show how many surfaces there are",
    ),
    known(
        "throughput-above-medium",
        "survey",
        "a throughput is higher than the medium gives at its fastest place",
    ),
    known(
        "too-few-probes",
        "all of mechanics",
        "it ended before there were enough reads",
    ),
    known(
        "too-few-samples-at-depth",
        "concurrency-read, concurrency-write",
        "p90 cannot be known at some depths",
    ),
    known(
        "tracks-not-told",
        "all of mechanics",
        "angles of neighbouring sectors show no tracks",
    ),
    known(
        "unsorted-reads-changed",
        "reorder",
        "the unsorted reads were faster in one round than in another",
    ),
    known(
        "unstable",
        "--repeat, compare",
        "repeated runs differ by more than their limits",
    ),
    known(
        "users-are-disturbed",
        "interference",
        "the job takes much of the users' IOPS",
    ),
    known(
        "write-cliff",
        "steady-state",
        "throughput fell for good after so many bytes",
    ),
    known(
        "zone-too-short",
        "sequential-read, sequential-write",
        "a zone holds fewer than ten requests for each one in flight",
    ),
    known(
        "zones-not-measured",
        "sequential-read, sequential-write",
        "the time limit left no time for some of the zones",
    ),
    known(
        "zones-not-told",
        "geometry",
        "it ended before all boundaries of zones were found",
    ),
    known(
        "zones-uncertain",
        "sequential-read, sequential-write",
        "the measured zones hold too few requests, or the drive has too many zones, to count them reliably",
    ),
];
