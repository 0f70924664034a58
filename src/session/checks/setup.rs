//! Checks how the drive is attached, partitioned and configured.

use super::ProvokedBy::{ByIntegrationTest, InVirtualMachine};
use super::{CheckRule, is_direct, parameter_word};
use crate::session::document::{BenchmarkRun, DriveSetup, LayerRelation, MetricUnit, Severity};
use crate::units;

/// Above this fraction of the link's maximum, the benchmark measures the link.
const LINK_BOUND_FRACTION: f64 = 0.85;
/// Above this fraction of the link's maximum, the data cannot have crossed the link.
const LINK_EXCEEDED_FRACTION: f64 = 1.05;
/// Lower bound for the median read latency of flash, in nanoseconds: flash takes 50 us and more to
/// read a page (Micron, Samsung data sheets of 3D NAND: tR 40 to 100 us), and a virtual machine
/// adds to it.
const MIN_FLASH_LATENCY_NS: f64 = 60_000.0;

pub(super) const SETUP_RULES: &[CheckRule] = &[
    CheckRule {
        code: "buffered",
        severity: Severity::Note,
        meaning: "The page cache took part.",
        condition: "--cache is not bypass",
        advice: "use --cache bypass to measure the drive alone",
        provoked: ByIntegrationTest("full_file_has_no_holes_and_cached_file_is_served_from_memory"),
        find_evidence: buffered_io,
    },
    CheckRule {
        code: "loop-without-direct-io",
        severity: Severity::Warning,
        meaning: "The file behind the loop device goes through the page cache: memory answers in \
                place of the drive beneath.",
        condition: "a loop device, in whatever depth of the stack, without direct I/O",
        advice: "losetup --direct-io=on, or measure the file itself",
        provoked: ByIntegrationTest("loop_device_through_page_cache_is_flagged"),
        find_evidence: loop_without_direct_io,
    },
    CheckRule {
        code: "virtual-disk",
        severity: Severity::Note,
        meaning: "The drive is one of a hypervisor: what stands behind it, and who else uses that, \
                cannot be seen from here.",
        condition: "the transport (virtio, Xen) or the model's name says so, of the drive or of one \
               beneath it",
        advice: "measure on the host as well, or call the figures those of the virtual machine",
        provoked: ByIntegrationTest("virtual_machine_disk_is_flagged"),
        find_evidence: virtual_disk,
    },
    CheckRule {
        code: "host-cache-likely",
        severity: Severity::Warning,
        meaning: "A virtual disk answers faster than flash can: the host's memory answers.",
        condition: "half of the reads of a virtual disk past the page cache take less than 60 us, or \
               writes without --sync go to one that says write back",
        advice: "have the host open the image with cache=none, or use a window larger than the \
                 host's memory",
        provoked: InVirtualMachine,
        find_evidence: host_cache_likely,
    },
    CheckRule {
        code: "misaligned-partition",
        severity: Severity::Warning,
        meaning: "The partition does not begin on a physical block: each write covers parts of two, \
                which are read first.",
        condition: "start and alignment_offset do not fit physical_block_size",
        advice: "make the partition anew at a multiple of 1 MiB; what is on it must be saved before",
        provoked: InVirtualMachine,
        find_evidence: misaligned_partition,
    },
    CheckRule {
        code: "below-physical-block",
        severity: Severity::Warning,
        meaning: "Requests are smaller than a physical block, or do not begin on one: the drive reads \
                and writes more than is counted.",
        condition: "--block-size or --align is no multiple of the physical block size",
        advice: "choose multiples of the physical block size",
        provoked: ByIntegrationTest("blocks_below_physical_sector_are_flagged"),
        find_evidence: below_physical_block,
    },
    CheckRule {
        code: "scheduler-unsuited",
        severity: Severity::Note,
        meaning: "Another I/O scheduler suits this drive better.",
        condition: "none on a disk with arms, anything but none on NVMe and loop devices, bfq on an SSD",
        advice: "`diskscope devices` has the command that changes it",
        provoked: ByIntegrationTest("scheduler_on_loop_device_is_flagged_unsuited"),
        find_evidence: scheduler_unsuited,
    },
    CheckRule {
        code: "deeper-than-drive",
        severity: Severity::Note,
        meaning: "More requests were kept in flight than the drive or its link takes: the rest waited \
                in the kernel, and their response times say so.",
        condition: "--depth times --workers is more than the link's or the device's queue_depth",
        advice: "response times of the drive alone are had with a smaller --depth",
        provoked: InVirtualMachine,
        find_evidence: depth_exceeds_device_queue,
    },
    CheckRule {
        code: "link-bound",
        severity: Severity::Note,
        meaning: "The throughput is about what the link to the host carries: the drive may be faster.",
        condition: "throughput of 85 % to 105 % of the link's ceiling",
        advice: "see whether slot, cable and port negotiate the fastest speed that the drive has",
        provoked: InVirtualMachine,
        find_evidence: link_bound,
    },
    CheckRule {
        code: "faster-than-link",
        severity: Severity::Invalid,
        meaning: "More bytes arrived than the link to the host carries: they came from elsewhere.",
        condition: "throughput of more than 105 % of the link's ceiling",
        advice: "measure with --cache bypass; if that was so, the link's speed is reported wrongly",
        provoked: InVirtualMachine,
        find_evidence: faster_than_link,
    },
];

fn drive_setup(run: &BenchmarkRun) -> Option<&DriveSetup> {
    run.evidence.drive_setup.as_ref()
}

