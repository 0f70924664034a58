//! Parameters that many tests have.

use std::time::Duration;

use crate::bench::parameter::{Kind, Parameter, Position, Value};

/// Size of one request.
pub const BLOCK_SIZE: Parameter = Parameter {
    name: "block-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of one request",
    default: |target| Value::Bytes(u64::from(target.physical_block.max(4096))),
};

/// Requests in flight.
pub const DEPTH: Parameter = Parameter {
    name: "depth",
    kind: Kind::Count {
        least: 1,
        most: 4096,
    },
    help: "requests that each worker keeps in flight",
    default: |target| {
        Value::Count(if target.rotational() == Some(true) {
            1
        } else {
            32
        })
    },
};

/// Threads.
pub const WORKERS: Parameter = Parameter {
    name: "workers",
    kind: Kind::Count {
        least: 1,
        most: 256,
    },
    help: "threads, each with a queue of its own",
    default: |_| Value::Count(1),
};

/// Longest time.
pub const DURATION: Parameter = Parameter {
    name: "duration",
    kind: Kind::LimitDuration,
    help: "stop after this time, the ramp not counted",
    default: |_| Value::Duration(Duration::from_secs(10)),
};

/// Most bytes.
pub const BYTES: Parameter = Parameter {
    name: "bytes",
    kind: Kind::Size { least: 1 },
    help: "stop after this many bytes, those of the ramp included",
    default: |_| Value::Unset,
};

/// Most requests.
pub const REQUESTS: Parameter = Parameter {
    name: "requests",
    kind: Kind::Count {
        least: 1,
        most: u64::MAX,
    },
    help: "stop after this many requests, those of the ramp included",
    default: |_| Value::Unset,
};

/// Uncounted start.
pub const RAMP: Parameter = Parameter {
    name: "ramp",
    kind: Kind::Duration,
    help: "time at the start that is not counted",
    default: |_| Value::Duration(Duration::ZERO),
};

/// First byte.
pub const WINDOW_BEGIN: Parameter = Parameter {
    name: "window-begin",
    kind: Kind::Position,
    help: "where the part that is measured begins",
    default: |_| Value::Position(Position::Percent(0.0)),
};

/// Byte after the last.
pub const WINDOW_END: Parameter = Parameter {
    name: "window-end",
    kind: Kind::Position,
    help: "where the part that is measured ends",
    default: |_| Value::Position(Position::Percent(100.0)),
};

/// Alignment of addresses.
pub const ALIGN: Parameter = Parameter {
    name: "align",
    kind: Kind::Size { least: 1 },
    help: "addresses are multiples of this; unset: of the block size",
    default: |_| Value::Unset,
};

/// Seed of everything random.
pub const SEED: Parameter = Parameter {
    name: "seed",
    kind: Kind::Count {
        least: 0,
        most: u64::MAX,
    },
    help: "the same seed gives the same addresses",
    default: |_| Value::Count(1),
};

/// What the page cache may do.
pub const CACHE: Parameter = Parameter {
    name: "cache",
    kind: Kind::Word(&["bypass", "drop", "keep"]),
    help: "bypass (O_DIRECT), drop (buffered, dropped before the start) or keep the page cache",
    default: |target| Value::Word(if target.direct { "bypass" } else { "drop" }.to_owned()),
};

/// Size of one request, or a range of sizes.
pub const BLOCK_SIZES: Parameter = Parameter {
    kind: Kind::SizeOrRange { least: 1 },
    help: "bytes of one request, or a range such as 4KiB-64KiB",
    ..BLOCK_SIZE
};

/// Where random requests go.
pub const PATTERN: Parameter = Parameter {
    name: "pattern",
    kind: Kind::Word(&["uniform", "zipf"]),
    help: "uniform: all places alike; zipf: a few places get most requests, as in real databases",
    default: |_| Value::Word("uniform".to_owned()),
};

/// Exponent of the skewed pattern.
pub const ZIPF: Parameter = Parameter {
    name: "zipf",
    kind: Kind::Number {
        least: 0.01,
        most: 10.0,
    },
    help: "how skewed --pattern zipf is; 0.99 is usual",
    default: |_| Value::Number(0.99),
};

/// When a write is done.
pub const SYNC: Parameter = Parameter {
    name: "sync",
    kind: Kind::Word(&["none", "dsync", "sync"]),
    help: "a write is done when taken (none), when its data is safe (O_DSYNC), or all of it (O_SYNC)",
    default: |_| Value::Word("none".to_owned()),
};

/// Open loop.
pub const RATE: Parameter = Parameter {
    name: "rate",
    kind: Kind::Rate,
    help: "requests per second that arrive whatever the drive does (open loop); unset: as many as it takes",
    default: |_| Value::Unset,
};

/// What is written.
pub const DATA: Parameter = Parameter {
    name: "data",
    kind: Kind::WordOrPercent(&["random", "zero", "repeat"]),
    help: "what is written: random bytes, zeros, one block repeated, or random bytes with that share of zeros",
    default: |_| Value::Word("random".to_owned()),
};

/// A response time that somebody waits for.
pub const SLOWER_THAN: Parameter = Parameter {
    name: "slower-than",
    kind: Kind::Duration,
    help: "say how many requests are slower than this",
    default: |_| Value::Unset,
};

/// Most bytes that a test writes unless it is told otherwise: 8 GiB wear no drive.
pub const WRITTEN_BYTES: Parameter = BYTES.with_default(|_| Value::Bytes(8 << 30));
