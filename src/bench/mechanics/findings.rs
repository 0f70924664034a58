//! What is said of the rotation: figures and verdicts.

use super::revolution::{ENOUGH, Revolution, Rotation};
use super::{Prober, too_few};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::folding;

/// The verdict for what does not rotate beyond doubt; `None` for what does.
#[must_use]
pub fn verdict(rotation: &Rotation) -> Option<Verdict> {
    let coherence = |found: &Revolution| {
        format!(
            "half of the reads take no longer than {:.3} ms; highest coherence {:.2} of {} pairs of reads \
             (chance alone reaches {:.2}); {} more were answered by the cache",
            1e3 * found.response,
            found.folding.coherence,
            found.pairs - found.cached,
            folding::chance(found.pairs - found.cached),
            found.cached
        )
    };
    let (code, severity, evidence, advice) = match rotation {
        Rotation::Found(_) => return None,
        Rotation::Doubtful(found) => (
            "rotation-doubtful",
            Severity::Warning,
            coherence(found),
            "stop other users of the drive and repeat; with a large cache, widen the window",
        ),
        Rotation::None(found) => (
            "does-not-rotate",
            Severity::Invalid,
            coherence(found),
            "an SSD, a virtual disk, a RAID or a cache answers here: its mechanics cannot be measured",
        ),
        Rotation::Clock(found) => (
            "does-not-rotate",
            Severity::Invalid,
            format!(
                "all sectors are ready in step with a clock of {:.1} Hz (coherence of different sectors {:.2})",
                found.folding.frequency, found.common
            ),
            "a virtual disk or a rate limit answers on a timer: its mechanics cannot be measured",
        ),
        Rotation::Unknown(pairs) => return Some(too_few("rotation", *pairs, ENOUGH)),
    };
    Some(Verdict::new(code, severity, evidence, advice))
}

/// Sets the figures of the rotation.
pub fn report(prober: &mut Prober<'_, '_>, found: &Revolution) {
    let (folding, pairs) = (&found.folding, (found.pairs - found.cached) as u64);
    let (low, high) = folding.limits;
    let figure = |name: &str, value: f64, low: f64, high: f64, unit: Unit| {
        Figure::new(name, value, unit)
            .within(low, high)
            .from_observations(pairs)
    };
    prober.bench.figure(figure(
        "rotation_speed",
        folding.frequency * 60.0,
        low * 60.0,
        high * 60.0,
        Unit::RevolutionsPerMinute,
    ));
    prober.bench.figure(figure(
        "revolution_time",
        1e9 / folding.frequency,
        1e9 / high,
        1e9 / low,
        Unit::Nanoseconds,
    ));
    prober.bench.figure(
        Figure::new("rotation_coherence", folding.coherence, Unit::Ratio).from_observations(pairs),
    );
}
