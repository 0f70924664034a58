//! How the drive is attached, divided and set.

use super::Provoked::{ByTest, InGuest};
use super::{Rule, is_direct, word};
use crate::session::document::{Relation, Run, Setup, Severity, Unit};
use crate::units;

/// From this share of the link's ceiling on it is the link that is measured.
const NEAR_THE_CEILING: f64 = 0.85;
/// Beyond this it cannot have come over the link.
const OVER_THE_CEILING: f64 = 1.05;
/// Half of the reads faster than this, nanoseconds: flash takes 50 us and more to read a page
/// (Micron, Samsung data sheets of 3D NAND: tR 40 to 100 us), and a virtual machine adds to it.
const FASTER_THAN_FLASH: f64 = 60_000.0;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "buffered",
        severity: Severity::Note,
        means: "The page cache took part.",
        when: "--cache is not bypass",
        advice: "use --cache bypass to measure the drive alone",
        provoked: ByTest("a_whole_file_has_no_holes_and_a_cached_one_is_served_from_memory"),
        find: buffered,
    },
    Rule {
        code: "loop-without-direct-io",
        severity: Severity::Warning,
        means: "The file behind the loop device goes through the page cache: memory answers in \
                place of the drive beneath.",
        when: "a loop device, in whatever depth of the stack, without direct I/O",
        advice: "losetup --direct-io=on, or measure the file itself",
        provoked: ByTest("a_loop_device_through_the_page_cache_is_told"),
        find: loop_without_direct_io,
    },
    Rule {
        code: "virtual-disk",
        severity: Severity::Note,
        means: "The drive is one of a hypervisor: what stands behind it, and who else uses that, \
                cannot be seen from here.",
        when: "the transport (virtio, Xen) or the model's name says so, of the drive or of one \
               beneath it",
        advice: "measure on the host as well, or call the figures those of the virtual machine",
        provoked: ByTest("a_virtual_machine_s_disk_is_called_one"),
        find: virtual_disk,
    },
    Rule {
        code: "host-cache-likely",
        severity: Severity::Warning,
        means: "A virtual disk answers faster than flash can: the host's memory answers.",
        when: "half of the reads of a virtual disk past the page cache take less than 60 us, or \
               writes without --sync go to one that says write back",
        advice: "have the host open the image with cache=none, or use a window larger than the \
                 host's memory",
        provoked: InGuest,
        find: host_cache_likely,
    },
    Rule {
        code: "misaligned-partition",
        severity: Severity::Warning,
        means: "The partition does not begin on a physical block: each write covers parts of two, \
                which are read first.",
        when: "start and alignment_offset do not fit physical_block_size",
        advice: "make the partition anew at a multiple of 1 MiB; what is on it must be saved before",
        provoked: InGuest,
        find: misaligned_partition,
    },
    Rule {
        code: "below-physical-block",
        severity: Severity::Warning,
        means: "Requests are smaller than a physical block, or do not begin on one: the drive reads \
                and writes more than is counted.",
        when: "--block-size or --align is no multiple of the physical block size",
        advice: "choose multiples of the physical block size",
        provoked: ByTest("blocks_below_the_physical_sector_are_told"),
        find: below_physical_block,
    },
    Rule {
        code: "scheduler-unsuited",
        severity: Severity::Note,
        means: "Another I/O scheduler suits this drive better.",
        when: "none on a disk with arms, anything but none on NVMe and loop devices, bfq on an SSD",
        advice: "`diskscope devices` has the command that changes it",
        provoked: ByTest("a_scheduler_on_a_loop_device_is_unsuited"),
        find: scheduler_unsuited,
    },
    Rule {
        code: "deeper-than-drive",
        severity: Severity::Note,
        means: "More requests were kept in flight than the drive or its link takes: the rest waited \
                in the kernel, and their response times say so.",
        when: "--depth times --workers is more than the link's or the device's queue_depth",
        advice: "response times of the drive alone are had with a smaller --depth",
        provoked: InGuest,
        find: deeper_than_drive,
    },
    Rule {
        code: "link-bound",
        severity: Severity::Note,
        means: "The throughput is about what the link to the host carries: the drive may be faster.",
        when: "throughput of 85 % to 105 % of the link's ceiling",
        advice: "see whether slot, cable and port negotiate the fastest speed that the drive has",
        provoked: InGuest,
        find: link_bound,
    },
    Rule {
        code: "faster-than-link",
        severity: Severity::Invalid,
        means: "More bytes arrived than the link to the host carries: they came from elsewhere.",
        when: "throughput of more than 105 % of the link's ceiling",
        advice: "measure with --cache bypass; if that was so, the link's speed is reported wrongly",
        provoked: InGuest,
        find: faster_than_link,
    },
];

fn setup(run: &Run) -> Option<&Setup> {
    run.evidence.setup.as_ref()
}