fn buffered_io(run: &BenchmarkRun) -> Option<String> {
    let cache = parameter_word(run, "cache")?;
    (!is_direct(run)).then(|| format!("the page cache took part (--cache {cache})"))
}

fn loop_without_direct_io(run: &BenchmarkRun) -> Option<String> {
    let setup = drive_setup(run).filter(|setup| setup.direct_io == Some(false))?;
    let file = setup.backing_file.as_deref().unwrap_or("its file");
    let below = run
        .evidence
        .underlying
        .iter()
        .find(|it| it.relation_to_upper == LayerRelation::BackingDevice);
    let counts = below
        .zip(run.kernel.as_ref())
        .map_or_else(String::new, |(below, above)| {
            let moved = |counts: &crate::session::document::KernelCounts| {
                units::format_capacity((counts.read_bytes + counts.written_bytes) as f64)
            };
            format!(
                ": {} went through {}, {} through {} beneath",
                moved(above),
                above.device,
                moved(&below.counts),
                below.counts.device
            )
        });
    Some(format!("{file} goes through the page cache{counts}"))
}

fn virtual_disk(run: &BenchmarkRun) -> Option<String> {
    drive_setup(run)?.virtual_disk.clone().map(String::from)
}

fn host_cache_likely(run: &BenchmarkRun) -> Option<String> {
    let setup = drive_setup(run)?;
    setup.virtual_disk.as_ref()?;
    if !is_direct(run) {
        return None;
    }
    // For a loop device, `served-from-cache` already reports that the page cache answers.
    let median = |latency: &Option<crate::session::document::LatencySummary>| {
        latency
            .as_ref()?
            .percentiles
            .get("50")
            .map(|value| *value as f64)
    };
    let reads = median(&run.findings.latency.read).filter(|_| setup.direct_io != Some(false));
    if let Some(read) = reads.filter(|median| *median < MIN_FLASH_LATENCY_NS) {
        return Some(format!(
            "half of the reads took less than {}; flash takes longer",
            units::format_latency(read)
        ));
    }
    let unsynced = parameter_word(run, "sync").is_none_or(|sync| sync == "none");
    let written = run.findings.latency.write.is_some();
    (written && unsynced && setup.write_cache.as_deref() == Some("write back")).then(|| {
        "its write cache says write back: writes count as done when the host has them".to_owned()
    })
}

fn misaligned_partition(run: &BenchmarkRun) -> Option<String> {
    (drive_setup(run)?.aligned == Some(false)).then(|| {
        format!(
            "{} does not begin on a boundary of the physical blocks of {}",
            run.target.device.as_deref().unwrap_or(&run.target.path),
            units::format_block_size(f64::from(run.target.physical_block_bytes))
        )
    })
}

fn below_physical_block(run: &BenchmarkRun) -> Option<String> {
    let physical = u64::from(run.target.physical_block_bytes).max(1);
    let bytes = |name: &str| {
        let value = run.parameters.get(name)?;
        // A range of block sizes is a string: take its lower bound.
        let smallest = value.as_str().and_then(|text| text.split('-').next());
        value.as_u64().or_else(|| units::parse_size(smallest?).ok())
    };
    let (name, off) = ["block-size", "align"].into_iter().find_map(|name| {
        let value = bytes(name).filter(|value| !value.is_multiple_of(physical))?;
        Some((name, value))
    })?;
    Some(format!(
        "--{name} {} is no multiple of the physical blocks of {}",
        units::format_exact_size(off),
        units::format_block_size(physical as f64)
    ))
}

fn scheduler_unsuited(run: &BenchmarkRun) -> Option<String> {
    drive_setup(run)?.scheduler_advice.clone().map(String::from)
}

fn depth_exceeds_device_queue(run: &BenchmarkRun) -> Option<String> {
    let most = u64::from(drive_setup(run)?.max_queue_depth?);
    let count = |name: &str| {
        run.parameters
            .get(name)
            .map_or(Some(1), |value| value.as_u64())
    };
    let asked = count("depth")? * count("workers")?;
    (asked > most && run.parameters.contains_key("depth"))
        .then(|| format!("{asked} requests were kept in flight, the drive takes {most} at once"))
}

/// The highest throughput among the metrics as a fraction of the link's maximum, and its text.
fn link_fraction(run: &BenchmarkRun) -> Option<(f64, String)> {
    let setup = drive_setup(run)?;
    let ceiling = setup.link_max_bytes_per_s? as f64;
    let rates = run
        .findings
        .figures
        .iter()
        .filter(|it| it.unit == MetricUnit::BytesPerSecond);
    let most = rates.map(|figure| figure.value).fold(0.0, f64::max);
    let share = most / ceiling;
    Some((
        share,
        format!(
            "{} are {} of the {} that {} carries",
            units::format_throughput(most),
            units::format_percent(share),
            units::format_throughput(ceiling),
            setup.link.as_deref().unwrap_or("the link")
        ),
    ))
}

fn link_bound(run: &BenchmarkRun) -> Option<String> {
    let (share, evidence) = link_fraction(run)?;
    (LINK_BOUND_FRACTION..=LINK_EXCEEDED_FRACTION)
        .contains(&share)
        .then_some(evidence)
}

fn faster_than_link(run: &BenchmarkRun) -> Option<String> {
    let (share, evidence) = link_fraction(run)?;
    (share > LINK_EXCEEDED_FRACTION).then_some(evidence)
}
