//! Metrics and checks of the rotation.

use crate::bench::hdd::analysis::observations::too_few_observations;
use crate::bench::hdd::analysis::rotation_state::{MIN_PAIRS, RevolutionEstimate, RotationState};
use crate::bench::hdd::analysis::seek_prober::SeekProber;
use crate::session::document::check::{
    CheckEvidence, DelayedReads, NonRotation, PairCoherence, ProbedQuantity,
};
use crate::session::document::{Metric, MetricId};
use crate::stats::rotation::epoch_folding;

/// The check for a drive that does not rotate, or not beyond doubt; `None` for one that does.
#[must_use]
pub fn rotation_check(rotation: &RotationState) -> Option<CheckEvidence> {
    match rotation {
        RotationState::Rotating(_) => None,
        RotationState::Doubtful(found) => {
            Some(CheckEvidence::RotationDoubtful(pair_coherence(found)))
        }
        RotationState::NotRotating(found) => Some(CheckEvidence::DoesNotRotate(
            NonRotation::Incoherent(pair_coherence(found)),
        )),
        RotationState::TooFast(found) => {
            Some(CheckEvidence::DoesNotRotate(NonRotation::FastReads {
                median_response_seconds: found.median_response,
                pairs: found.pair_count - found.cached_pairs,
            }))
        }
        RotationState::ProcessorsBusy(delay) => {
            Some(CheckEvidence::RotationUndetermined(DelayedReads {
                run_delay_seconds: delay.as_secs_f64(),
            }))
        }
        RotationState::PeriodicClock(found) => {
            Some(CheckEvidence::DoesNotRotate(NonRotation::PeriodicClock {
                frequency_hz: found.epoch_folding.frequency,
                cross_sector_coherence: found.cross_sector_coherence,
            }))
        }
        RotationState::TooFewPairs(pairs) => Some(too_few_observations(
            ProbedQuantity::Rotation,
            *pairs,
            MIN_PAIRS,
        )),
    }
}

fn pair_coherence(found: &RevolutionEstimate) -> PairCoherence {
    let pairs = found.pair_count - found.cached_pairs;
    PairCoherence {
        median_response_seconds: found.median_response,
        coherence: found.epoch_folding.coherence,
        chance_coherence: epoch_folding::chance_coherence(pairs),
        pairs,
        cached_pairs: found.cached_pairs,
    }
}

/// Sets the metrics of the rotation.
pub fn set_rotation_metrics(prober: &mut SeekProber<'_, '_>, found: &RevolutionEstimate) {
    let (folding, pairs) = (
        &found.epoch_folding,
        (found.pair_count - found.cached_pairs) as u64,
    );
    let (low, high) = folding.frequency_interval;
    let metric = |id, value: f64, low: f64, high: f64| {
        Metric::new(id, value)
            .with_interval(low, high)
            .with_observations(pairs)
    };
    prober.context.set_metric(metric(
        MetricId::ROTATION_SPEED,
        folding.frequency * 60.0,
        low * 60.0,
        high * 60.0,
    ));
    prober.context.set_metric(metric(
        MetricId::REVOLUTION_TIME,
        1e9 / folding.frequency,
        1e9 / high,
        1e9 / low,
    ));
    prober.context.set_metric(
        Metric::new(MetricId::ROTATION_COHERENCE, folding.coherence).with_observations(pairs),
    );
}