fn buffered(run: &Run) -> Option<String> {
    let cache = word(run, "cache")?;
    (!is_direct(run)).then(|| format!("the page cache took part (--cache {cache})"))
}

fn loop_without_direct_io(run: &Run) -> Option<String> {
    let setup = setup(run).filter(|setup| setup.direct_io == Some(false))?;
    let file = setup.backing_file.as_deref().unwrap_or("its file");
    let below = run
        .evidence
        .beneath
        .iter()
        .find(|it| it.relation == Relation::Backing);
    let counts = below
        .zip(run.kernel.as_ref())
        .map_or_else(String::new, |(below, above)| {
            let moved = |counts: &crate::session::document::KernelCounts| {
                units::capacity((counts.read_bytes + counts.written_bytes) as f64)
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

fn virtual_disk(run: &Run) -> Option<String> {
    setup(run)?.virtual_disk.clone().map(String::from)
}

fn host_cache_likely(run: &Run) -> Option<String> {
    let setup = setup(run)?;
    setup.virtual_disk.as_ref()?;
    if !is_direct(run) {
        return None;
    }
    // Memory beside it answers for a loop device: that is said already.
    let median = |latency: &Option<crate::session::document::LatencySummary>| {
        latency
            .as_ref()?
            .percentiles
            .get("50")
            .map(|value| *value as f64)
    };
    let reads = median(&run.findings.latency.read).filter(|_| setup.direct_io != Some(false));
    if let Some(read) = reads.filter(|median| *median < FASTER_THAN_FLASH) {
        return Some(format!(
            "half of the reads took less than {}; flash takes longer",
            units::latency(read)
        ));
    }
    let unsynced = word(run, "sync").is_none_or(|sync| sync == "none");
    let written = run.findings.latency.write.is_some();
    (written && unsynced && setup.write_cache.as_deref() == Some("write back")).then(|| {
        "its write cache says write back: writes count as done when the host has them".to_owned()
    })
}

fn misaligned_partition(run: &Run) -> Option<String> {
    (setup(run)?.aligned == Some(false)).then(|| {
        format!(
            "{} does not begin on a boundary of the physical blocks of {}",
            run.target.device.as_deref().unwrap_or(&run.target.path),
            units::block_size(f64::from(run.target.physical_block_bytes))
        )
    })
}

fn below_physical_block(run: &Run) -> Option<String> {
    let physical = u64::from(run.target.physical_block_bytes).max(1);
    let bytes = |name: &str| {
        let value = run.parameters.get(name)?;
        // A range of sizes is written as a word.
        let smallest = value.as_str().and_then(|text| text.split('-').next());
        value.as_u64().or_else(|| units::parse_size(smallest?).ok())
    };
    let (name, off) = ["block-size", "align"].into_iter().find_map(|name| {
        let value = bytes(name).filter(|value| !value.is_multiple_of(physical))?;
        Some((name, value))
    })?;
    Some(format!(
        "--{name} {} is no multiple of the physical blocks of {}",
        units::exact_size(off),
        units::block_size(physical as f64)
    ))
}

fn scheduler_unsuited(run: &Run) -> Option<String> {
    setup(run)?.scheduler_advice.clone().map(String::from)
}

fn deeper_than_drive(run: &Run) -> Option<String> {
    let most = u64::from(setup(run)?.parallel_requests?);
    let count = |name: &str| {
        run.parameters
            .get(name)
            .map_or(Some(1), |value| value.as_u64())
    };
    let asked = count("depth")? * count("workers")?;
    (asked > most && run.parameters.contains_key("depth"))
        .then(|| format!("{asked} requests were kept in flight, the drive takes {most} at once"))
}

/// The highest throughput among the figures, as a share of the link's ceiling.
fn of_the_link(run: &Run) -> Option<(f64, String)> {
    let setup = setup(run)?;
    let ceiling = setup.link_bytes_per_s? as f64;
    let rates = run
        .findings
        .figures
        .iter()
        .filter(|it| it.unit == Unit::BytesPerSecond);
    let most = rates.map(|figure| figure.value).fold(0.0, f64::max);
    let share = most / ceiling;
    Some((
        share,
        format!(
            "{} are {} of the {} that {} carries",
            units::throughput(most),
            units::percent(share),
            units::throughput(ceiling),
            setup.link.as_deref().unwrap_or("the link")
        ),
    ))
}

fn link_bound(run: &Run) -> Option<String> {
    let (share, evidence) = of_the_link(run)?;
    (NEAR_THE_CEILING..=OVER_THE_CEILING)
        .contains(&share)
        .then_some(evidence)
}

fn faster_than_link(run: &Run) -> Option<String> {
    let (share, evidence) = of_the_link(run)?;
    (share > OVER_THE_CEILING).then_some(evidence)
}
