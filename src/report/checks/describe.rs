//! Which function describes which check.

use super::text::CheckText;
use super::{benchmarks, disks, runs, setup, suites, sweeps, traffic};
use crate::session::document::Verdict;
use crate::session::document::check::CheckEvidence;
use crate::session::document::check::CheckEvidence as E;

/// Writes the sentences of verdicts that have none yet. Verdicts of other versions keep theirs.
pub fn describe_verdicts<'a>(verdicts: impl IntoIterator<Item = &'a mut Verdict>) {
    for verdict in verdicts {
        if let Some(facts) = &verdict.facts
            && verdict.evidence.is_empty()
            && verdict.advice.is_empty()
        {
            let text = check_text(facts);
            verdict.evidence = text.evidence.into();
            verdict.advice = text.advice.into();
        }
    }
}

/// The sentences about a check with these values.
#[must_use]
pub fn check_text(evidence: &CheckEvidence) -> CheckText {
    match evidence {
        E::ServedFromCache(it) => traffic::served_from_cache(it),
        E::StillInMemory(it) => traffic::still_in_memory(it),
        E::OtherUsers(it) => traffic::other_users(it),
        E::DeviceUnknown(it) => traffic::device_unknown(it),
        E::PageCacheBacked(it) => traffic::page_cache_backed(it),
        E::RequestsSplit(it) => traffic::requests_split(it),
        E::RequestsMerged(it) => traffic::requests_merged(it),
        E::FileHasHoles(it) | E::BlocksNotAllocated(it) => traffic::missing_extents(it),
        E::NeverWritten(it) => traffic::never_written(it),
        E::CompressibleData(it) => traffic::compressible_data(it),
        E::MemoryBacked(it) => setup::memory_backed(it),
        E::Buffered(it) => setup::buffered(it),
        E::LoopWithoutDirectIo(it) => setup::loop_without_direct_io(it),
        E::VirtualDisk(it) => setup::virtual_disk(it),
        E::HostCacheLikely(it) => setup::host_cache_likely(it),
        E::MisalignedPartition(it) => setup::misaligned_partition(it),
        E::BelowPhysicalBlock(it) => setup::below_physical_block(it),
        E::SchedulerUnsuited(it) => setup::scheduler_unsuited(it),
        E::DeeperThanDrive(it) => setup::deeper_than_drive(it),
        E::LinkBound(it) => setup::link_bound(it),
        E::FasterThanLink(it) => setup::faster_than_link(it),
        E::GeneratorBusy(it) => setup::generator_busy(it),
        E::MachineBusy(it) => setup::machine_busy(it),
        E::ThroughputCliff(it) => runs::throughput_cliff(it),
        E::ThroughputDrifted(it) => runs::throughput_drifted(it),
        E::TemperatureThrottled(it) => runs::temperature_throttled(it),
        E::TemperatureHigh(it) => runs::temperature_high(it),
        E::Stalled(it) => runs::stalled(it),
        E::Paused(it) | E::PausedOpenLoop(it) => runs::paused(it),
        E::TooFewSamples(it) => runs::too_few_samples(it),
        E::BimodalLatency(it) => runs::bimodal_latency(it),
        E::SyncTooFast(it) => runs::sync_too_fast(it),
        E::RotationalFlagDoubtful(it) => runs::rotational_flag_doubtful(it),
        E::BehavesLikeDisk(it) => runs::behaves_like_disk(it),
        E::UnitsConfused(it) => runs::units_confused(it),
        E::Unstable(it) => runs::unstable(it),
        E::Failed(it) | E::Interrupted(it) => runs::ended_early(it),
        E::RateNotReached(it) => sweeps::rate_not_reached(it),
        E::QueueDepthNotReached(it) => sweeps::queue_depth_not_reached(it),
        E::FastStart(it) => sweeps::fast_start(it),
        E::NoZones(it) => sweeps::no_zones(it),
        E::ZoneTooShort(it) => sweeps::zone_too_short(it),
        E::ZonesNotMeasured(it) => sweeps::zones_not_measured(it),
        E::ZonesUncertain(it) => sweeps::zones_uncertain(it),
        E::NoOptimalDepth(it) => sweeps::no_optimal_depth(it),
        E::NoBestIopsDepth(it) => sweeps::no_best_iops_depth(it),
        E::KneeDiffers(it) => sweeps::knee_differs(it),
        E::TooFewSamplesAtDepth(it) => sweeps::too_few_samples_at_depth(it),
        E::NoResponseModel => sweeps::no_response_model(),
        E::KernelSplits(it) => sweeps::kernel_splits(it),
        E::NotSteady(it) => sweeps::not_steady(it),
        E::WriteCliff(it) => sweeps::write_cliff(it),
        E::NoDirect(it) => benchmarks::no_direct(it),
        E::FileTruncated(it) => benchmarks::file_truncated(it),
        E::NoPageCache => benchmarks::no_page_cache(),
        E::Not512e(it) => benchmarks::not_512e(it),
        E::NoSignificantPenalty(it) => benchmarks::no_difference(it),
        E::SettingNotChangeable(it) => benchmarks::setting_not_changeable(it),
        E::SettingNotRestored(it) => benchmarks::setting_not_restored(it),
        E::NoBestReadAhead(it) => sweeps::no_best_read_ahead(it),
        E::DriveCompresses(it) => benchmarks::drive_compresses(it),
        E::NoCompression(it) => benchmarks::no_compression(it),
        E::DataGenerationTooSlow(it) => benchmarks::data_generation_too_slow(it),
        E::RateChanged(it) => benchmarks::rate_changed(it),
        E::NoBestBatch(it) => sweeps::no_best_batch(it),
        E::NoReorderGain => benchmarks::no_reorder_gain(),
        E::UnsortedReadsChanged(it) => benchmarks::unsorted_reads_changed(it),
        E::UsersAreDisturbed(it) => benchmarks::users_are_disturbed(it),
        E::BackgroundLoadNotStarted(it) => benchmarks::background_load_not_started(it),
        E::SchedulerIgnoresClasses(it) => benchmarks::scheduler_ignores_classes(it),
        E::NothingWritten => suites::nothing_written(),
        E::SequentialLinesDiffer(it) => suites::sequential_lines_differ(it),
        E::Skipped(it) => suites::skipped(it),
        E::MechanicsSkipped(it) => suites::mechanics_skipped(it),
        E::ThroughputAboveMedium(it) => suites::throughput_above_medium(it),
        E::AdviceQueueDepth(it) => suites::advice_queue_depth(it),
        E::AdviceBlockSize(it) => suites::advice_block_size(it),
        E::AdviceFullCopy(it) => suites::advice_full_copy(it),
        E::TooFewProbes(it) => disks::too_few_probes(it),
        E::DoesNotRotate(it) => disks::does_not_rotate(it),
        E::RotationUndetermined(it) => disks::rotation_undetermined(it),
        E::RotationDoubtful(it) => disks::rotation_doubtful(it),
        E::RotationClass(it) => disks::rotation_class(it),
        E::RotationAsReported(it) => disks::rotation_as_reported(it),
        E::RotationDiffers(it) => disks::rotation_differs(it),
        E::RotationalFlagWrong(it) => disks::rotational_flag_wrong(it),
        E::CommandOverheadUnknown => disks::command_overhead_unknown(),
        E::SeekDoubtful(it) => disks::seek_doubtful(it),
        E::SeekUncertain(it) => disks::seek_uncertain(it),
        E::SpanBelowCylinder(it) => disks::span_below_cylinder(it),
        E::TracksUndetermined => disks::tracks_undetermined(),
        E::CylinderUndetermined(it) => disks::cylinder_undetermined(it),
        E::SurfacesUndetermined(it) => disks::surfaces_undetermined(it),
        E::ZonesUndetermined(it) => disks::zones_undetermined(it),
    }
}
