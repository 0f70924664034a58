//! Detects rotation and its speed by folding the intervals between two reads of the same sectors.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use super::checks::{ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, too_few_observations};
use super::prober::{Prober, TimedRead};
use crate::bench::BenchError;
use crate::session::checks::DOES_NOT_ROTATE;
use crate::session::document::{Metric, MetricId, Verdict};
use crate::stats::general::robust;
use crate::stats::random::shuffle;
use crate::stats::rotation::circular::{ResultantVector, signed_turns};
use crate::stats::rotation::epoch_folding;
use crate::stats::rotation::epoch_folding::EpochFolding;
use crate::units;

/// Search range in revolutions per second: 2700 to 18,600 rpm.
const SEARCHED_FREQUENCIES: std::ops::Range<f64> = 45.0..310.0;
/// Sectors per round, each read twice. More than a drive's cache has segments.
const SECTORS_PER_ROUND: usize = 128;
/// Reads per round.
pub const READS_PER_ROUND: u64 = 2 * SECTORS_PER_ROUND as u64;
/// Maximum number of rounds.
pub const MAX_ROUNDS: usize = 3;
/// Minimum number of pairs for a result.
const MIN_PAIRS: usize = 24;
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

const NO_MECHANICS: &str =
    "this is an SSD, a virtual disk, a RAID or a cache: its mechanics cannot be measured";

/// Whether the drive rotates, and how fast.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// Whether the medium rotates; `None` if this is not certain.
    pub rotates: Option<bool>,
    /// Whether `best` is a rotation, certain or doubtful.
    pub is_found: bool,
    /// The period of highest coherence; `None` for too few pairs.
    pub best: Option<RevolutionEstimate>,
    /// The check for a drive that does not rotate, or not beyond doubt.
    pub verdict: Option<Verdict>,
}

/// The best period of all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct RevolutionEstimate {
    /// Speed, confidence interval and coherence.
    pub epoch_folding: EpochFolding,
    /// Number of pairs of reads of the same sector.
    pair_count: usize,
    /// Number of further pairs, excluded because the cache answered.
    cached_pairs: usize,
    /// Coherence between different sectors: near 0 on a platter, where their angles are spread
    /// evenly.
    pub cross_sector_coherence: f64,
    /// Median latency in seconds.
    pub median_response: f64,
    /// Increase of the wake-up latency per e-fold of waiting time, in seconds: the longer
    /// processors idle, the deeper their sleep state. At least 0.
    pub wakeup_latency: f64,
    /// Standard error of `wakeup_latency`.
    pub wakeup_latency_error: f64,
    /// C(f): frequency in 1/s, coherence.
    pub spectrum: Vec<(f64, f64)>,
}

impl RevolutionEstimate {
    /// Time of one revolution in seconds.
    pub fn revolution_seconds(&self) -> f64 {
        1.0 / self.epoch_folding.frequency
    }

    /// Speed, revolution and coherence as metrics.
    pub fn metrics(&self) -> [Metric; 3] {
        let folding = &self.epoch_folding;
        let (low, high) = folding.frequency_interval;
        let speed = Metric::new(MetricId::ROTATION_SPEED, folding.frequency * 60.0)
            .with_interval(low * 60.0, high * 60.0);
        let revolution = Metric::new(MetricId::REVOLUTION_TIME, 1e9 / folding.frequency)
            .with_interval(1e9 / high, 1e9 / low);
        let coherence = Metric::new(MetricId::ROTATION_COHERENCE, folding.coherence);
        let pairs = self.pair_count as u64;
        [speed, revolution, coherence].map(|metric| metric.with_observations(pairs))
    }

    /// Whether a revolution of this frequency would take longer than the reads did.
    fn is_too_fast_for(&self, frequency: f64) -> bool {
        self.median_response < TOO_FAST_FRACTION / frequency
    }

    fn too_fast(&self) -> Verdict {
        DOES_NOT_ROTATE.found(
            format!(
                "half of the reads of {} pairs take at most {}: a disk waits half a revolution on \
                 average, 2 ms even at 15,000 rpm",
                self.pair_count,
                units::format_latency(1e9 * self.median_response)
            ),
            NO_MECHANICS,
            json!({
                "reason": "fast-reads",
                "median_response_seconds": self.median_response,
                "pairs": self.pair_count,
            }),
        )
    }

    fn follows_clock(&self) -> Verdict {
        let frequency = self.epoch_folding.frequency;
        let coherence = self.cross_sector_coherence;
        DOES_NOT_ROTATE.found(
            format!(
                "the completion times of all sectors are periodic with {frequency:.1} Hz (coherence \
                 of different sectors {coherence:.2})"
            ),
            "a virtual disk or a rate limit completes requests on a timer: its mechanics cannot be \
             measured",
            json!({
                "reason": "periodic-clock",
                "frequency_hz": frequency,
                "cross_sector_coherence": coherence,
            }),
        )
    }

