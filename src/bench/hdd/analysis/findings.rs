//! Metrics of the rotation.

use crate::bench::hdd::analysis::rotation_state::RevolutionEstimate;
use crate::bench::hdd::analysis::seek_prober::SeekProber;
use crate::session::document::{Metric, MetricId};

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
