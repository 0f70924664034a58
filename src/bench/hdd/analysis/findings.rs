//! Metrics and checks of the rotation.

use super::rotation_estimate::{MIN_PAIRS, RevolutionEstimate, RotationState};
use super::{SeekProber, too_few_observations};
use crate::session::document::{Metric, MetricId, Severity, Verdict};
use crate::stats::rotation::epoch_folding;

/// The check for a drive that certainly does not rotate; `None` for one that does.
#[must_use]
pub fn rotation_check(rotation: &RotationState) -> Option<Verdict> {
    let coherence = |found: &RevolutionEstimate| {
        format!(
            "half of the reads take no longer than {:.3} ms; highest coherence {:.2} of {} pairs of reads \
             (chance alone reaches {:.2}); {} more were answered by the cache",
            1e3 * found.median_response,
            found.epoch_folding.coherence,
            found.pair_count - found.cached_pairs,
            epoch_folding::chance_coherence(found.pair_count - found.cached_pairs),
            found.cached_pairs
        )
    };
    let (code, severity, evidence, advice) = match rotation {
        RotationState::Rotating(_) => return None,
        RotationState::Doubtful(found) => (
            "rotation-doubtful",
            Severity::Warning,
            coherence(found),
            "stop other users of the drive and repeat; with a large cache, widen the window",
        ),
        RotationState::NotRotating(found) => (
            "does-not-rotate",
            Severity::Invalid,
            coherence(found),
            "an SSD, a virtual disk, a RAID or a cache answers here: its mechanics cannot be measured",
        ),
        RotationState::PeriodicClock(found) => (
            "does-not-rotate",
            Severity::Invalid,
            format!(
                "all sectors are ready in step with a clock of {:.1} Hz (coherence of different sectors {:.2})",
                found.epoch_folding.frequency, found.cross_sector_coherence
            ),
            "a virtual disk or a rate limit answers on a timer: its mechanics cannot be measured",
        ),
        RotationState::TooFewPairs(pairs) => {
            return Some(too_few_observations("rotation", *pairs, MIN_PAIRS));
        }
    };
    Some(Verdict::new(code, severity, evidence, advice))
}

/// Sets the metrics of the rotation.
pub fn set_rotation_metrics(prober: &mut SeekProber<'_, '_>, found: &RevolutionEstimate) {
    let (folding, pairs) = (
        &found.epoch_folding,
        (found.pair_count - found.cached_pairs) as u64,
    );
    let (low, high) = folding.frequency_interval;
    let figure = |id, value: f64, low: f64, high: f64| {
        Metric::new(id, value)
            .with_interval(low, high)
            .with_observations(pairs)
    };
    prober.context.set_metric(figure(
        MetricId::ROTATION_SPEED,
        folding.frequency * 60.0,
        low * 60.0,
        high * 60.0,
    ));
    prober.context.set_metric(figure(
        MetricId::REVOLUTION_TIME,
        1e9 / folding.frequency,
        1e9 / high,
        1e9 / low,
    ));
    prober.context.set_metric(
        Metric::new(MetricId::ROTATION_COHERENCE, folding.coherence).with_observations(pairs),
    );
}
