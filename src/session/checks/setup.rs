//! Checks how the drive is attached, partitioned and configured.

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
/// Fraction of a device's own time per request below which something nearer must have answered.
/// No fixed latency separates a cache from a drive: flash reads take 40 to 100 us, Optane 10 us, and
/// drives have caches too. A device that becomes four times as fast as it ever was is another matter:
/// requests of other sizes and queues change the time per request by less, because the time in which
/// the device is busy counts overlapping requests once.
const FASTER_THAN_BEFORE: f64 = 0.25;
/// Minimum number of earlier requests for a device's own time per request.
const MIN_EARLIER_REQUESTS: u64 = 1000;
/// Minimum number of reads of the run for the comparison.
const MIN_COMPARED_READS: u64 = 100;
/// Earlier requests that are larger than those of the run by more than this factor took longer because
/// of their size.
const MAX_SIZE_RATIO: f64 = 4.0;

pub(super) const SETUP_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::Buffered, buffered_io),
    CheckRule::new(CheckId::LoopWithoutDirectIo, loop_without_direct_io)
        .unless(CheckId::PageCacheBacked),
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
    if let Some(evidence) = faster_than_before(run, setup) {
        return Some(CheckEvidence::HostCacheLikely(evidence));
    }
    let written = run.findings.latency.write.is_some();
    (written
        && !run.typed_parameters().has_synchronous_writes()
        && setup.write_cache.as_deref() == Some("write back"))
    .then_some(CheckEvidence::HostCacheLikely(HostCache::WriteBack))
}

/// Compares the reads at the lowest device with its own requests before the run. An NVMe drive that is
/// passed to the guest answers as fast as it can: only an emulated interface hides a host's cache.
fn faster_than_before(run: &BenchmarkRun, setup: &DriveSetup) -> Option<HostCache> {
    let is_nvme = run.target.transport.as_deref() == Some("nvme");
    // For a loop device `page-cache-backed` reports that the page cache answers.
    if is_nvme || setup.direct_io == Some(false) {
        return None;
    }
    let history = run.evidence.device_history.as_ref()?;
    let mut all = run
        .kernel
        .iter()
        .chain(run.evidence.underlying.iter().map(|it| &it.counts));
    let now = all.find(|counts| counts.device == history.device)?;
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    let (device_ns, earlier_ns) = (
        mean(now.read_ns, now.reads)?,
        mean(history.busy_ns, history.requests)?,
    );
    let (size, earlier_size) = (
        mean(now.read_bytes, now.reads)?,
        mean(history.bytes, history.requests)?,
    );
    let is_comparable = now.reads >= MIN_COMPARED_READS
        && history.requests >= MIN_EARLIER_REQUESTS
        && earlier_size <= MAX_SIZE_RATIO * size;
    (is_comparable && device_ns < FASTER_THAN_BEFORE * earlier_ns).then_some(HostCache::FastReads {
        device_ns,
        earlier_ns,
        earlier_requests: history.requests,
    })
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
        .metrics
        .iter()
        .filter(|it| it.unit == MetricUnit::BytesPerSecond);
    Some(LinkUsage {
        throughput: rates.map(|metric| metric.value).fold(0.0, f64::max),
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
