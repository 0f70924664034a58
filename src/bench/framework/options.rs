//! Parameters shared by several benchmarks.

use std::time::Duration;

use super::parameter::{ParameterKind, ParameterSpec, ParameterValue, WindowPosition};

/// Request size.
pub const BLOCK_SIZE: ParameterSpec = ParameterSpec {
    name: "block-size",
    kind: ParameterKind::Size { least: 1 },
    help: "bytes of one request",
    default_for: |target| ParameterValue::Size(u64::from(target.physical_block_bytes.max(4096))),
};

/// I/O depth of each worker (fio iodepth).
pub const DEPTH: ParameterSpec = ParameterSpec {
    name: "depth",
    kind: ParameterKind::Count {
        least: 1,
        most: 4096,
    },
    help: "requests that each worker keeps in flight",
    default_for: |target| {
        ParameterValue::Count(if target.is_rotational() == Some(true) {
            1
        } else {
            32
        })
    },
};

/// Number of worker threads (fio numjobs).
pub const WORKERS: ParameterSpec = ParameterSpec {
    name: "workers",
    kind: ParameterKind::Count {
        least: 1,
        most: 256,
    },
    help: "threads, each with a queue of its own",
    default_for: |_| ParameterValue::Count(1),
};

/// Time limit (fio runtime).
pub const DURATION: ParameterSpec = ParameterSpec {
    name: "duration",
    kind: ParameterKind::NonZeroDuration,
    help: "stop after this time, the ramp not counted",
    default_for: |_| ParameterValue::Duration(Duration::from_secs(10)),
};

/// Limit on bytes transferred (fio io_size).
pub const BYTES: ParameterSpec = ParameterSpec {
    name: "bytes",
    kind: ParameterKind::Size { least: 1 },
    help: "stop after this many bytes, those of the ramp included",
    default_for: |_| ParameterValue::Unset,
};

/// Limit on the number of requests (fio number_ios).
pub const REQUESTS: ParameterSpec = ParameterSpec {
    name: "requests",
    kind: ParameterKind::Count {
        least: 1,
        most: u64::MAX,
    },
    help: "stop after this many requests, those of the ramp included",
    default_for: |_| ParameterValue::Unset,
};

/// Ramp time, excluded from the results (fio ramp_time).
pub const RAMP: ParameterSpec = ParameterSpec {
    name: "ramp",
    kind: ParameterKind::Duration,
    help: "time at the start that is not counted",
    default_for: |_| ParameterValue::Duration(Duration::ZERO),
};

/// First byte of the window.
pub const WINDOW_BEGIN: ParameterSpec = ParameterSpec {
    name: "window-begin",
    kind: ParameterKind::Position,
    help: "where the part that is measured begins",
    default_for: |_| ParameterValue::Position(WindowPosition::Percent(0.0)),
};

/// End of the window, exclusive.
pub const WINDOW_END: ParameterSpec = ParameterSpec {
    name: "window-end",
    kind: ParameterKind::Position,
    help: "where the part that is measured ends",
    default_for: |_| ParameterValue::Position(WindowPosition::Percent(100.0)),
};

/// Alignment of request addresses (fio blockalign).
pub const ALIGN: ParameterSpec = ParameterSpec {
    name: "align",
    kind: ParameterKind::Size { least: 1 },
    help: "addresses are multiples of this; unset: of the block size",
    default_for: |_| ParameterValue::Unset,
};

/// Seed of all random generators (fio randseed).
pub const SEED: ParameterSpec = ParameterSpec {
    name: "seed",
    kind: ParameterKind::Count {
        least: 0,
        most: u64::MAX,
    },
    help: "the same seed gives the same addresses",
    default_for: |_| ParameterValue::Count(1),
};

/// Page cache mode (fio direct, invalidate).
pub const CACHE: ParameterSpec = ParameterSpec {
    name: "cache",
    kind: ParameterKind::Choice(&["bypass", "drop", "keep"]),
    help: "bypass (O_DIRECT), drop (buffered, dropped before the start) or keep the page cache",
    default_for: |target| {
        ParameterValue::Choice(
            if target.supports_direct_io {
                "bypass"
            } else {
                "drop"
            }
            .to_owned(),
        )
    },
};

/// Request size or range of sizes (fio bs, bsrange).
pub const BLOCK_SIZES: ParameterSpec = ParameterSpec {
    kind: ParameterKind::SizeOrRange { least: 1 },
    help: "bytes of one request, or a range such as 4KiB-64KiB",
    ..BLOCK_SIZE
};

/// Address pattern of random requests (fio random_distribution).
pub const PATTERN: ParameterSpec = ParameterSpec {
    name: "pattern",
    kind: ParameterKind::Choice(&["uniform", "zipf"]),
    help: "uniform: all places alike; zipf: a few places get most requests, as in real databases",
    default_for: |_| ParameterValue::Choice("uniform".to_owned()),
};

/// Exponent of the Zipf distribution.
pub const ZIPF: ParameterSpec = ParameterSpec {
    name: "zipf",
    kind: ParameterKind::Number {
        least: 0.01,
        most: 10.0,
    },
    help: "how skewed --pattern zipf is; 0.99 is usual",
    default_for: |_| ParameterValue::Number(0.99),
};

/// Durability of each write (fio sync).
pub const SYNC: ParameterSpec = ParameterSpec {
    name: "sync",
    kind: ParameterKind::Choice(&["none", "dsync", "sync"]),
    help: "a write is done when taken (none), when its data is safe (O_DSYNC), or all of it (O_SYNC)",
    default_for: |_| ParameterValue::Choice("none".to_owned()),
};

/// Open-loop arrival rate (fio rate_iops).
pub const RATE: ParameterSpec = ParameterSpec {
    name: "rate",
    kind: ParameterKind::Rate,
    help: "requests per second that arrive whatever the drive does (open loop); unset: as many as it takes",
    default_for: |_| ParameterValue::Unset,
};

/// Data pattern of writes.
pub const DATA: ParameterSpec = ParameterSpec {
    name: "data",
    kind: ParameterKind::ChoiceOrPercent(&["random", "zero", "repeat"]),
    help: "what is written: random bytes, zeros, one block repeated, or random bytes with that share of zeros",
    default_for: |_| ParameterValue::Choice("random".to_owned()),
};

/// Latency threshold for the fraction of slow requests.
pub const SLOWER_THAN: ParameterSpec = ParameterSpec {
    name: "slower-than",
    kind: ParameterKind::Duration,
    help: "say how many requests are slower than this",
    default_for: |_| ParameterValue::Unset,
};

/// Default limit on bytes written: 8 GiB cause no noticeable wear.
pub const WRITTEN_BYTES: ParameterSpec = BYTES.with_default(|_| ParameterValue::Size(8 << 30));
