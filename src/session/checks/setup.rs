//! Checks how the drive is attached, partitioned and configured.

use serde_json::json;

use super::counts;
use super::rule::{Rule, Run};
use crate::session::document::check::Found;
use crate::session::document::{DriveSetup, KernelCounts, MetricUnit, ParameterName};
use crate::units;

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

pub(super) const RULES: &[Rule] = &[
    Rule::note(
        "buffered",
        "The I/O went through the page cache.",
        "--cache is not bypass",
        buffered,
    ),
    Rule::warning(
        "loop-without-direct-io",
        "The backing file of the loop device is accessed through the page cache: memory answers instead \
             of the drive.",
        "a loop device, at any depth of the stack, without direct I/O",
        loop_without_direct_io,
    ),
    Rule::note(
        "virtual-disk",
        "The drive belongs to a hypervisor: the storage behind it and its other users are not visible.",
        "the transport (virtio, Xen) or the model name, of the drive or of an underlying one",
        virtual_disk,
    ),
    Rule::warning(
        "host-cache-likely",
        "A virtual disk answers much faster than it did before the run, or writes complete in the host: \
             its memory answers.",
        "reads at a virtual disk, other than NVMe, take less than a quarter of the time per \
                    request (time busy over requests, from /proc/diskstats) that the same device took \
                    before the run, for at least 1000 requests of at most four times the size; or writes \
                    that are not made durable go to a virtual disk in write-back mode",
        host_cache_likely,
    ),
    Rule::warning(
        "misaligned-partition",
        "The partition does not start on a physical block: each write covers parts of two blocks, which \
             the drive reads first.",
        "start and alignment_offset are no multiples of physical_block_size",
        misaligned_partition,
    ),
    Rule::warning(
        "below-physical-block",
        "Requests are smaller than a physical block, or not aligned to one: the drive transfers more \
             than is counted.",
        "--block-size or --align is not a multiple of the physical block size",
        below_physical_block,
    ),
    Rule::note(
        "scheduler-unsuited",
        "Another I/O scheduler suits this drive better.",
        "none on a rotational disk, anything but none on NVMe and loop devices, bfq on an SSD",
        scheduler_unsuited,
    ),
    Rule::note(
        "deeper-than-drive",
        "The queue is deeper than the drive or its link accepts: requests waited in the kernel, and \
             their latency includes that.",
        "--depth times --workers is more than the link's or the device's queue_depth",
        deeper_than_drive,
    ),
    Rule::note(
        "link-bound",
        "The throughput is about the maximum of the link to the host: the drive may be faster.",
        "throughput of 85 % to 105 % of the link's maximum",
        link_bound,
    ),
    Rule::invalid(
        "faster-than-link",
        "The throughput exceeds the maximum of the link to the host: the data did not come over it.",
        "throughput of more than 105 % of the link's maximum",
        faster_than_link,
    ),
];

fn drive_setup<'a>(run: &Run<'a>) -> Option<&'a DriveSetup> {
    run.evidence.drive_setup.as_ref()
}

fn buffered(run: &Run<'_>) -> Option<Found> {
    let cache = run.parameters.page_cache_mode()?;
    Some(Found::new(
        format!("the I/O used the page cache (--cache {cache})"),
        "use --cache bypass to measure the drive alone",
        json!({ "cache": cache }),
    ))
}

fn loop_without_direct_io(run: &Run<'_>) -> Option<Found> {
    let setup = drive_setup(run).filter(|setup| setup.direct_io == Some(false))?;
    // With bytes that did not arrive it says more.
    if counts::page_cache_backed(run).is_some() {
        return None;
    }
    let bytes = |counts: &KernelCounts| counts.read_bytes + counts.written_bytes;
    let layers = run.kernel.zip(counts::backing_device(run));
    let traffic_text = layers.map_or_else(String::new, |(above, below)| {
        format!(
            ": {} were transferred on {}, {} on the underlying {}",
            units::format_capacity(bytes(above) as f64),
            above.device,
            units::format_capacity(bytes(below) as f64),
            below.device
        )
    });
    let traffic = layers.map(|(above, below)| {
        json!({
            "device": above.device, "device_bytes": bytes(above),
            "underlying_device": below.device, "underlying_bytes": bytes(below),
        })
    });
    let file = setup.backing_file.as_deref();
    Some(Found::new(
        format!(
            "{} is accessed through the page cache{traffic_text}",
            file.unwrap_or("the backing file")
        ),
        "use losetup --direct-io=on, or measure the file itself",
        json!({ "backing_file": file, "traffic": traffic }),
    ))
}

fn virtual_disk(run: &Run<'_>) -> Option<Found> {
    let property = drive_setup(run)?.virtual_disk.as_ref()?;
    Some(Found::new(
        property,
        "measure on the host as well, or read the metrics as those of the virtual machine",
        json!({ "target": run.target.path, "property": property }),
    ))
}

fn host_cache_likely(run: &Run<'_>) -> Option<Found> {
    let setup = drive_setup(run)?;
    setup.virtual_disk.as_ref()?;
    if !run.is_direct() {
        return None;
    }
    let (sentence, facts) = faster_than_before(run, setup).or_else(|| {
        let is_written = run.evidence.issued.is_some_and(|issued| issued.writes > 0);
        let is_durable = run.workload.syncs_writes || run.parameters.has_synchronous_writes();
        let is_write_back = setup.write_cache.as_deref() == Some("write back");
        (is_written && is_write_back && !is_durable).then(|| {
            let sentence = "the write cache is in write-back mode: writes complete when the host has \
                            received them";
            (sentence.to_owned(), json!({ "sign": "write-back" }))
        })
    })?;
    Some(Found::new(
        sentence,
        "configure the host to open the image with cache=none, or use a window larger than the host's \
         memory",
        facts,
    ))
}

