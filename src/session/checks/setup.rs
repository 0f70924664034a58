//! Checks how the drive is attached, partitioned and configured.

use super::distribution::median_latency;
use super::rule::{CheckRule, is_direct};
use crate::session::document::check::{
    CacheUse, CheckEvidence, CheckId, HostCache, LinkUsage, LoopLayer, LoopTraffic, Misalignment,
    QueueOverflow, SubBlockRequest, TargetProperty,
};
use crate::session::document::{
    BenchmarkRun, DriveSetup, KernelCounts, LayerRelation, MetricUnit, ParameterName,
};

/// Above this fraction of the link's maximum, the benchmark measures the link.
const LINK_BOUND_FRACTION: f64 = 0.85;
/// Above this fraction of the link's maximum, the data cannot have crossed the link.
const LINK_EXCEEDED_FRACTION: f64 = 1.05;
/// Lower bound for the median read latency of flash, in nanoseconds: flash takes 50 us and more to
/// read a page (Micron, Samsung data sheets of 3D NAND: tR 40 to 100 us), and a virtual machine
/// adds to it.
const MIN_FLASH_LATENCY_NS: f64 = 60_000.0;

pub(super) const SETUP_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::Buffered, buffered_io),
    CheckRule::new(CheckId::LoopWithoutDirectIo, loop_without_direct_io),
    CheckRule::new(CheckId::VirtualDisk, virtual_disk),
    CheckRule::new(CheckId::HostCacheLikely, host_cache_likely),
    CheckRule::new(CheckId::MisalignedPartition, misaligned_partition),
    CheckRule::new(CheckId::BelowPhysicalBlock, below_physical_block),
    CheckRule::new(CheckId::SchedulerUnsuited, scheduler_unsuited),
    CheckRule::new(CheckId::DeeperThanDrive, depth_exceeds_device_queue),
    CheckRule::new(CheckId::LinkBound, link_bound),
    CheckRule::new(CheckId::FasterThanLink, faster_than_link),
];

fn drive_setup(run: &BenchmarkRun) -> Option<&DriveSetup> {
    run.evidence.drive_setup.as_ref()
}

fn buffered_io(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let mode = run.typed_parameters().page_cache_mode()?;
    Some(CheckEvidence::Buffered(CacheUse { cache: mode.into() }))
}

fn loop_without_direct_io(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let setup = drive_setup(run).filter(|setup| setup.direct_io == Some(false))?;
    let mut layers = run.evidence.underlying.iter();
    let backing = layers.find(|it| it.relation_to_upper == LayerRelation::BackingDevice);
    let bytes = |counts: &KernelCounts| counts.read_bytes + counts.written_bytes;
    let traffic = backing
        .zip(run.kernel.as_ref())
        .map(|(below, above)| LoopTraffic {
            device: above.device.clone(),
            device_bytes: bytes(above),
            underlying_device: below.counts.device.clone(),
            underlying_bytes: bytes(&below.counts),
        });
    Some(CheckEvidence::LoopWithoutDirectIo(LoopLayer {
        backing_file: setup.backing_file.clone(),
        traffic,
    }))
}

fn virtual_disk(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let property = drive_setup(run)?.virtual_disk.clone()?;
    Some(CheckEvidence::VirtualDisk(TargetProperty {
        target: run.target.path.clone(),
        property,
    }))
}

fn host_cache_likely(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let setup = drive_setup(run)?;
    setup.virtual_disk.as_ref()?;
    if !is_direct(run) {
        return None;
    }
    // For a loop device, `served-from-cache` already reports that the page cache answers.
    let reads = run.findings.latency.read.as_ref();
    let median = reads
        .filter(|_| setup.direct_io != Some(false))
        .and_then(median_latency);
    if let Some(median_ns) = median.filter(|median| *median < MIN_FLASH_LATENCY_NS) {
        return Some(CheckEvidence::HostCacheLikely(HostCache::FastReads {
            median_ns,
        }));
    }
    let written = run.findings.latency.write.is_some();
    (written
        && !run.typed_parameters().has_synchronous_writes()
        && setup.write_cache.as_deref() == Some("write back"))
    .then_some(CheckEvidence::HostCacheLikely(HostCache::WriteBack))
}

fn misaligned_partition(run: &BenchmarkRun) -> Option<CheckEvidence> {
    (drive_setup(run)?.aligned == Some(false)).then(|| {
        CheckEvidence::MisalignedPartition(Misalignment {
            device: run
                .target
                .device
                .clone()
                .unwrap_or_else(|| run.target.path.clone()),
            physical_block_bytes: run.target.physical_block_bytes,
        })
    })
}

fn below_physical_block(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let physical = u64::from(run.target.physical_block_bytes).max(1);
    let parameters = run.typed_parameters();
    let names = [ParameterName::BlockSize, ParameterName::Align];
    let (parameter, bytes) = names.into_iter().find_map(|name| {
        let bytes = parameters.smallest_bytes(name)?;
        (!bytes.is_multiple_of(physical)).then_some((name, bytes))
    })?;
    Some(CheckEvidence::BelowPhysicalBlock(SubBlockRequest {
        parameter: parameter.as_str().into(),
        bytes,
        physical_block_bytes: physical,
    }))
}

fn scheduler_unsuited(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let property = drive_setup(run)?.scheduler_advice.clone()?;
    Some(CheckEvidence::SchedulerUnsuited(TargetProperty {
        target: run.target.path.clone(),
        property,
    }))
}

fn depth_exceeds_device_queue(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let device_depth = u64::from(drive_setup(run)?.max_queue_depth?);
    let requested_depth = run.typed_parameters().total_depth()?;
    (requested_depth > device_depth).then_some(CheckEvidence::DeeperThanDrive(QueueOverflow {
        requested_depth,
        device_depth,
    }))
}

/// The highest throughput among the metrics, and the link's maximum.
fn link_usage(run: &BenchmarkRun) -> Option<LinkUsage> {
    let setup = drive_setup(run)?;
    let rates = run
        .findings
        .figures
        .iter()
        .filter(|it| it.unit == MetricUnit::BytesPerSecond);
    Some(LinkUsage {
        throughput: rates.map(|figure| figure.value).fold(0.0, f64::max),
        link_max: setup.link_max_bytes_per_s? as f64,
        link: setup.link.clone(),
    })
}

fn link_bound(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let usage = link_usage(run)?;
    (LINK_BOUND_FRACTION..=LINK_EXCEEDED_FRACTION)
        .contains(&(usage.throughput / usage.link_max))
        .then_some(CheckEvidence::LinkBound(usage))
}

fn faster_than_link(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let usage = link_usage(run)?;
    (usage.throughput / usage.link_max > LINK_EXCEEDED_FRACTION)
        .then_some(CheckEvidence::FasterThanLink(usage))
}
