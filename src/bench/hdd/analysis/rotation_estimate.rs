//! Does it rotate, and how fast? By folding the times between two reads of the same sectors.

use super::{SeekProber, TimedRead, findings};
use crate::bench::BenchError;
use crate::stats::general::robust;
use crate::stats::rotation::circular::{ResultantVector, signed_turns, wrap_turns};
use crate::stats::rotation::epoch_folding;
use crate::stats::rotation::epoch_folding::EpochFolding;

/// Speeds that are searched, in revolutions per second: 2700 to 18,600 rpm.
pub const SEARCHED_FREQUENCIES: std::ops::Range<f64> = 45.0..310.0;
/// Sectors of one round, each read twice. More than a drive's cache keeps apart.
const SECTORS_PER_ROUND: usize = 128;
/// Reads of one round.
pub const READS_PER_ROUND: u64 = 2 * SECTORS_PER_ROUND as u64;
/// Pairs without which nothing is said.
pub const MIN_PAIRS: usize = 24;
/// Coherence from which the speed is beyond doubt.
const CERTAIN_COHERENCE: f64 = 0.75;
/// A read faster than this share of what most of them need cannot have waited for the medium. Most,
/// not nearly all: other users may delay a quarter of them.
const CACHE_THRESHOLD_FRACTION: f64 = 0.125;

/// What is known of the rotation.
#[derive(Debug, Clone, PartialEq)]
pub enum RotationState {
    /// It rotates.
    Rotating(RevolutionEstimate),
    /// Something periodic is there, but not clearly.
    Doubtful(RevolutionEstimate),
    /// Nothing rotates: the highest coherence that there was.
    NotRotating(RevolutionEstimate),
    /// Completions follow a clock that is the same for all sectors: no platter.
    PeriodicClock(RevolutionEstimate),
    /// Not enough pairs: so many.
    TooFewPairs(usize),
}

/// The best period of all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct RevolutionEstimate {
    /// Speed, limits and coherence.
    pub epoch_folding: EpochFolding,
    /// Pairs of reads of the same sector.
    pub pair_count: usize,
    /// Pairs left out because the cache answered.
    pub cached_pairs: usize,
    /// Coherence of different sectors with each other: near 0 on a platter, where they lie all
    /// around.
    pub cross_sector_coherence: f64,
    /// Median response in seconds.
    pub median_response: f64,
    /// How much later an answer is seen for each e-fold of waiting for it, in seconds: the longer
    /// processors wait, the deeper they sleep. At least 0.
    pub wakeup_latency: f64,
    /// Standard error of `waking`.
    pub wakeup_latency_error: f64,
    /// Responses in seconds of the reads that a cache answered.
    pub cached_responses: Vec<f64>,
    /// C(f): frequency in 1/s, coherence.
    pub spectrum: Vec<(f64, f64)>,
}

impl RevolutionEstimate {
    /// One revolution in seconds.
    #[must_use]
    pub fn revolution_seconds(&self) -> f64 {
        1.0 / self.epoch_folding.frequency
    }
}

/// Pairs of reads, collected over several rounds.
#[derive(Debug, Clone, Default)]
pub struct ReadPairs {
    differences: Vec<f64>,
    /// Logarithm of the second response over the first, for each of them.
    log_response_ratios: Vec<f64>,
    cached_pairs: usize,
    /// Completion times of different sectors, by round: only within one do they share a clock.
    completions_by_round: Vec<Vec<f64>>,
    /// Response times of the reads that are in pairs.
    responses: Vec<f64>,
    /// Response times of the reads that a cache answered.
    cached_responses: Vec<f64>,
}

impl ReadPairs {
    /// Reads one round: sectors all over the window, and the same ones once more in another order.
    ///
    /// The first pass goes outwards and the second one inwards, so that the arm has short ways, and
    /// the times between two reads of a sector are all different: equal ones could hide any phase.
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

    /// Takes the pairs out of the reads of one phase.
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

    /// What the pairs say.
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
        // A platter makes random sectors wait for half a revolution on the average.
        let too_quick = revolution.median_response < 0.25 * revolution.revolution_seconds();
        // Sectors all in step with a clock would make pairs coherent, by that much squared.
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

    /// The slope of the differences' misses against the logarithm of the waiting, never below 0, and its
    /// standard error; in seconds.
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

/// The time in seconds below which the drive's cache must have answered.
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
            .for_each(|few| prober.random.shuffle(few));
    }
    first.extend(second);
    first
}

/// One round, and more only where that leaves doubts, for a test that needs the revolution: the
/// revolution, or a verdict that says why there is none.
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
        pairs.read_round(prober, "speed of rotation", share / f64::from(MAX_ROUNDS))?;
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
    if let Some(verdict) = findings::rotation_check(&rotation) {
        prober.context.set_verdict(verdict);
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