    /// The check for a coherence that is too low for a rotation, or for a certain one.
    fn incoherent(&self, is_doubtful: bool) -> Verdict {
        let pairs = self.pair_count;
        let chance = epoch_folding::chance_coherence(pairs);
        let coherence = self.epoch_folding.coherence;
        let sentence = format!(
            "half of the reads take at most {:.3} ms; highest coherence {coherence:.2} of {pairs} pairs of \
             reads (chance level {chance:.2}); {} more pairs were served from the cache",
            1e3 * self.median_response,
            self.cached_pairs
        );
        let mut facts = json!({
            "median_response_seconds": self.median_response,
            "coherence": coherence,
            "chance_coherence": chance,
            "pairs": pairs,
            "cached_pairs": self.cached_pairs,
        });
        if is_doubtful {
            let advice = "stop other programs and other users of the drive, and repeat the run; use a \
                          larger window if the cache is large";
            return ROTATION_DOUBTFUL.found(sentence, advice, facts);
        }
        facts["reason"] = "incoherent".into();
        DOES_NOT_ROTATE.found(sentence, NO_MECHANICS, facts)
    }
}

fn processors_busy(delay: Duration) -> Verdict {
    ROTATION_UNDETERMINED.found(
        format!(
            "cannot tell: processors busy; this program waited {} per read for a CPU, which hides \
             the rotation of a disk",
            units::format_latency(1e9 * delay.as_secs_f64())
        ),
        "stop other programs, or start diskscope with a higher priority (nice -n -10), and repeat \
         the run",
        json!({ "run_delay_seconds": delay.as_secs_f64() }),
    )
}

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
        prober: &mut Prober<'_, '_>,
        phase: &str,
    ) -> Result<Vec<TimedRead>, BenchError> {
        let order = round_addresses(prober);
        let probes = prober.read_addresses(phase, &order)?;
        self.add_pairs(&probes);
        self.run_delay = prober.mean_run_delay();
        Ok(probes)
    }

    /// Extracts the pairs from the reads of one phase.
    pub fn add_pairs(&mut self, probes: &[TimedRead]) {
        let fast = cache_threshold(probes);
        let mut first: HashMap<u64, &TimedRead> = HashMap::new();
        let mut ends = Vec::new();
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

    /// Whether a platter rotates, from all pairs.
    pub fn assess_rotation(&self) -> Rotation {
        let best = self.best_period();
        let (rotates, is_found, verdict) = match &best {
            Some(best) => self.classify(best),
            None => {
                let pairs = self.differences.len();
                let verdict = too_few_observations(("rotation", "rotation"), pairs, MIN_PAIRS);
                (None, false, Some(verdict))
            }
        };
        Rotation {
            rotates,
            is_found,
            best,
            verdict,
        }
    }

    /// The period of highest coherence; `None` for too few pairs.
    fn best_period(&self) -> Option<RevolutionEstimate> {
        if self.differences.len() < MIN_PAIRS {
            return None;
        }
        let spectrum = epoch_folding::coherence_spectrum(&self.differences, SEARCHED_FREQUENCIES);
        let epoch_folding = epoch_folding::fold_spectrum(&self.differences, &spectrum)?;
        let frequency = epoch_folding.frequency;
        let (wakeup_latency, wakeup_latency_error) = self.wakeup_latency(frequency);
        Some(RevolutionEstimate {
            epoch_folding,
            pair_count: self.differences.len(),
            cached_pairs: self.cached_pairs,
            cross_sector_coherence: self.cross_sector_coherence(frequency),
            median_response: robust::median(self.responses.iter().copied()).unwrap_or(0.0),
            wakeup_latency,
            wakeup_latency_error,
            spectrum,
        })
    }

    /// Decides whether the best period of all pairs is the rotation of a platter: whether it rotates,
    /// whether the period is found at all, and why not.
    fn classify(&self, best: &RevolutionEstimate) -> (Option<bool>, bool, Option<Verdict>) {
        let EpochFolding {
            frequency,
            coherence,
            ..
        } = best.epoch_folding;
        let chance = epoch_folding::chance_coherence(self.differences.len());
        if best.is_too_fast_for(SEARCHED_FREQUENCIES.end) {
            return (Some(false), false, Some(best.too_fast()));
        }
        // Without a period the fit leaves the search range.
        let is_period =
            SEARCHED_FREQUENCIES.contains(&frequency) && !best.is_too_fast_for(frequency);
        // Sectors in phase with a common clock make pairs coherent by the square of that coherence.
        let in_phase = best.cross_sector_coherence.powi(2) > 0.5 * coherence;
        if is_period && !in_phase && coherence >= CERTAIN_COHERENCE.max(chance) {
            return (Some(true), true, None);
        }
        if is_period && !in_phase && coherence >= 1.1 * chance {
            return (None, true, Some(best.incoherent(true)));
        }
        // The clock may be the timer of the scheduler.
        if let Some(delay) = self.run_delay.filter(|delay| *delay >= MAX_RUN_DELAY) {
            return (None, false, Some(processors_busy(delay)));
        }
        let verdict = match is_period && in_phase {
            true => best.follows_clock(),
            false => best.incoherent(false),
        };
        (Some(false), false, Some(verdict))
    }

    /// Slope of the intervals' residuals over the logarithm of the waiting time, never below 0, and
    /// its standard error; in seconds.
    fn wakeup_latency(&self, frequency: f64) -> (f64, f64) {
        const MAX_RESIDUAL_PERIODS: f64 = 0.05;
        let miss = |difference: &f64| signed_turns(difference * frequency);
        let misses = self.differences.iter().map(miss);
        let mut near: Vec<(f64, f64)> = self
            .log_response_ratios
            .iter()
            .copied()
            .zip(misses)
            .collect();
        near.retain(|(_, miss)| miss.abs() < MAX_RESIDUAL_PERIODS);
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
            let span = ends.last().zip(ends.first());
            span.is_some_and(|(last, first)| (last - first) * frequency >= MIN_CLOCK_PERIODS)
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
pub fn cache_threshold(probes: &[TimedRead]) -> f64 {
    let responses = robust::sorted_finite(probes.iter().map(TimedRead::response));
    CACHE_THRESHOLD_FRACTION * robust::quantile(&responses, 0.6).unwrap_or(0.0)
}

fn round_addresses(prober: &mut Prober<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let size = prober.window_bytes();
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
    prober: &mut Prober<'_, '_>,
) -> Result<Option<RevolutionEstimate>, BenchError> {
    const STOP_COHERENCE: f64 = 0.85;
    let mut pairs = ReadPairs::default();
    let mut rotation = pairs.assess_rotation();
    for _ in 0..MAX_ROUNDS {
        pairs.read_round(prober, "rotational speed")?;
        rotation = pairs.assess_rotation();
        let is_coherent =
            |best: &RevolutionEstimate| best.epoch_folding.coherence >= STOP_COHERENCE;
        let is_clear = match rotation.rotates {
            Some(true) => rotation.best.as_ref().is_some_and(is_coherent),
            rotates => rotates.is_some(),
        };
        if is_clear || prober.is_over() {
            break;
        }
    }
    if let Some(verdict) = rotation.verdict {
        prober.context.set_check(verdict);
    }
    let found = rotation.best.filter(|_| rotation.is_found);
    let metrics = found.iter().flat_map(RevolutionEstimate::metrics);
    metrics.for_each(|metric| prober.context.set_metric(metric));
    Ok(found)
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

    /// The reason of the check, or its code where there is one reason only.
    fn reason(rotation: &Rotation) -> String {
        let verdict = rotation.verdict.as_ref().unwrap();
        let reason = verdict
            .facts
            .get("reason")
            .and_then(|reason| reason.as_str());
        reason.unwrap_or(&verdict.code).to_owned()
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
                assert_eq!(reason(&state), "fast-reads", "{seed} {latency}");
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
        let state = pairs.assess_rotation();
        assert_eq!(reason(&state), "periodic-clock");
        let clocks = state.best.unwrap().epoch_folding.frequency / 100.0;
        assert!(
            (clocks - clocks.round()).abs() < 0.01 && clocks > 0.5,
            "{clocks}"
        );
        pairs.run_delay = Some(Duration::from_millis(2));
        assert_eq!(reason(&pairs.assess_rotation()), "rotation-undetermined");
    }

    #[test]
    fn disk_behind_busy_processors_is_never_denied() {
        let mut hidden = 0;
        for seed in 0..200 {
            for delay in [0.2e-3, 0.5e-3, 1e-3, 2e-3, 5e-3, 20e-3] {
                let mut pairs = pairs_of_disk(seed, delay);
                pairs.run_delay = Some(Duration::from_secs_f64(delay));
                let state = pairs.assess_rotation();
                assert_ne!(state.rotates, Some(false), "{seed} {delay}: {state:?}");
                hidden += usize::from(!state.is_found);
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
            assert_eq!(reason(&idle), "incoherent", "{seed}");
            assert_eq!(reason(&state(seed, None)), "incoherent", "{seed}");
            let busy = state(seed, Some(Duration::from_millis(1)));
            assert_eq!(reason(&busy), "rotation-undetermined", "{seed}");
        }
    }
}
