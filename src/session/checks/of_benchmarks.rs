//! Verdicts that benchmarks record themselves because only they have the data. They are listed here
//! so that they are documented with the others. A verdict of a benchmark nested in `survey` carries
//! that benchmark's name and a slash as prefix.

/// A verdict that one or more benchmarks record.
#[derive(Debug, Clone, Copy)]
pub struct BenchmarkVerdict {
    /// Stable identifier, such as `no-rotation`.
    pub code: &'static str,
    /// The benchmarks that record it.
    pub benchmarks: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn benchmark_verdict(
    code: &'static str,
    tests: &'static str,
    means: &'static str,
) -> BenchmarkVerdict {
    BenchmarkVerdict {
        code,
        benchmarks: tests,
        meaning: means,
    }
}

/// All verdicts of benchmarks, sorted by code.
pub const BENCHMARK_VERDICTS: &[BenchmarkVerdict] = &[
    benchmark_verdict(
        "advice-block-size",
        "survey",
        "the block size at which access and transfer take alike",
    ),
    benchmark_verdict(
        "advice-full-copy",
        "survey",
        "how long a copy of the whole drive takes",
    ),
    benchmark_verdict(
        "advice-queue-depth",
        "survey",
        "the queue depth at which requests are answered soon, and the one at which most are done",
    ),
    benchmark_verdict(
        "command-time-unknown",
        "full-stroke, track-to-track, seek-curve",
        "seek times include the time of a command, for no cache answered a repeated read",
    ),
    benchmark_verdict(
        "cylinder-not-told",
        "track-to-track",
        "the skews of the tracks do not show where a cylinder ends",
    ),
    benchmark_verdict(
        "data-made-too-slowly",
        "compression",
        "this machine makes random data more slowly than the drive takes it",
    ),
    benchmark_verdict(
        "does-not-rotate",
        "rotation and all of mechanics",
        "reads of the same sector are not whole revolutions apart",
    ),
    benchmark_verdict(
        "drive-compresses",
        "compression",
        "zeros or repeated blocks are written faster than random data",
    ),
    benchmark_verdict(
        "fast-start",
        "sequential-read, sequential-write",
        "its beginning is faster than its end",
    ),
    benchmark_verdict(
        "file-cut-short",
        "write-sync-close",
        "a limit ended files before they were written",
    ),
    benchmark_verdict(
        "job-never-joined",
        "interference",
        "the test ended before the job had done anything",
    ),
    benchmark_verdict(
        "kernel-splits",
        "block-size-read, block-size-write",
        "some of the block sizes are larger than max_sectors_kb",
    ),
    benchmark_verdict(
        "knee-differs",
        "concurrency-read, concurrency-write",
        "the curve of IOPS bends at another depth from round to round",
    ),
    benchmark_verdict(
        "left-out",
        "survey",
        "a part could not be run; the code is PART/left-out",
    ),
    benchmark_verdict(
        "mechanics-skipped",
        "survey",
        "tests of the arm were skipped, because nothing rotates",
    ),
    benchmark_verdict(
        "no-best-batch",
        "reorder",
        "the measurements do not tell the best reorder buffer from the others",
    ),
    benchmark_verdict(
        "no-best-iops-depth",
        "concurrency-read, concurrency-write",
        "the measurements do not tell the depth with the most IOPS from the others",
    ),
    benchmark_verdict(
        "no-best-read-ahead",
        "read-ahead",
        "the measurements do not tell the best setting from the others",
    ),
    benchmark_verdict(
        "no-cache-gain",
        "write-cache",
        "plain writes are about equally fast with and without the drive's cache",
    ),
    benchmark_verdict(
        "no-compression",
        "compression",
        "zeros are written no faster than random data",
    ),
    benchmark_verdict(
        "no-direct",
        "write-sync-close",
        "the file system does not take O_DIRECT",
    ),
    benchmark_verdict(
        "no-optimal-depth",
        "concurrency-read, concurrency-write",
        "the measurements do not tell the optimal depth from the others",
    ),
    benchmark_verdict(
        "no-page-cache",
        "read-modify-write",
        "a simulated drive has no page cache in front",
    ),
    benchmark_verdict(
        "no-reorder-gain",
        "reorder",
        "no size of the reorder buffer is significantly faster than none",
    ),
    benchmark_verdict(
        "no-response-model",
        "block-size-read, block-size-write",
        "response times do not follow access time plus transfer",
    ),
    benchmark_verdict(
        "no-significant-penalty",
        "read-modify-write, write-cache",
        "whole and partial blocks, or plain and O_DSYNC writes, are about equally fast",
    ),
    benchmark_verdict(
        "no-zones",
        "sequential-read",
        "it says that it rotates, but is equally fast everywhere",
    ),
    benchmark_verdict(
        "not-512e",
        "read-modify-write",
        "no write past the cache can be smaller than a block",
    ),
    benchmark_verdict("not-steady", "steady-state", "the rounds did not settle"),
    benchmark_verdict(
        "nothing-written",
        "quartet",
        "the writing half was left out",
    ),
    benchmark_verdict(
        "pace-changed",
        "compression",
        "the same data was written at different speeds",
    ),
    benchmark_verdict(
        "queue-depth-not-reached",
        "random-read, random-write, mixed, concurrency-read, concurrency-write",
        "by Little's law fewer than 90 % of the requests asked for were in flight",
    ),
    benchmark_verdict(
        "rate-not-reached",
        "random-read, random-write, mixed",
        "less than 98 % of --rate was done",
    ),
    benchmark_verdict(
        "rotation-as-reported",
        "rotation",
        "it turns as fast as it says",
    ),
    benchmark_verdict(
        "rotation-class",
        "rotation",
        "which class of speeds it belongs to",
    ),
    benchmark_verdict(
        "rotation-differs",
        "rotation",
        "it turns at another speed than it says",
    ),
    benchmark_verdict(
        "rotation-doubtful",
        "rotation and all of mechanics",
        "there is a rotation in the response times, but not beyond doubt",
    ),
    benchmark_verdict(
        "rotational-flag-wrong",
        "rotation",
        "the kernel's flag says the opposite",
    ),
    benchmark_verdict(
        "scheduler-ignores-classes",
        "interference",
        "the scheduler does not heed I/O classes",
    ),
    benchmark_verdict(
        "seek-doubtful",
        "full-stroke, track-to-track, seek-curve",
        "waiting times are not evenly spread over a revolution (Anderson-Darling, 1 %)",
    ),
    benchmark_verdict(
        "seek-uncertain",
        "track-to-track",
        "half the width of the limits is more than 5 % of the seek",
    ),
    benchmark_verdict(
        "sequential-lines-differ",
        "quartet",
        "the sequential lines of a disk differ, though its medium gives the same to both",
    ),
    benchmark_verdict(
        "setting-not-changeable",
        "read-ahead, write-cache",
        "a setting could not be changed",
    ),
    benchmark_verdict(
        "setting-not-restored",
        "read-ahead, write-cache",
        "a setting could not be put back",
    ),
    benchmark_verdict(
        "span-below-cylinder",
        "track-to-track",
        "the jumps stay within a cylinder",
    ),
    benchmark_verdict(
        "surfaces-not-told",
        "geometry",
        "the skews do not show how many surfaces there are",
    ),
    benchmark_verdict(
        "throughput-above-medium",
        "survey",
        "a throughput is higher than the medium gives at its fastest place",
    ),
    benchmark_verdict(
        "too-few-probes",
        "all of mechanics",
        "it ended before there were enough reads",
    ),
    benchmark_verdict(
        "too-few-samples-at-depth",
        "concurrency-read, concurrency-write",
        "p90 cannot be known at some depths",
    ),
    benchmark_verdict(
        "tracks-not-told",
        "all of mechanics",
        "angles of neighbouring sectors show no tracks",
    ),
    benchmark_verdict(
        "unsorted-reads-changed",
        "reorder",
        "the unsorted reads were faster in one round than in another",
    ),
    benchmark_verdict(
        "unstable",
        "--repeat, compare",
        "repeated runs differ by more than their limits",
    ),
    benchmark_verdict(
        "users-are-disturbed",
        "interference",
        "the job takes much of the users' IOPS",
    ),
    benchmark_verdict(
        "write-cliff",
        "steady-state",
        "throughput fell for good after so many bytes",
    ),
    benchmark_verdict(
        "zone-too-short",
        "sequential-read, sequential-write",
        "a zone holds fewer than ten requests for each one in flight",
    ),
    benchmark_verdict(
        "zones-not-measured",
        "sequential-read, sequential-write",
        "the time limit left no time for some of the zones",
    ),
    benchmark_verdict(
        "zones-not-told",
        "geometry",
        "it ended before all boundaries of zones were found",
    ),
    benchmark_verdict(
        "zones-uncertain",
        "sequential-read, sequential-write",
        "the measured zones hold too few requests, or the drive has too many zones, to count them reliably",
    ),
];
