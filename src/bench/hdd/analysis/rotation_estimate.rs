//! Detects rotation and its speed by folding the intervals between two reads of the same sectors.

use crate::bench::BenchError;
use crate::bench::hdd::analysis::findings;
use crate::bench::hdd::analysis::seek_prober::{SeekProber, TimedRead};
use crate::drive::random::shuffle;
use crate::stats::general::robust;
use crate::stats::rotation::circular::{ResultantVector, signed_turns, wrap_turns};
use crate::stats::rotation::epoch_folding;

pub use crate::bench::hdd::analysis::rotation_state::{
    MIN_PAIRS, RevolutionEstimate, RotationState,
};

/// Search range in revolutions per second: 2700 to 18,600 rpm.
pub const SEARCHED_FREQUENCIES: std::ops::Range<f64> = 45.0..310.0;
/// Sectors per round, each read twice. More than a drive's cache has segments.
const SECTORS_PER_ROUND: usize = 128;
/// Reads per round.
pub const READS_PER_ROUND: u64 = 2 * SECTORS_PER_ROUND as u64;
/// Coherence above which the speed is certain.
const CERTAIN_COHERENCE: f64 = 0.75;
/// A read faster than this fraction of the time that most reads take cannot have waited for the
/// medium. Most, not nearly all: other users may delay a quarter of them.
const CACHE_THRESHOLD_FRACTION: f64 = 0.125;

/// Pairs of reads from all rounds.
#[derive(Debug, Clone, Default)]
pub struct ReadPairs {
    differences: Vec<f64>,
    /// Logarithm of the second latency over the first, per pair.
    log_response_ratios: Vec<f64>,
    cached_pairs: usize,
    /// Completion times of different sectors, by round: they only share a clock within a round.
    completions_by_round: Vec<Vec<f64>>,
    /// Latencies of the reads that are in pairs.
    responses: Vec<f64>,
    /// Latencies of the reads that a cache answered.
    cached_responses: Vec<f64>,
}

impl ReadPairs {
    /// Reads one round: sectors all over the window, and the same sectors again in another order.
    ///
    /// The first pass goes outwards and the second one inwards, which keeps seeks short and makes
    /// all intervals between two reads of a sector different: equal intervals could hide any phase.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn read_round(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        phase: &str,
        share: f64,
    ) -> Result<Vec<TimedRead>, BenchError> {
        let order = round_addresses(prober);
        let probes = prober.read_addresses(phase, share, &order)?;
        self.add_pairs(&probes);
        Ok(probes)
    }

    /// Extracts the pairs from the reads of one phase.
    pub fn add_pairs(&mut self, probes: &[TimedRead]) {
        let fast = cache_threshold(probes);
        let mut first: std::collections::HashMap<u64, &TimedRead> =
            std::collections::HashMap::new();
        let mut ends = Vec::new();
        let quick = probes.iter().map(TimedRead::response);
        self.cached_responses
            .extend(quick.filter(|response| *response <= fast));
        for probe in probes {
            match first.insert(probe.address, probe) {
                None => ends.extend((probe.response() > fast).then_some(probe.end)),
                Some(earlier) if earlier.response() > fast && probe.response() > fast => {
                    self.differences.push(probe.end - earlier.end);
                    self.log_response_ratios
                        .push((probe.response() / earlier.response()).ln());
                    self.responses.push(probe.response());
                }
                Some(_) => self.cached_pairs += 1,
            }
        }
        self.completions_by_round.push(ends);
    }

    /// Estimates the rotation from all pairs.
    #[must_use]
    pub fn assess_rotation(&self) -> RotationState {
        if self.differences.len() < MIN_PAIRS {
            return RotationState::TooFewPairs(self.differences.len());
        }
        let spectrum = epoch_folding::coherence_spectrum(&self.differences, SEARCHED_FREQUENCIES);
        let Some(folding) = epoch_folding::fold_spectrum(&self.differences, &spectrum) else {
            return RotationState::TooFewPairs(self.differences.len());
        };
        let (waking, waking_error) = self.wakeup_latency(folding.frequency);
        let revolution = RevolutionEstimate {
            epoch_folding: folding,
            pair_count: self.differences.len() + self.cached_pairs,
            cached_pairs: self.cached_pairs,
            cross_sector_coherence: self.cross_sector_coherence(folding.frequency),
            median_response: robust::median(self.responses.iter().copied()).unwrap_or(0.0),
            wakeup_latency: waking,
            wakeup_latency_error: waking_error,
            cached_responses: self.cached_responses.clone(),
            spectrum,
        };
        let chance = epoch_folding::chance_coherence(self.differences.len());
        // A platter delays random sectors by half a revolution on average.
        let too_quick = revolution.median_response < 0.25 * revolution.revolution_seconds();
        // Sectors in phase with a common clock make pairs coherent by the square of that coherence.
        if too_quick {
            RotationState::NotRotating(revolution)
        } else if revolution.cross_sector_coherence.powi(2) > 0.5 * folding.coherence {
            RotationState::PeriodicClock(revolution)
        } else if folding.coherence >= CERTAIN_COHERENCE.max(chance) {
            RotationState::Rotating(revolution)
        } else if folding.coherence >= 1.1 * chance {
            RotationState::Doubtful(revolution)
        } else {
            RotationState::NotRotating(revolution)
        }
    }

    /// Slope of the intervals' residuals over the logarithm of the waiting time, never below 0, and
    /// its standard error; in seconds.
    fn wakeup_latency(&self, frequency: f64) -> (f64, f64) {
        const MAX_RESIDUAL_PERIODS: f64 = 0.05;
        let misses = self
            .differences
            .iter()
            .map(|difference| signed_turns(difference * frequency));
        let near: Vec<(f64, f64)> = self
            .log_response_ratios
            .iter()
            .copied()
            .zip(misses)
            .filter(|(_, miss)| miss.abs() < MAX_RESIDUAL_PERIODS)
            .collect();
        let slope = robust::slope_through_origin(&near).filter(|_| near.len() >= MIN_PAIRS);
        let error = slope.and_then(|slope| robust::slope_standard_error(&near, slope));
        match (slope, error) {
            (Some(slope), Some(error)) => (slope.max(0.0) / frequency, error / frequency),
            _ => (0.0, 0.0),
        }
    }

    fn cross_sector_coherence(&self, frequency: f64) -> f64 {
        let length = |ends: &Vec<f64>| {
            let angles = ends.iter().map(|end| end * frequency);
            angles.collect::<ResultantVector>().mean_resultant_length()
        };
        self.completions_by_round
            .iter()
            .filter(|ends| ends.len() >= MIN_PAIRS)
            .map(length)
            .fold(0.0, f64::max)
    }
}

