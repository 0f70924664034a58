//! Parameters shared by several benchmarks, and those of the run itself.

use std::time::Duration;

use super::parameter::keyword::keywords;
use super::parameter::{DATA_WORDS, Keyword, Parameter, ParameterKind, SizeRange, WindowPosition};
use crate::engine::{CacheMode, DataKind, EngineChoice, SyncMode, WaitMode};
use crate::session::document::ParameterName;

/// Request size.
pub const BLOCK_SIZE: Parameter<u64> = Parameter {
    name: ParameterName::BlockSize.as_str(),
    kind: ParameterKind::Size { min: 1 },
    help: "size of a request",
    default: |target| u64::from(target.physical_block_bytes.max(4096)),
};

/// Request size or range of sizes (fio bs, bsrange).
pub const BLOCK_SIZES: Parameter<SizeRange> = Parameter {
    name: BLOCK_SIZE.name,
    kind: ParameterKind::SizeOrRange { min: 1 },
    help: "size of a request, or a range such as 4KiB-64KiB",
    default: |target| {
        let bytes = (BLOCK_SIZE.default)(target);
        SizeRange {
            min: bytes,
            max: bytes,
        }
    },
};

/// I/O depth of each worker (fio iodepth).
pub const DEPTH: Parameter<u32> = Parameter {
    name: ParameterName::Depth.as_str(),
    kind: ParameterKind::Count { min: 1, max: 4096 },
    help: "requests that each worker keeps in flight",
    default: |target| match target.is_rotational() {
        Some(true) => 1,
        _ => 32,
    },
};

/// [`DEPTH`] with the default that depends on the target.
pub const DEPTH_OF_MEDIUM: Parameter<u32> = Parameter {
    help: "requests that each worker keeps in flight; by default 32, on a rotational disk 1",
    ..DEPTH
};

/// Number of worker threads (fio numjobs).
pub const WORKERS: Parameter<u32> = Parameter {
    name: ParameterName::Workers.as_str(),
    kind: ParameterKind::Count { min: 1, max: 1024 },
    help: "worker threads, each with its own queue (fio numjobs)",
    default: |_| 1,
};

/// Time limit (fio runtime).
pub const DURATION: Parameter<Option<Duration>> = Parameter {
    name: "duration",
    kind: ParameterKind::NonZeroDuration,
    help: "stop after this time, excluding the ramp time",
    default: |_| Some(Duration::from_secs(10)),
};

/// Limit on bytes transferred (fio io_size).
pub const BYTES: Parameter<Option<u64>> = Parameter {
    name: "bytes",
    kind: ParameterKind::Size { min: 1 },
    help: "stop after this many bytes, including those of the ramp time",
    default: |_| None,
};

/// Limit on bytes written: 8 GiB cause no noticeable wear.
pub const WRITTEN_BYTES: Parameter<Option<u64>> =
    BYTES.with_default(|_| Some(DEFAULT_WRITTEN_BYTES));
/// Its default.
pub const DEFAULT_WRITTEN_BYTES: u64 = 8 << 30;

/// The longest request in bytes.
pub const MAX_REQUEST_BYTES: u64 = 1 << 30;

/// Limit on the number of requests (fio number_ios).
pub const REQUESTS: Parameter<Option<u64>> = Parameter {
    name: "requests",
    kind: ParameterKind::Count {
        min: 1,
        max: u64::MAX,
    },
    help: "stop after this many requests, including those of the ramp time",
    default: |_| None,
};

/// Ramp time, excluded from the results (fio ramp_time).
pub const RAMP: Parameter<Duration> = Parameter {
    name: "ramp",
    kind: ParameterKind::Duration,
    help: "time at the start that is excluded from the results (fio ramp_time)",
    default: |_| Duration::ZERO,
};

/// First byte of the window.
pub const WINDOW_BEGIN: Parameter<WindowPosition> = Parameter {
    name: "window-begin",
    kind: ParameterKind::Position,
    help: "offset of the first byte of the measured window",
    default: |_| WindowPosition::Percent(0.0),
};

/// End of the window, exclusive.
pub const WINDOW_END: Parameter<WindowPosition> = Parameter {
    name: "window-end",
    kind: ParameterKind::Position,
    help: "end offset of the measured window",
    default: |_| WindowPosition::Percent(100.0),
};

/// Alignment of request addresses (fio blockalign).
pub const ALIGN: Parameter<Option<u64>> = Parameter {
    name: ParameterName::Align.as_str(),
    kind: ParameterKind::Size { min: 1 },
    help: "alignment of the offsets; unset: the block size",
    default: |_| None,
};

