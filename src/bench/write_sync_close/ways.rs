//! What is written: with records of every size, and with every way to make it durable.

use crate::bench::common;
use crate::bench::passes::Pass;
use crate::bench::{BenchError, Parameters};
use crate::drive::Target;
use crate::engine::{BlockSize, CacheMode, Flush, Limits, Operation, Pattern, Plan, SyncMode};
use crate::units;

/// Sizes of records.
const RECORDS: [u32; 7] = [
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];
/// Through the page cache, or past it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Buffered,
    Direct,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Direct => "direct",
        }
    }

    fn cache(self) -> CacheMode {
        match self {
            Self::Buffered => CacheMode::Keep,
            Self::Direct => CacheMode::Bypass,
        }
    }

    fn possible(target: &Target) -> &'static [Self] {
        if target.direct {
            &[Self::Buffered, Self::Direct]
        } else {
            &[Self::Buffered]
        }
    }
}

/// The ways to make data safe: name, what every write does, what follows the last.
const METHODS: [(&str, SyncMode, Flush); 5] = [
    ("fsync", SyncMode::None, Flush::Fsync),
    ("fdatasync", SyncMode::None, Flush::Fdatasync),
    ("sync_file_range", SyncMode::None, Flush::SyncFileRange),
    ("O_DSYNC", SyncMode::DataSync, Flush::Nothing),
    ("O_SYNC", SyncMode::Sync, Flush::Nothing),
];

/// Sequential writes of that many bytes with records of that size, then fsync.
pub(super) fn plan_for(
    (record, bytes): (u32, u64),
    way: Way,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    let mut plan = common::plan(target, parameters, Operation::Write, Pattern::Sequential)?;
    let room = plan.window.end - plan.window.start;
    plan.block_size = BlockSize::Fixed(record);
    plan.align = u64::from(record);
    plan.cache = way.cache();
    plan.limits = Limits {
        bytes: Some(bytes.min(room) / plan.align * plan.align),
        ..Limits::default()
    };
    plan.finish = Some(Flush::Fsync);
    Ok(plan)
}

/// Record sizes with each way, as far as the window holds a record.
pub(super) fn record_passes(
    target: &Target,
    parameters: &Parameters,
) -> Result<Vec<(u32, Way, Pass)>, BenchError> {
    let bytes = parameters.bytes("file-bytes").unwrap_or(1 << 30);
    let window = common::window(target, parameters);
    let fits = |record: &u32| {
        u64::from(*record) * 2 <= bytes.min(window.end.saturating_sub(window.start))
            && *record >= target.logical_block
    };
    let mut passes = Vec::new();
    for way in Way::possible(target) {
        for record in RECORDS.into_iter().filter(fits) {
            let plan = plan_for((record, bytes), *way, target, parameters)?;
            let size = units::block_size(f64::from(record));
            let label = format!("{} records of {size}", way.word());
            let key = format!("{}_{}k", way.word(), record >> 10);
            passes.push((record, *way, Pass::new(label, key, plan)));
        }
    }
    Ok(passes)
}

/// Every way to sync, with and without the page cache.
pub(super) fn method_passes(
    target: &Target,
    parameters: &Parameters,
) -> Result<Vec<Pass>, BenchError> {
    let bytes = parameters.bytes("method-bytes").unwrap_or(16 << 20);
    let record = common::request_bytes(parameters.bytes("block-size").unwrap_or(64 << 10))?;
    let mut passes = Vec::new();
    for way in Way::possible(target) {
        for (name, sync, flush) in METHODS {
            let mut plan = plan_for(
                (record, bytes.max(u64::from(record))),
                *way,
                target,
                parameters,
            )?;
            (plan.sync, plan.finish) = (sync, Some(flush));
            let label = format!("{name}, {}", way.word());
            let key = format!("{}_{}", name.to_lowercase(), way.word());
            passes.push(Pass::new(label, key, plan));
        }
    }
    Ok(passes)
}
