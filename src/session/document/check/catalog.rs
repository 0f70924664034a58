//! All checks.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::of_benchmarks::*;
use super::of_disks::*;
use super::of_runs::*;
use super::of_setup::*;
use super::of_traffic::*;
use crate::session::document::evidence::{BlockSample, PauseEvidence};
use crate::session::document::severity::Severity;

/// Declares [`CheckId`] and [`CheckEvidence`] from one table: meaning, variant with the type of its
/// evidence, code, default severity.
macro_rules! checks {
    ($($(#[doc = $meaning:literal])+ $check:ident $(($evidence:ty))? = $code:literal, $severity:ident;)+) => {
        /// A validity check.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CheckId {
            $($(#[doc = $meaning])+ $check,)+
        }

        impl CheckId {
            /// All checks, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$check),+];

            /// Stable identifier, such as `served-from-cache`.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$check => $code,)+
                }
            }

            /// The check with that code.
            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                match code {
                    $($code => Some(Self::$check),)+
                    _ => None,
                }
            }

            /// How strongly the check affects the validity of the metrics, unless its evidence says
            /// otherwise.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$check => Severity::$severity,)+
                }
            }

            /// What the check means, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$check => concat!($($meaning),+),)+
                }
                .trim_start()
            }
        }

        /// The measured values that triggered a check.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(tag = "check")]
        pub enum CheckEvidence {
            $($(#[doc = $meaning])+ #[serde(rename = $code)] $check $(($evidence))?,)+
        }

        impl CheckEvidence {
            /// The check that these values triggered.
            #[must_use]
            pub const fn id(&self) -> CheckId {
                match self {
                    $(Self::$check { .. } => CheckId::$check,)+
                }
            }
        }
    };
}

impl CheckEvidence {
    /// How strongly it affects the validity of the metrics.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            // Nothing is wrong: the skews of this drive do not distinguish cylinders.
            Self::CylinderUndetermined(CylinderScan {
                skews: SkewPattern::Uniform,
                ..
            }) => Severity::Note,
            _ => self.id().severity(),
        }
    }
}