/// Seed of all random generators (fio randseed).
pub const SEED: Parameter<u64> = Parameter {
    name: "seed",
    kind: ParameterKind::Count {
        min: 0,
        max: u64::MAX,
    },
    help: "seed of the random generators; the same seed gives the same offsets",
    default: |_| 1,
};

/// Page cache mode (fio direct, invalidate).
pub const CACHE: Parameter<CacheMode> = Parameter {
    name: ParameterName::Cache.as_str(),
    kind: ParameterKind::Choice(CacheMode::WORDS),
    help: "page cache: bypass (O_DIRECT), drop (buffered, dropped before the start) or keep",
    default: |target| match target.supports_direct_io {
        true => CacheMode::Bypass,
        false => CacheMode::Drop,
    },
};

/// Distribution of random offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetDistribution {
    /// All blocks alike.
    Uniform,
    /// A few blocks get most requests.
    Zipf,
}

keywords!(OffsetDistribution {
    OffsetDistribution::Uniform = "uniform",
    OffsetDistribution::Zipf = "zipf",
});

/// Distribution of random offsets (fio random_distribution).
pub const PATTERN: Parameter<OffsetDistribution> = Parameter {
    name: "pattern",
    kind: ParameterKind::Choice(OffsetDistribution::WORDS),
    help: "distribution of the offsets: uniform, or zipf (few blocks get most requests, as in databases)",
    default: |_| OffsetDistribution::Uniform,
};

/// Exponent of the Zipf distribution.
pub const ZIPF: Parameter<f64> = Parameter {
    name: "zipf",
    kind: ParameterKind::Number {
        min: 0.01,
        max: 10.0,
    },
    help: "exponent theta of the zipf distribution",
    default: |_| 0.99,
};

/// Durability of each write (fio sync).
pub const SYNC: Parameter<SyncMode> = Parameter {
    name: ParameterName::Sync.as_str(),
    kind: ParameterKind::Choice(SyncMode::WORDS),
    help: "a write completes when accepted (none), when its data is durable (O_DSYNC), or also its metadata (O_SYNC)",
    default: |_| SyncMode::None,
};

/// Open-loop arrival rate (fio rate_iops).
pub const RATE: Parameter<Option<f64>> = Parameter {
    name: ParameterName::Rate.as_str(),
    kind: ParameterKind::Rate,
    help: "open-loop arrival rate (fio rate_iops); unset: closed loop with a constant queue depth",
    default: |_| None,
};

/// How completions are waited for.
pub const WAIT: Parameter<WaitMode> = Parameter {
    name: "wait",
    kind: ParameterKind::Choice(WaitMode::WORDS),
    help: "wait for completions asleep, as applications do (sleep), or awake where a processor is free (spin)",
    default: |_| WaitMode::Sleep,
};

/// Whether errors of the medium are counted instead of ending the run (fio continue_on_error=io).
pub const CONTINUE_ON_ERROR: Parameter<bool> = Parameter {
    name: "continue-on-error",
    kind: ParameterKind::Choice(bool::WORDS),
    help: "count requests that the medium answers with an error, instead of ending the run at the first one",
    default: |_| false,
};

/// Data pattern of writes.
pub const DATA: Parameter<DataKind> = Parameter {
    name: ParameterName::Data.as_str(),
    kind: ParameterKind::ChoiceOrPercent(DATA_WORDS),
    help: "data to write: random, zero, repeat (one random block), or random with this percentage of zeros",
    default: |_| DataKind::Random,
};

/// Fraction of reads (fio rwmixread).
pub const READ_FRACTION: Parameter<f64> = Parameter {
    name: "reads",
    kind: ParameterKind::Fraction,
    help: "percentage of reads (fio rwmixread)",
    default: |_| 0.7,
};

/// Latency threshold for the fraction of slow requests.
pub const SLOWER_THAN: Parameter<Option<Duration>> = Parameter {
    name: "slower-than",
    kind: ParameterKind::Latency,
    help: "report the fraction of requests with a higher latency than this",
    default: |_| None,
};

/// The engine: a parameter of the run, not of the benchmark.
pub const ENGINE: Parameter<EngineChoice> = Parameter {
    name: "engine",
    kind: ParameterKind::Choice(EngineChoice::WORDS),
    help: "how requests are submitted: auto (io_uring where available), uring or pread",
    default: |_| EngineChoice::Auto,
};

/// Size of the scratch file: a parameter of the run, not of the benchmark.
pub const SCRATCH_SIZE: Parameter<u64> = Parameter {
    name: "scratch-size",
    kind: ParameterKind::Size { min: 1 << 20 },
    help: "size of the scratch file in a directory; it is removed afterwards",
    default: |target| target.size_bytes,
};