/// Compares the reads at the lowest device with its own requests before the run. An NVMe drive that is
/// passed to the guest answers as fast as it can: only an emulated interface hides a host's cache.
fn faster_than_before(run: &Run<'_>, setup: &DriveSetup) -> Option<(String, serde_json::Value)> {
    let is_nvme = run.target.transport.as_deref() == Some("nvme");
    // For a loop device `page-cache-backed` reports that the page cache answers.
    if is_nvme || setup.direct_io == Some(false) {
        return None;
    }
    let history = run.evidence.device_history.as_ref()?;
    let lower = run.evidence.underlying.iter().map(|it| &it.counts);
    let mut all = run.kernel.into_iter().chain(lower);
    let now = all.find(|counts| counts.device == history.device)?;
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    let device_ns = mean(now.read_ns, now.reads)?;
    let earlier_ns = mean(history.busy_ns, history.requests)?;
    let size = mean(now.read_bytes, now.reads)?;
    let earlier_size = mean(history.bytes, history.requests)?;
    let is_comparable = now.reads >= MIN_COMPARED_READS
        && history.requests >= MIN_EARLIER_REQUESTS
        && earlier_size <= MAX_SIZE_RATIO * size;
    if !is_comparable || device_ns >= FASTER_THAN_BEFORE * earlier_ns {
        return None;
    }
    let sentence = format!(
        "a read took {} at the virtual disk; before the run, each of its {} requests took {}",
        units::format_latency(device_ns),
        history.requests,
        units::format_latency(earlier_ns)
    );
    let facts = json!({
        "sign": "fast-reads", "device_ns": device_ns, "earlier_ns": earlier_ns,
        "earlier_requests": history.requests,
    });
    Some((sentence, facts))
}

fn misaligned_partition(run: &Run<'_>) -> Option<Found> {
    if drive_setup(run)?.aligned != Some(false) {
        return None;
    }
    let device = run.target.device.as_ref().unwrap_or(&run.target.path);
    let block = run.target.physical_block_bytes;
    Some(Found::new(
        format!(
            "{device} does not start at a multiple of the physical block size of {}",
            units::format_block_size(f64::from(block))
        ),
        "save the data, and create the partition again at a multiple of 1 MiB",
        json!({ "device": device, "physical_block_bytes": block }),
    ))
}

fn below_physical_block(run: &Run<'_>) -> Option<Found> {
    let physical = u64::from(run.target.physical_block_bytes).max(1);
    let names = [ParameterName::BlockSize, ParameterName::Align];
    let (parameter, bytes) = names.into_iter().find_map(|name| {
        let bytes = run.parameters.smallest_bytes(name)?;
        (!bytes.is_multiple_of(physical)).then_some((name.as_str(), bytes))
    })?;
    Some(Found::new(
        format!(
            "--{parameter} {} is not a multiple of the physical block size of {}",
            units::format_exact_size(bytes),
            units::format_block_size(physical as f64)
        ),
        "use multiples of the physical block size",
        json!({ "parameter": parameter, "bytes": bytes, "physical_block_bytes": physical }),
    ))
}

fn scheduler_unsuited(run: &Run<'_>) -> Option<Found> {
    let property = drive_setup(run)?.scheduler_advice.as_ref()?;
    Some(Found::new(
        property,
        "`diskscope devices` shows the command that changes the scheduler",
        json!({ "target": run.target.path, "property": property }),
    ))
}

fn deeper_than_drive(run: &Run<'_>) -> Option<Found> {
    let device_depth = u64::from(drive_setup(run)?.max_queue_depth?);
    let requested_depth = run.parameters.total_depth()?;
    if requested_depth <= device_depth {
        return None;
    }
    Some(Found::new(
        format!(
            "{requested_depth} requests were kept in flight, the drive accepts {device_depth} at once"
        ),
        "use a smaller --depth to measure the latency of the drive alone",
        json!({ "requested_depth": requested_depth, "device_depth": device_depth }),
    ))
}

fn link_bound(run: &Run<'_>) -> Option<Found> {
    let advice = "check whether slot, cable and port negotiate the maximum speed of the drive";
    let (used, found) = link_usage(run, advice.to_owned())?;
    (LINK_BOUND_FRACTION..=LINK_EXCEEDED_FRACTION)
        .contains(&used)
        .then_some(found)
}

fn faster_than_link(run: &Run<'_>) -> Option<Found> {
    let advice = run.advice(
        &["use --cache bypass; if it was already used, the reported speed of the link is wrong"],
        "a cache answered, or the reported speed of the link is wrong",
    );
    let (used, found) = link_usage(run, advice)?;
    (used > LINK_EXCEEDED_FRACTION).then_some(found)
}

/// The highest throughput among the metrics as a fraction of the link's maximum.
fn link_usage(run: &Run<'_>, advice: String) -> Option<(f64, Found)> {
    let setup = drive_setup(run)?;
    let link_max = setup.link_max_bytes_per_s? as f64;
    let metrics = run.findings.metrics.iter();
    let throughput = metrics
        .filter(|it| it.unit == MetricUnit::BytesPerSecond)
        .map(|metric| metric.value)
        .fold(0.0, f64::max);
    let used = throughput / link_max;
    let sentence = format!(
        "{} are {} of the maximum of {} of {}",
        units::format_throughput(throughput),
        units::format_percent(used),
        units::format_throughput(link_max),
        setup.link.as_deref().unwrap_or("the link")
    );
    let facts = json!({ "throughput": throughput, "link_max": link_max, "link": setup.link });
    Some((used, Found::new(sentence, advice, facts)))
}
