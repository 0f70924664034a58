//! Checks of the setup: how the drive is attached and configured, and the CPUs.

use super::text::CheckText;
use crate::session::document::check::{
    CacheUse, CpuUtilization, HostCache, LinkUsage, LoopLayer, Misalignment, QueueOverflow,
    SubBlockRequest, TargetProperty, WorkerUtilization,
};
use crate::units;

pub(super) fn memory_backed(target: &TargetProperty) -> CheckText {
    CheckText::new(
        format!("{}: {}", target.target, target.property),
        "choose a target on a drive",
    )
}

pub(super) fn buffered(cache: &CacheUse) -> CheckText {
    CheckText::new(
        format!("the I/O used the page cache (--cache {})", cache.cache),
        "use --cache bypass to measure the drive alone",
    )
}

pub(super) fn loop_without_direct_io(layer: &LoopLayer) -> CheckText {
    let file = layer.backing_file.as_deref().unwrap_or("the backing file");
    let traffic = layer.traffic.as_ref().map_or_else(String::new, |traffic| {
        format!(
            ": {} were transferred on {}, {} on the underlying {}",
            units::format_capacity(traffic.device_bytes as f64),
            traffic.device,
            units::format_capacity(traffic.underlying_bytes as f64),
            traffic.underlying_device
        )
    });
    CheckText::new(
        format!("{file} is accessed through the page cache{traffic}"),
        "use losetup --direct-io=on, or measure the file itself",
    )
}

pub(super) fn virtual_disk(target: &TargetProperty) -> CheckText {
    CheckText::new(
        String::from(&target.property),
        "measure on the host as well, or read the metrics as those of the virtual machine",
    )
}

pub(super) fn host_cache_likely(sign: &HostCache) -> CheckText {
    let evidence = match sign {
        HostCache::FastReads {
            device_ns,
            earlier_ns,
            earlier_requests,
        } => format!(
            "a read took {} at the virtual disk; before the run, each of its {earlier_requests} requests \
             took {}",
            units::format_latency(*device_ns),
            units::format_latency(*earlier_ns)
        ),
        HostCache::WriteBack => {
            "the write cache is in write-back mode: writes complete when the host has received them"
                .to_owned()
        }
    };
    CheckText::new(
        evidence,
        "configure the host to open the image with cache=none, or use a window larger than the \
         host's memory",
    )
}

pub(super) fn misaligned_partition(partition: &Misalignment) -> CheckText {
    CheckText::new(
        format!(
            "{} does not start at a multiple of the physical block size of {}",
            partition.device,
            units::format_block_size(f64::from(partition.physical_block_bytes))
        ),
        "save the data, and create the partition again at a multiple of 1 MiB",
    )
}

pub(super) fn below_physical_block(request: &SubBlockRequest) -> CheckText {
    CheckText::new(
        format!(
            "--{} {} is not a multiple of the physical block size of {}",
            request.parameter,
            units::format_exact_size(request.bytes),
            units::format_block_size(request.physical_block_bytes as f64)
        ),
        "use multiples of the physical block size",
    )
}

pub(super) fn scheduler_unsuited(target: &TargetProperty) -> CheckText {
    CheckText::new(
        String::from(&target.property),
        "`diskscope devices` shows the command that changes the scheduler",
    )
}

pub(super) fn deeper_than_drive(queue: &QueueOverflow) -> CheckText {
    CheckText::new(
        format!(
            "{} requests were kept in flight, the drive accepts {} at once",
            queue.requested_depth, queue.device_depth
        ),
        "use a smaller --depth to measure the latency of the drive alone",
    )
}

fn link_usage_text(usage: &LinkUsage) -> String {
    format!(
        "{} are {} of the maximum of {} of {}",
        units::format_throughput(usage.throughput),
        units::format_percent(usage.throughput / usage.link_max),
        units::format_throughput(usage.link_max),
        usage.link.as_deref().unwrap_or("the link")
    )
}

pub(super) fn link_bound(usage: &LinkUsage) -> CheckText {
    CheckText::new(
        link_usage_text(usage),
        "check whether slot, cable and port negotiate the maximum speed of the drive",
    )
}

pub(super) fn faster_than_link(usage: &LinkUsage) -> CheckText {
    CheckText::new(
        link_usage_text(usage),
        "use --cache bypass; if it was already used, the reported speed of the link is wrong",
    )
}

pub(super) fn generator_busy(load: &WorkerUtilization) -> CheckText {
    let utilization = units::format_percent(load.utilization);
    CheckText::new(
        match load.workers {
            1 => format!("the worker thread used {utilization} of a CPU"),
            many => format!("the {many} worker threads used {utilization} of a CPU each"),
        },
        "use more --workers, or a larger --block-size",
    )
}

pub(super) fn machine_busy(load: &CpuUtilization) -> CheckText {
    CheckText::new(
        format!(
            "the utilization of the machine's {} CPUs was {}",
            load.cpus,
            units::format_percent(load.utilization)
        ),
        "stop other programs; on a small machine fewer --workers may be faster",
    )
}