/// Latency in seconds below which the drive's cache must have answered.
#[must_use]
pub fn cache_threshold(probes: &[TimedRead]) -> f64 {
    let responses = robust::sorted_finite(probes.iter().map(TimedRead::response));
    CACHE_THRESHOLD_FRACTION * robust::quantile(&responses, 0.6).unwrap_or(0.0)
}

/// Angles at which reads ended, in revolutions since the phase began.
pub fn completion_angles(probes: &[TimedRead], period: f64) -> impl Iterator<Item = (u64, f64)> {
    probes
        .iter()
        .map(move |probe| (probe.address, wrap_turns(probe.end / period)))
}

fn round_addresses(prober: &mut SeekProber<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let size = window.end - window.start;
    let count = SECTORS_PER_ROUND
        .min((size / prober.block_bytes()) as usize)
        .max(1) as u64;
    let mut first: Vec<u64> = (0..count)
        .rev()
        .map(|part| {
            let begin =
                window.start + (u128::from(size) * u128::from(part) / u128::from(count)) as u64;
            prober.random_address(&(begin..begin + (size / count).max(1)))
        })
        .collect();
    first.dedup();
    let mut second = first.clone();
    second.reverse();
    second.rotate_left(first.len() / 4);
    for order in [&mut first, &mut second] {
        order
            .chunks_mut(8)
            .for_each(|few| shuffle(few, &mut prober.random));
    }
    first.extend(second);
    first
}

/// Runs one round, and more only if doubts remain, for a benchmark that needs the revolution.
/// Returns the revolution, or a check that explains its absence.
///
/// # Errors
/// When the reads could not be started.
pub fn find_revolution(
    prober: &mut SeekProber<'_, '_>,
    share: f64,
) -> Result<Option<RevolutionEstimate>, BenchError> {
    const MAX_ROUNDS: u32 = 3;
    const STOP_COHERENCE: f64 = 0.85;
    let mut pairs = ReadPairs::default();
    let mut rotation = RotationState::TooFewPairs(0);
    for _ in 0..MAX_ROUNDS {
        pairs.read_round(prober, "rotational speed", share / f64::from(MAX_ROUNDS))?;
        rotation = pairs.assess_rotation();
        let clear = match &rotation {
            RotationState::Rotating(found) => found.epoch_folding.coherence >= STOP_COHERENCE,
            RotationState::NotRotating(_) | RotationState::PeriodicClock(_) => true,
            RotationState::Doubtful(_) | RotationState::TooFewPairs(_) => false,
        };
        if clear || prober.is_over() {
            break;
        }
    }
    if let Some(evidence) = findings::rotation_check(&rotation) {
        prober.context.set_check(evidence);
    }
    match rotation {
        RotationState::Rotating(revolution) | RotationState::Doubtful(revolution) => {
            findings::set_rotation_metrics(prober, &revolution);
            Ok(Some(revolution))
        }
        RotationState::NotRotating(_)
        | RotationState::PeriodicClock(_)
        | RotationState::TooFewPairs(_) => Ok(None),
    }
}
