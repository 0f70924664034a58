//! Variants of write-sync-close: record sizes and sync methods.

use super::parameters::{FILE_BYTES, METHOD_BLOCK_BYTES, METHOD_BYTES};
use crate::bench::framework;
use crate::bench::framework::variants::Variant;
use crate::bench::{BenchError, ParameterSet};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, FlushMethod, IoOperation, Plan, PlanLimits, SyncMode,
};
use crate::units;

const RECORD_SIZES: [u32; 7] = [
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
];
/// Buffered or direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IoPath {
    Buffered,
    Direct,
}

impl IoPath {
    fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Direct => "direct",
        }
    }

    fn cache_mode(self) -> CacheMode {
        match self {
            Self::Buffered => CacheMode::Keep,
            Self::Direct => CacheMode::Bypass,
        }
    }

    fn available_on(target: &Target) -> &'static [Self] {
        if target.supports_direct_io {
            &[Self::Buffered, Self::Direct]
        } else {
            &[Self::Buffered]
        }
    }
}

/// Sync methods: name, mode of each write, flush after the last write.
const SYNC_METHODS: [(&str, SyncMode, FlushMethod); 5] = [
    ("fsync", SyncMode::None, FlushMethod::Fsync),
    ("fdatasync", SyncMode::None, FlushMethod::Fdatasync),
    (
        "sync_file_range",
        SyncMode::None,
        FlushMethod::SyncFileRange,
    ),
    ("O_DSYNC", SyncMode::DataSync, FlushMethod::CloseOnly),
    ("O_SYNC", SyncMode::Sync, FlushMethod::CloseOnly),
];

/// Sequential writes of this many bytes in records of this size, followed by fsync.
pub(crate) fn plan_for_record(
    (record, bytes): (u32, u64),
    way: IoPath,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    let mut plan = framework::build_plan(
        target,
        parameters,
        IoOperation::Write,
        AccessPattern::Sequential,
    )?;
    let room = plan.window.end - plan.window.start;
    plan.block_size = BlockSize::Fixed(record);
    plan.alignment = u64::from(record);
    plan.cache_mode = way.cache_mode();
    plan.limits = PlanLimits {
        bytes: Some(bytes.min(room) / plan.alignment * plan.alignment),
        ..PlanLimits::default()
    };
    plan.end_fsync = Some(FlushMethod::Fsync);
    Ok(plan)
}

/// Record sizes with each I/O path, as far as a record fits the window.
pub(crate) fn record_size_variants(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Vec<(u32, IoPath, Variant)>, BenchError> {
    let bytes = parameters.get(FILE_BYTES);
    let window = framework::plan_window(target, parameters);
    let fits = |record: &u32| {
        u64::from(*record) * 2 <= bytes.min(window.end.saturating_sub(window.start))
            && *record >= target.logical_block_bytes
    };
    let mut passes = Vec::new();
    for way in IoPath::available_on(target) {
        for record in RECORD_SIZES.into_iter().filter(fits) {
            let plan = plan_for_record((record, bytes), *way, target, parameters)?;
            let size = units::format_block_size(f64::from(record));
            let label = format!("{} records of {size}", way.name());
            let key = format!("{}_{}k", way.name(), record >> 10);
            passes.push((record, *way, Variant::new(label, key, plan)));
        }
    }
    Ok(passes)
}

/// Every sync method with each I/O path.
pub(crate) fn sync_method_variants(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Vec<Variant>, BenchError> {
    let bytes = parameters.get(METHOD_BYTES);
    let record = framework::request_bytes(parameters.get(METHOD_BLOCK_BYTES))?;
    let mut passes = Vec::new();
    for way in IoPath::available_on(target) {
        for (name, sync, flush) in SYNC_METHODS {
            let mut plan = plan_for_record(
                (record, bytes.max(u64::from(record))),
                *way,
                target,
                parameters,
            )?;
            (plan.sync_mode, plan.end_fsync) = (sync, Some(flush));
            let label = format!("{name}, {}", way.name());
            let key = format!("{}_{}", name.to_lowercase(), way.name());
            passes.push(Variant::new(label, key, plan));
        }
    }
    Ok(passes)
}
