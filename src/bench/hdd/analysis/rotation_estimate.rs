//! Detects rotation and its speed by folding the intervals between two reads of the same sectors.

use std::time::Duration;

use crate::bench::BenchError;
use crate::bench::hdd::analysis::checks;
use crate::bench::hdd::analysis::findings;
use crate::bench::hdd::analysis::seek_prober::{SeekProber, TimedRead};
use crate::stats::general::robust;
use crate::stats::random::shuffle;
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

/// Fraction of a revolution below which the median read cannot have waited for a platter: the mean
/// rotational delay is half a revolution, and seek times come on top.
const TOO_FAST_FRACTION: f64 = 0.25;
/// Mean time per read that this program may wait for a CPU before the absence of a period means
/// nothing: 5 % of a revolution at 15,000 rpm (4 ms). Delays that are exponentially distributed with
/// that mean lower the coherence of such a disk by a tenth (1/(1 + (2 pi 0.05)^2)), and of a slower
/// one by less; delays of a whole revolution, which destroy it, are far above.
const MAX_RUN_DELAY: Duration = Duration::from_micros(200);
/// Minimum number of periods in a round for its sectors to be compared with a common clock: over a
/// part of one period all angles are similar.
const MIN_CLOCK_PERIODS: f64 = 8.0;

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
    /// Mean time per read for which this program waited for a CPU, if known.
    run_delay: Option<Duration>,
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
        self.run_delay = prober.mean_run_delay();
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
        self.classify(revolution)
    }

    /// Decides whether the best period of all pairs is the rotation of a platter.
    fn classify(&self, revolution: RevolutionEstimate) -> RotationState {
        let folding = revolution.epoch_folding;
        let chance = epoch_folding::chance_coherence(self.differences.len());
        if revolution.median_response < TOO_FAST_FRACTION / SEARCHED_FREQUENCIES.end {
            return RotationState::TooFast(revolution);
        }
        // Without a period the fit leaves the search range.
        let is_period = SEARCHED_FREQUENCIES.contains(&folding.frequency)
            && revolution.median_response >= TOO_FAST_FRACTION / folding.frequency;
        // Sectors in phase with a common clock make pairs coherent by the square of that coherence.
        let in_phase = revolution.cross_sector_coherence.powi(2) > 0.5 * folding.coherence;
        let is_certain = folding.coherence >= CERTAIN_COHERENCE.max(chance);
        let busy = self.run_delay.filter(|delay| *delay >= MAX_RUN_DELAY);
        match (is_period, in_phase, busy) {
            (true, false, _) if is_certain => RotationState::Rotating(revolution),
            (true, false, _) if folding.coherence >= 1.1 * chance => {
                RotationState::Doubtful(revolution)
            }
            // The clock may be the timer of the scheduler.
            (_, _, Some(delay)) => RotationState::ProcessorsBusy(delay),
            (true, true, None) => RotationState::PeriodicClock(revolution),
            _ => RotationState::NotRotating(revolution),
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

    /// Coherence between different sectors of a round, 0 to 1; 0 where a round is too short for it.
    fn cross_sector_coherence(&self, frequency: f64) -> f64 {
        let covers_periods = |ends: &Vec<f64>| {
            let span = ends
                .last()
                .zip(ends.first())
                .map(|(last, first)| last - first);
            span.is_some_and(|span| span * frequency >= MIN_CLOCK_PERIODS)
        };
        let length = |ends: &Vec<f64>| {
            let angles = ends.iter().map(|end| end * frequency);
            angles.collect::<ResultantVector>().mean_resultant_length()
        };
        self.completions_by_round
            .iter()
            .filter(|ends| ends.len() >= MIN_PAIRS && covers_periods(ends))
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
            RotationState::NotRotating(_)
            | RotationState::TooFast(_)
            | RotationState::PeriodicClock(_) => true,
            RotationState::Doubtful(_)
            | RotationState::ProcessorsBusy(_)
            | RotationState::TooFewPairs(_) => false,
        };
        if clear || prober.is_over() {
            break;
        }
    }
    if let Some(verdict) = checks::rotation_check(&rotation) {
        prober.context.set_check(verdict);
    }
    match rotation {
        RotationState::Rotating(revolution) | RotationState::Doubtful(revolution) => {
            findings::set_rotation_metrics(prober, &revolution);
            Ok(Some(revolution))
        }
        RotationState::NotRotating(_)
        | RotationState::TooFast(_)
        | RotationState::PeriodicClock(_)
        | RotationState::ProcessorsBusy(_)
        | RotationState::TooFewPairs(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// Reads of 128 sectors and of the same ones again, in another order, each with the latency
    /// (seconds) that the closure returns for its address and start.
    fn pairs_of(mut latency: impl FnMut(u64, f64) -> f64) -> ReadPairs {
        let mut now = 0.0;
        let sectors = SECTORS_PER_ROUND as u64;
        let probes: Vec<TimedRead> = (0..sectors)
            .chain((0..sectors).rev())
            .map(|address| {
                let start = now;
                now += latency(address, start);
                let end = now;
                TimedRead {
                    address,
                    start,
                    end,
                }
            })
            .collect();
        let mut pairs = ReadPairs::default();
        pairs.add_pairs(&probes);
        pairs
    }

    /// A number between 0 and 1 from the seed.
    fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
        random.random()
    }

    /// Reads of a disk with 7200 rpm, with an exponentially distributed delay of this mean.
    fn pairs_of_disk(seed: u64, mean_delay: f64) -> ReadPairs {
        const REVOLUTION: f64 = 60.0 / 7200.0;
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
        let angles: Vec<f64> = (0..SECTORS_PER_ROUND).map(|_| uniform(random)).collect();
        pairs_of(|address, start| {
            let arrives = start + 1.5e-3 + 1e-3 * uniform(random);
            let turns = (arrives / REVOLUTION - angles[address as usize]).ceil();
            let ready = (turns + angles[address as usize]) * REVOLUTION;
            ready - start - mean_delay * (1.0 - uniform(random)).ln()
        })
    }

    #[test]
    fn fast_reads_are_no_clock_and_no_rotation() {
        for seed in 0..200 {
            for latency in [20e-6, 100e-6, 400e-6] {
                let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
                let pairs = pairs_of(|_, _| latency * (1.0 + 0.2 * uniform(random)));
                let state = pairs.assess_rotation();
                assert!(
                    matches!(state, RotationState::TooFast(_)),
                    "{seed} {latency}: {state:?}"
                );
            }
        }
    }

    #[test]
    fn completions_in_step_with_a_timer_are_a_clock() {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        let mut pairs = pairs_of(|_, start| {
            const TICK: f64 = 0.01;
            let ready = start + 3e-3 + 12e-3 * uniform(random);
            (ready / TICK).ceil() * TICK - start
        });
        match pairs.assess_rotation() {
            RotationState::PeriodicClock(found) => {
                let clocks = found.epoch_folding.frequency / 100.0;
                assert!(
                    (clocks - clocks.round()).abs() < 0.01 && clocks > 0.5,
                    "{clocks}"
                );
            }
            other => panic!("{other:?}"),
        }
        pairs.run_delay = Some(Duration::from_millis(2));
        let busy = pairs.assess_rotation();
        assert!(matches!(busy, RotationState::ProcessorsBusy(_)), "{busy:?}");
    }

    #[test]
    fn disk_behind_busy_processors_is_never_denied() {
        let mut hidden = 0;
        for seed in 0..200 {
            for delay in [0.2e-3, 0.5e-3, 1e-3, 2e-3, 5e-3, 20e-3] {
                let mut pairs = pairs_of_disk(seed, delay);
                pairs.run_delay = Some(Duration::from_secs_f64(delay));
                match pairs.assess_rotation() {
                    RotationState::ProcessorsBusy(_) => hidden += 1,
                    RotationState::Rotating(_) | RotationState::Doubtful(_) => {}
                    other => panic!("{seed} {delay}: {other:?}"),
                }
            }
        }
        assert!(
            hidden > 200,
            "{hidden}: the delays hide nothing, and the test shows nothing"
        );
    }

    #[test]
    fn drive_without_rotation_is_denied_only_with_a_processor_at_hand() {
        let state = |seed: u64, delay: Option<Duration>| {
            let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut pairs = pairs_of(|_, _| 4e-3 + 8e-3 * uniform(random));
            pairs.run_delay = delay;
            pairs.assess_rotation()
        };
        for seed in 0..200 {
            let idle = state(seed, Some(Duration::from_micros(20)));
            assert!(
                matches!(idle, RotationState::NotRotating(_)),
                "{seed}: {idle:?}"
            );
            let unknown = state(seed, None);
            assert!(
                matches!(unknown, RotationState::NotRotating(_)),
                "{seed}: {unknown:?}"
            );
            let busy = state(seed, Some(Duration::from_millis(1)));
            assert!(
                matches!(busy, RotationState::ProcessorsBusy(_)),
                "{seed}: {busy:?}"
            );
        }
    }
}
