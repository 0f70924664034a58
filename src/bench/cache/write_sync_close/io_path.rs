//! Variants of write-sync-close: record sizes and sync methods.

use super::parameters::{FILE_BYTES, METHOD_BLOCK_BYTES, METHOD_BYTES};
use crate::bench::framework;
use crate::bench::framework::metric_families::VariantFamily;
use crate::bench::framework::variants::Variant;
use crate::bench::{BenchError, ParameterSet};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, BlockSize, CacheMode, FlushMethod, IoOperation, Plan, PlanLimits, SyncMode,
};
use crate::session::document::VariantKey;
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

    fn variant_key(self) -> VariantKey {
        match self {
            Self::Buffered => BUFFERED,
            Self::Direct => DIRECT,
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

pub(crate) const BUFFERED: VariantKey = VariantKey::new("buffered");
pub(crate) const DIRECT: VariantKey = VariantKey::new("direct");

/// A method to make data durable.
struct SyncMethod {
    name: &'static str,
    /// Variants with buffered and with direct I/O.
    buffered: VariantKey,
    direct: VariantKey,
    /// Mode of each write.
    sync_mode: SyncMode,
    /// Flush after the last write.
    end_fsync: FlushMethod,
}

const SYNC_METHODS: [SyncMethod; 5] = [
    SyncMethod {
        name: "fsync",
        buffered: VariantKey::new("fsync_buffered"),
        direct: VariantKey::new("fsync_direct"),
        sync_mode: SyncMode::None,
        end_fsync: FlushMethod::Fsync,
    },
    SyncMethod {
        name: "fdatasync",
        buffered: VariantKey::new("fdatasync_buffered"),
        direct: VariantKey::new("fdatasync_direct"),
        sync_mode: SyncMode::None,
        end_fsync: FlushMethod::Fdatasync,
    },
    SyncMethod {
        name: "sync_file_range",
        buffered: VariantKey::new("sync_file_range_buffered"),
        direct: VariantKey::new("sync_file_range_direct"),
        sync_mode: SyncMode::None,
        end_fsync: FlushMethod::SyncFileRange,
    },
    SyncMethod {
        name: "O_DSYNC",
        buffered: VariantKey::new("o_dsync_buffered"),
        direct: VariantKey::new("o_dsync_direct"),
        sync_mode: SyncMode::DataSync,
        end_fsync: FlushMethod::CloseOnly,
    },
    SyncMethod {
        name: "O_SYNC",
        buffered: VariantKey::new("o_sync_buffered"),
        direct: VariantKey::new("o_sync_direct"),
        sync_mode: SyncMode::Sync,
        end_fsync: FlushMethod::CloseOnly,
    },
];

/// Variants of the sync methods.
pub(crate) const METHOD_VARIANTS: &[VariantFamily] = &[
    VariantFamily::One(VariantKey::new("fsync_buffered")),
    VariantFamily::One(VariantKey::new("fsync_direct")),
    VariantFamily::One(VariantKey::new("fdatasync_buffered")),
    VariantFamily::One(VariantKey::new("fdatasync_direct")),
    VariantFamily::One(VariantKey::new("sync_file_range_buffered")),
    VariantFamily::One(VariantKey::new("sync_file_range_direct")),
    VariantFamily::One(VariantKey::new("o_dsync_buffered")),
    VariantFamily::One(VariantKey::new("o_dsync_direct")),
    VariantFamily::One(VariantKey::new("o_sync_buffered")),
    VariantFamily::One(VariantKey::new("o_sync_direct")),
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
    let mut variants = Vec::new();
    for way in IoPath::available_on(target) {
        for record in RECORD_SIZES.into_iter().filter(fits) {
            let plan = plan_for_record((record, bytes), *way, target, parameters)?;
            let size = units::format_block_size(f64::from(record));
            let label = format!("{} records of {size}", way.name());
            let key = way.variant_key().kibibytes(u64::from(record >> 10));
            variants.push((record, *way, Variant::new(label, key, plan)));
        }
    }
    Ok(variants)
}

/// Every sync method with each I/O path.
pub(crate) fn sync_method_variants(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Vec<Variant>, BenchError> {
    let bytes = parameters.get(METHOD_BYTES);
    let record = framework::request_bytes(parameters.get(METHOD_BLOCK_BYTES))?;
    let mut variants = Vec::new();
    for way in IoPath::available_on(target) {
        for method in SYNC_METHODS {
            let mut plan = plan_for_record(
                (record, bytes.max(u64::from(record))),
                *way,
                target,
                parameters,
            )?;
            (plan.sync_mode, plan.end_fsync) = (method.sync_mode, Some(method.end_fsync));
            let label = format!("{}, {}", method.name, way.name());
            let key = match way {
                IoPath::Buffered => method.buffered,
                IoPath::Direct => method.direct,
            };
            variants.push(Variant::new(label, key, plan));
        }
    }
    Ok(variants)
}