checks! {
    /// Fewer bytes were read from the device than the benchmark issued: a cache served the rest.
    ServedFromCache(CacheHits) = "served-from-cache", Invalid;
    /// Much of the written data had not reached the device at the end of the run: the metrics show the speed of memory.
    StillInMemory(UnflushedWrites) = "still-in-memory", Warning;
    /// Other processes used the drive during the run: the metrics lack their share of its performance.
    OtherUsers(CompetingTraffic) = "other-users", Warning;
    /// No block device is known below the target: the kernel's counters could not be compared with the issued requests.
    DeviceUnknown(UncountedTarget) = "device-unknown", Note;
    /// A page cache below the target served a part of the I/O: the metrics exceed what the medium can do.
    PageCacheBacked(CachedLayer) = "page-cache-backed", Invalid;
    /// The kernel split requests: IOPS and latency are those of whole requests, the drive saw smaller ones.
    RequestsSplit(SplitRequests) = "requests-split", Note;
    /// The kernel merged adjacent requests: the drive saw fewer and larger ones.
    RequestsMerged(MergedRequests) = "requests-merged", Note;

    /// Parts of the file are not allocated on the medium or were never written: the file system returns zeros from memory.
    FileHasHoles(MissingExtents) = "file-has-holes", Invalid;
    /// Parts of the file are not yet allocated on the medium: the metrics include block allocation by the file system.
    BlocksNotAllocated(MissingExtents) = "blocks-not-allocated", Warning;
    /// Blocks that were never written since the last trim: the drive returns zeros without reading its memory.
    NeverWritten(BlockSample) = "never-written", Warning;
    /// The written data is not random: a drive, file system or array that compresses or deduplicates stores less.
    CompressibleData(WrittenPattern) = "compressible-data", Note;
    /// The target is in memory, not on a drive.
    MemoryBacked(TargetProperty) = "memory-backed", Invalid;

    /// The I/O went through the page cache.
    Buffered(CacheUse) = "buffered", Note;
    /// The backing file of the loop device is accessed through the page cache: memory answers instead of the drive.
    LoopWithoutDirectIo(LoopLayer) = "loop-without-direct-io", Warning;
    /// The drive belongs to a hypervisor: the storage behind it and its other users are not visible.
    VirtualDisk(TargetProperty) = "virtual-disk", Note;
    /// A virtual disk answers much faster than it did before the run, or writes complete in the host: its memory answers.
    HostCacheLikely(HostCache) = "host-cache-likely", Warning;
    /// The partition does not start on a physical block: each write covers parts of two blocks, which the drive reads first.
    MisalignedPartition(Misalignment) = "misaligned-partition", Warning;
    /// Requests are smaller than a physical block, or not aligned to one: the drive transfers more than is counted.
    BelowPhysicalBlock(SubBlockRequest) = "below-physical-block", Warning;
    /// Another I/O scheduler suits this drive better.
    SchedulerUnsuited(TargetProperty) = "scheduler-unsuited", Note;
    /// The queue is deeper than the drive or its link accepts: requests waited in the kernel, and their latency includes that.
    DeeperThanDrive(QueueOverflow) = "deeper-than-drive", Note;
    /// The throughput is about the maximum of the link to the host: the drive may be faster.
    LinkBound(LinkUsage) = "link-bound", Note;
    /// The throughput exceeds the maximum of the link to the host: the data did not come over it.
    FasterThanLink(LinkUsage) = "faster-than-link", Invalid;

    /// The worker threads used all of their CPU time: the drive waited for this program.
    GeneratorBusy(WorkerUtilization) = "generator-busy", Warning;
    /// All CPUs were busy: other processes used them, or the kernel's own workers had no time.
    MachineBusy(CpuUtilization) = "machine-busy", Warning;

    /// The throughput fell and stayed low, for example because a cache was full: the mean is neither of the two speeds.
    ThroughputCliff(TimedDrop) = "throughput-cliff", Warning;
    /// The throughput rose or fell throughout the run: the mean depends on the duration.
    ThroughputDrifted(ThroughputChange) = "throughput-drifted", Warning;
    /// The drive reached the temperature at which it may throttle, and its throughput fell.
    TemperatureThrottled(Throttling) = "temperature-throttled", Warning;
    /// The drive reached the temperature at which it may throttle.
    TemperatureHigh(HighTemperature) = "temperature-high", Warning;
    /// No request completed for at least two seconds although requests were in flight.
    Stalled(Stall) = "stalled", Warning;
    /// The program was stopped (Ctrl-Z, SIGSTOP, a debugger, the cgroup freezer), or the machine was suspended.
    /// Requests in flight at that time are not counted, and the time is excluded from rates and curves; the drive was idle meanwhile.
    Paused(PauseEvidence) = "paused", Warning;
    /// The program was stopped during an open-loop run: the requests that were due in the meantime were issued at once afterwards.
    PausedOpenLoop(PauseEvidence) = "paused-open-loop", Invalid;

    /// There are too few requests for the usual percentiles; a percentile with fewer than 10 requests beyond it is not reported.
    TooFewSamples(SampleCount) = "too-few-samples", Note;
    /// The latency distribution is bimodal: hardly any request has the mean latency.
    BimodalLatency(Bimodality) = "bimodal-latency", Note;
    /// Synchronous writes completed within half a revolution of the disk: they were not on the medium yet.
    SyncTooFast(FastSync) = "sync-too-fast", Warning;
    /// The kernel lists the drive as rotational, but its latency is too low for a disk.
    RotationalFlagDoubtful(RotationalLatency) = "rotational-flag-doubtful", Warning;

    /// The kernel lists the drive as an SSD, but its latency is that of a rotating disk.
    BehavesLikeDisk(DiskLikeLatency) = "behaves-like-disk", Warning;

    /// A goal is met with decimal unit prefixes and missed with binary ones, or the other way round.
    UnitsConfused(PrefixAmbiguity) = "units-confused", Note;

    /// Repeated runs differ by more than their confidence intervals.
    Unstable(RepeatedExtremes) = "unstable", Warning;
    /// A compared run ended with an error.
    Failed(EndedEarly) = "failed", Warning;
    /// A compared run was interrupted.
    Interrupted(EndedEarly) = "interrupted", Warning;

    /// Fewer requests per second were completed than arrived.
    RateNotReached(RateShortfall) = "rate-not-reached", Warning;
    /// Fewer than 90 % of the requested number of requests were in flight on average (Little's law).
    QueueDepthNotReached(DepthShortfall) = "queue-depth-not-reached", Warning;
    /// The beginning of the drive is faster than its end.
    FastStart(ZoneThroughputs) = "fast-start", Note;
    /// The drive is listed as rotational, but is equally fast at all addresses.
    NoZones(UniformThroughput) = "no-zones", Note;
    /// A zone holds fewer than ten requests for each one in flight.
    ZoneTooShort(ZoneRequests) = "zone-too-short", Note;
    /// The time limit left no time for some of the zones.
    ZonesNotMeasured(UnmeasuredZones) = "zones-not-measured", Note;
    /// The measured zones hold too few requests, or the drive has too many zones, to count them reliably.
    ZonesUncertain(ZoneCountDoubt) = "zones-uncertain", Note;

    /// The differences between the queue depths do not determine the optimal one.
    NoOptimalDepth(OptimumDoubt) = "no-optimal-depth", Note;
    /// The differences between the queue depths do not determine the one with the most IOPS.
    NoBestIopsDepth(OptimumDoubt) = "no-best-iops-depth", Note;
    /// The knee of the IOPS curve is at another depth in each round.
    KneeDiffers(KneeDepths) = "knee-differs", Note;
    /// There are too few requests at some depths to estimate p90.
    TooFewSamplesAtDepth(UnsampledDepths) = "too-few-samples-at-depth", Warning;
    /// The latency does not grow with the block size as access time plus transfer time.
    NoResponseModel = "no-response-model", Note;
    /// Some of the block sizes exceed max_sectors_kb.
    KernelSplits(SplitLimit) = "kernel-splits", Note;
    /// The rounds did not reach a steady state.
    NotSteady(RoundVariation) = "not-steady", Warning;
    /// The throughput fell permanently after a number of written bytes.
    WriteCliff(WrittenDrop) = "write-cliff", Warning;

    /// The file system does not support O_DIRECT.
    NoDirect(UnsupportedDirectIo) = "no-direct", Note;
    /// A limit ended files before they were written completely.
    FileTruncated(TruncatedFiles) = "file-truncated", Warning;
    /// A simulated drive has no page cache.
    NoPageCache = "no-page-cache", Note;
    /// Logical and physical blocks have the same size: no direct write can be smaller than a physical block.
    Not512e(BlockSizes) = "not-512e", Note;
    /// The two variants, whole and partial blocks or plain and synchronous writes, do not differ significantly.
    NoSignificantPenalty(VariantRatio) = "no-significant-penalty", Note;
    /// The read-ahead could not be changed.
    SettingNotChangeable(SettingObstacle) = "setting-not-changeable", Warning;
    /// The read-ahead could not be restored.
    SettingNotRestored(SettingFailure) = "setting-not-restored", Warning;
    /// The differences between the read-ahead settings do not determine the best one.
    NoBestReadAhead(OptimumDoubt) = "no-best-read-ahead", Note;
    /// Zeros or repeated blocks are written faster than random data.
    DriveCompresses(DataRatios) = "drive-compresses", Warning;
    /// Zeros are not written faster than random data.
    NoCompression(DataRatios) = "no-compression", Note;
    /// This machine generates random data more slowly than the drive accepts it.
    DataGenerationTooSlow(StarvedWrites) = "data-generation-too-slow", Warning;
    /// The same data was written at different speeds.
    RateChanged(ThroughputRange) = "rate-changed", Warning;

    /// The differences between the reorder buffers do not determine the best one.
    NoBestBatch(OptimumDoubt) = "no-best-batch", Note;
    /// No size of the reorder buffer is significantly faster than none.
    NoReorderGain = "no-reorder-gain", Note;
    /// The unsorted reads had different rates in different rounds.
    UnsortedReadsChanged(RateRange) = "unsorted-reads-changed", Warning;
    /// The background load takes much of the foreground load's IOPS.
    UsersAreDisturbed(ForegroundLoss) = "users-are-disturbed", Warning;
    /// The background load completed no request while the foreground load ran.
    BackgroundLoadNotStarted(MissingBackgroundLoad) = "background-load-not-started", Warning;
    /// The I/O scheduler ignores I/O priority classes.
    SchedulerIgnoresClasses(ActiveScheduler) = "scheduler-ignores-classes", Note;

    /// The write half of the benchmark was skipped.
    NothingWritten = "nothing-written", Note;
    /// The sequential workloads differ, although the medium has the same throughput for both.
    SequentialLinesDiffer(QueueThroughputs) = "sequential-lines-differ", Warning;
    /// A nested benchmark could not be run; the code is BENCHMARK/skipped.
    Skipped(SkippedBenchmark) = "skipped", Note;
    /// The benchmarks of the mechanics were skipped because the drive does not rotate.
    MechanicsSkipped(SkippedMechanics) = "mechanics-skipped", Note;
    /// A throughput exceeds that of the medium at its fastest address.
    ThroughputAboveMedium(ImplausibleThroughput) = "throughput-above-medium", Warning;
    /// The queue depth with low latency, and the one with the most IOPS.
    AdviceQueueDepth(DepthAdvice) = "advice-queue-depth", Note;
    /// The block size at which access and transfer take equal time.
    AdviceBlockSize(BlockSizeAdvice) = "advice-block-size", Note;
    /// The duration of a copy of the whole drive.
    AdviceFullCopy(CopyAdvice) = "advice-full-copy", Note;

    /// The benchmark ended before there were enough reads.
    TooFewProbes(ProbeShortage) = "too-few-probes", Warning;
    /// Reads of the same sector do not complete at multiples of a revolution.
    DoesNotRotate(NonRotation) = "does-not-rotate", Invalid;
    /// The processors were too busy to tell whether the drive rotates.
    RotationUndetermined(DelayedReads) = "rotation-undetermined", Invalid;
    /// The latency shows a rotation, but not beyond doubt.
    RotationDoubtful(PairCoherence) = "rotation-doubtful", Warning;
    /// The class of rotation speeds that the drive belongs to.
    RotationClass(SpeedClass) = "rotation-class", Note;
    /// The rotation speed is the one that the drive reports.
    RotationAsReported(ReportedSpeed) = "rotation-as-reported", Note;
    /// The rotation speed is not the one that the drive reports.
    RotationDiffers(ReportedSpeed) = "rotation-differs", Warning;
    /// The kernel's rotational flag contradicts the measurement.
    RotationalFlagWrong(RotationalFlag) = "rotational-flag-wrong", Warning;
    /// Seek times include the command overhead, because no cache served a repeated read.
    CommandOverheadUnknown = "command-overhead-unknown", Warning;
    /// The rotational delays are not uniformly distributed over a revolution (Anderson-Darling, 1 %).
    SeekDoubtful(SeekDoubt) = "seek-doubtful", Warning;
    /// Half the width of the 95 % CI is more than 5 % of the seek time.
    SeekUncertain(SeekMargin) = "seek-uncertain", Warning;
    /// The jumps may stay within a cylinder.
    SpanBelowCylinder(ShortSpan) = "span-below-cylinder", Invalid;
    /// The angles of adjacent sectors show no tracks.
    TracksUndetermined = "tracks-undetermined", Invalid;
    /// The skews of the tracks do not show where a cylinder ends.
    CylinderUndetermined(CylinderScan) = "cylinder-undetermined", Invalid;
    /// The skews do not show the number of surfaces.
    SurfacesUndetermined(SurfaceScan) = "surfaces-undetermined", Note;
    /// The benchmark ended before all zone boundaries were found.
    ZonesUndetermined(FoundZones) = "zones-undetermined", Note;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_parse() {
        let codes: BTreeSet<&str> = CheckId::ALL.iter().map(|it| it.code()).collect();
        assert_eq!(codes.len(), CheckId::ALL.len());
        for id in CheckId::ALL {
            assert_eq!(CheckId::from_code(id.code()), Some(*id));
            assert!(id.meaning().ends_with('.'), "{}", id.code());
        }
        assert_eq!(CheckId::from_code("unknown"), None);
    }

    #[test]
    fn evidence_is_read_as_written() {
        for evidence in [
            CheckEvidence::NoPageCache,
            CheckEvidence::RateNotReached(RateShortfall {
                arrived_per_s: 1000.0,
                completed_per_s: 812.5,
            }),
            CheckEvidence::DoesNotRotate(NonRotation::PeriodicClock {
                frequency_hz: 250.0,
                cross_sector_coherence: 0.75,
            }),
            CheckEvidence::NoBestBatch(OptimumDoubt::TooFewRounds),
            CheckEvidence::SettingNotChangeable(SettingObstacle {
                during_sweep: true,
                cause: ObstacleCause::Error {
                    message: "no".into(),
                    advice: "try".into(),
                },
            }),
        ] {
            let text = serde_json::to_string(&evidence).unwrap();
            assert!(text.starts_with(&format!("{{\"check\":\"{}\"", evidence.id().code())));
            let read: CheckEvidence = serde_json::from_str(&text).unwrap();
            assert_eq!(read, evidence);
        }
    }
}
