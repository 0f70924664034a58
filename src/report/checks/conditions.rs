//! When the checks of every run trigger, for the documentation.

use crate::session::checks::CheckSubject;
use crate::session::document::check::CheckId;

/// Title of a group of checks.
#[must_use]
pub fn subject_title(subject: CheckSubject) -> &'static str {
    match subject {
        CheckSubject::KernelCounters => "Kernel counters",
        CheckSubject::Data => "Data on the medium",
        CheckSubject::Setup => "Drive setup",
        CheckSubject::Cpus => "CPU utilization",
        CheckSubject::Stability => "Stability over time",
        CheckSubject::Latency => "Latency distribution",
        CheckSubject::Goals => "Goals",
    }
}

/// When a check of every run triggers, thresholds included; `None` for the checks of single
/// benchmarks.
#[must_use]
pub fn condition(check: CheckId) -> Option<&'static str> {
    counter_condition(check)
        .or_else(|| setup_condition(check))
        .or_else(|| run_condition(check))
}

fn counter_condition(check: CheckId) -> Option<&'static str> {
    Some(match check {
        CheckId::ServedFromCache => {
            "more than 2 % of the bytes read, of at least 1 MiB, did not reach the device; holes of a \
             file are not counted"
        }
        CheckId::StillInMemory => {
            "more than 10 % of the bytes written, and at least 1 MiB, are missing in the device's count"
        }
        CheckId::DeviceUnknown => {
            "the target is not simulated and not in memory, and no block device is known for it (overlay, \
             FUSE, network file systems)"
        }
        CheckId::PageCacheBacked => {
            "a loop device without direct I/O: more than 2 % of the bytes read, or 10 % of the bytes \
             written, and at least 1 MiB, did not reach the device that holds its file"
        }
        CheckId::OtherUsers => {
            "the traffic of others is more than 1 % of the benchmark's bytes, and at least 1 MiB; on a \
             file system, which also reads and writes metadata, only traffic of known processes counts"
        }
        CheckId::RequestsSplit => {
            "the device completed more than 5 % more requests than were issued, with about the same bytes"
        }
        CheckId::RequestsMerged => {
            "more than 5 % of the requests were merged, without the page cache"
        }
        CheckId::FileHasHoles => {
            "holes and unwritten extents are more than 1 % of the window that is read, in the target or \
             in the backing file of a loop device"
        }
        CheckId::BlocksNotAllocated => {
            "holes and unwritten extents are more than 1 % of the window that is written"
        }
        CheckId::NeverWritten => {
            "of 32 blocks read at random addresses of a block device before a read benchmark, at least \
             half contain only zeros"
        }
        CheckId::CompressibleData => "a write benchmark with --data zero, repeat or a percentage",
        CheckId::MemoryBacked => {
            "the file system is tmpfs or ramfs, the device is zram, brd or the like, or the backing file of \
             a loop device lies on such a file system"
        }
        _ => return None,
    })
}

fn setup_condition(check: CheckId) -> Option<&'static str> {
    Some(match check {
        CheckId::Buffered => "--cache is not bypass",
        CheckId::LoopWithoutDirectIo => {
            "a loop device, at any depth of the stack, without direct I/O"
        }
        CheckId::VirtualDisk => {
            "the transport (virtio, Xen) or the model name, of the drive or of an underlying one"
        }
        CheckId::HostCacheLikely => {
            "reads at a virtual disk, other than NVMe, take less than a quarter of the time per request \
             (time busy over requests, from /proc/diskstats) that the same device took before the run, for \
             at least 1000 requests of at most four times the size; or writes without --sync go to a \
             virtual disk in write-back mode"
        }
        CheckId::MisalignedPartition => {
            "start and alignment_offset are no multiples of physical_block_size"
        }
        CheckId::BelowPhysicalBlock => {
            "--block-size or --align is not a multiple of the physical block size"
        }
        CheckId::SchedulerUnsuited => {
            "none on a rotational disk, anything but none on NVMe and loop devices, bfq on an SSD"
        }
        CheckId::DeeperThanDrive => {
            "--depth times --workers is more than the link's or the device's queue_depth"
        }
        CheckId::LinkBound => "throughput of 85 % to 105 % of the link's maximum",
        CheckId::FasterThanLink => "throughput of more than 105 % of the link's maximum",
        CheckId::GeneratorBusy => {
            "at least 90 % of a CPU for each worker thread in the busiest phase of 0.3 s or more"
        }
        CheckId::MachineBusy => "at least 95 % of all CPUs over the run",
        _ => return None,
    })
}

fn run_condition(check: CheckId) -> Option<&'static str> {
    Some(match check {
        CheckId::ThroughputCliff => {
            "from some time on at least 30 % less than before (binary segmentation of the throughput \
             over time, levels of at least a twentieth of the run); not with busy CPUs"
        }
        CheckId::ThroughputDrifted => {
            "the regression line through the means of the run's fifths rises or falls by more than 10 % \
             of the mean (the slope criterion of SNIA's steady state); not with busy CPUs"
        }
        CheckId::TemperatureThrottled => {
            "the highest temperature reaches the limit that the drive reports, and the throughput fell \
             (cliff or drift)"
        }
        CheckId::TemperatureHigh => {
            "the highest temperature reaches the limit that the drive reports"
        }
        CheckId::Stalled => {
            "at least 2 s, 5 times the mean latency and 5 arrival intervals without a completion, or 10 s \
             before the first; times in which the program did not run do not count"
        }
        CheckId::Paused => {
            "a thread that wakes every 50 ms woke at least 0.4 s late without waiting for a CPU, or the \
             machine was suspended"
        }
        CheckId::PausedOpenLoop => "as for paused, with --rate",
        CheckId::TooFewSamples => "fewer than 1000 requests",
        CheckId::BimodalLatency => {
            "the histogram has two modes at least a factor of 2.5 apart, each with at least 10 % of the \
             requests, and between them less than a fifth of the lower mode's height"
        }
        CheckId::SyncTooFast => {
            "the drive is listed as rotational, and half of the writes with --sync take less than half a \
             revolution (of the reported speed, else of 15,000 rpm)"
        }
        CheckId::RotationalFlagDoubtful => {
            "half of the random reads without the page cache take less than half a revolution at \
             15,000 rpm, on a virtual disk, or over more bytes than a disk's cache holds (1 GB)"
        }
        CheckId::BehavesLikeDisk => {
            "rotational=0, and random reads without the page cache at depth 1, at least 100 of them, have \
             p50 >= 5 ms (half a revolution and a seek at 15,000 rpm), p10 >= 1 ms and p90 - p10 >= 3.2 ms; \
             not with busy CPUs, other users or pauses"
        }
        CheckId::UnitsConfused => {
            "the measurement lies between the limit as specified and the limit in the other kind of \
             units: 1 MiB is 4.9 % more than 1 MB, 1 GiB 7.4 % more than 1 GB"
        }
        _ => return None,
    })
}
