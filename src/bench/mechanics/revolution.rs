//! Does it rotate, and how fast? By folding the times between two reads of the same sectors.

use crate::bench::BenchError;
use crate::bench::mechanics::{Probe, Prober, findings};
use crate::stats::circular::{Resultant, signed, wrap};
use crate::stats::folding::{self, Folding};
use crate::stats::robust;

/// Speeds that are searched, in revolutions per second: 2700 to 18,600 rpm.
pub const SPEEDS: std::ops::Range<f64> = 45.0..310.0;
/// Sectors of one round, each read twice. More than a drive's cache keeps apart.
const SECTORS: usize = 128;
/// Reads of one round.
pub const READS_PER_ROUND: u64 = 2 * SECTORS as u64;
/// Pairs without which nothing is said.
pub const ENOUGH: usize = 24;
/// Coherence from which the speed is beyond doubt.
const CERTAIN: f64 = 0.75;
/// A read faster than this share of what most of them need cannot have waited for the medium. Most,
/// not nearly all: other users may delay a quarter of them.
const CACHE_SHARE: f64 = 0.125;

/// What is known of the rotation.
#[derive(Debug, Clone, PartialEq)]
pub enum Rotation {
    /// It rotates.
    Found(Revolution),
    /// Something periodic is there, but not clearly.
    Doubtful(Revolution),
    /// Nothing rotates: the highest coherence that there was.
    None(Revolution),
    /// Completions follow a clock that is the same for all sectors: no platter.
    Clock(Revolution),
    /// Not enough pairs: so many.
    Unknown(usize),
}

/// The best period of all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Revolution {
    /// Speed, limits and coherence.
    pub folding: Folding,
    /// Pairs of reads of the same sector.
    pub pairs: usize,
    /// Pairs left out because the cache answered.
    pub cached: usize,
    /// Coherence of different sectors with each other: near 0 on a platter, where they lie all
    /// around.
    pub common: f64,
    /// Median response in seconds.
    pub response: f64,
    /// How much later an answer is seen for each e-fold of waiting for it, in seconds: the longer
    /// processors wait, the deeper they sleep. At least 0.
    pub waking: f64,
    /// Standard error of `waking`.
    pub waking_error: f64,
    /// Responses in seconds of the reads that a cache answered.
    pub quick: Vec<f64>,
    /// C(f): frequency in 1/s, coherence.
    pub spectrum: Vec<(f64, f64)>,
}

impl Revolution {
    /// One revolution in seconds.
    #[must_use]
    pub fn period(&self) -> f64 {
        1.0 / self.folding.frequency
    }
}

/// Pairs of reads, collected over several rounds.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    differences: Vec<f64>,
    /// Logarithm of the second response over the first, for each of them.
    ratios: Vec<f64>,
    cached: usize,
    /// Completion times of different sectors, by round: only within one do they share a clock.
    rounds: Vec<Vec<f64>>,
    /// Response times of the reads that are in pairs.
    responses: Vec<f64>,
    /// Response times of the reads that a cache answered.
    quick: Vec<f64>,
}

impl Pairs {
    /// Reads one round: sectors all over the window, and the same ones once more in another order.
    ///
    /// The first pass goes outwards and the second one inwards, so that the arm has short ways, and
    /// the times between two reads of a sector are all different: equal ones could hide any phase.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn round(
        &mut self,
        prober: &mut Prober<'_, '_>,
        phase: &str,
        share: f64,
    ) -> Result<Vec<Probe>, BenchError> {
        let order = order(prober);
        let probes = prober.read(phase, share, &order)?;
        self.add(&probes);
        Ok(probes)
    }

    /// Takes the pairs out of the reads of one phase.
    pub fn add(&mut self, probes: &[Probe]) {
        let fast = cache_bound(probes);
        let mut first: std::collections::HashMap<u64, &Probe> = std::collections::HashMap::new();
        let mut ends = Vec::new();
        let quick = probes.iter().map(Probe::response);
        self.quick
            .extend(quick.filter(|response| *response <= fast));
        for probe in probes {
            match first.insert(probe.address, probe) {
                None => ends.extend((probe.response() > fast).then_some(probe.end)),
                Some(earlier) if earlier.response() > fast && probe.response() > fast => {
                    self.differences.push(probe.end - earlier.end);
                    self.ratios
                        .push((probe.response() / earlier.response()).ln());
                    self.responses.push(probe.response());
                }
                Some(_) => self.cached += 1,
            }
        }
        self.rounds.push(ends);
    }

    /// What the pairs say.
    #[must_use]
    pub fn rotation(&self) -> Rotation {
        if self.differences.len() < ENOUGH {
            return Rotation::Unknown(self.differences.len());
        }
        let spectrum = folding::spectrum(&self.differences, SPEEDS);
        let Some(folding) = folding::fold_spectrum(&self.differences, &spectrum) else {
            return Rotation::Unknown(self.differences.len());
        };
        let (waking, waking_error) = self.waking(folding.frequency);
        let revolution = Revolution {
            folding,
            pairs: self.differences.len() + self.cached,
            cached: self.cached,
            common: self.common(folding.frequency),
            response: robust::median(self.responses.iter().copied()).unwrap_or(0.0),
            waking,
            waking_error,
            quick: self.quick.clone(),
            spectrum,
        };
        let chance = folding::chance(self.differences.len());
        // A platter makes random sectors wait for half a revolution on the average.
        let too_quick = revolution.response < 0.25 * revolution.period();
        // Sectors all in step with a clock would make pairs coherent, by that much squared.
        if too_quick {
            Rotation::None(revolution)
        } else if revolution.common.powi(2) > 0.5 * folding.coherence {
            Rotation::Clock(revolution)
        } else if folding.coherence >= CERTAIN.max(chance) {
            Rotation::Found(revolution)
        } else if folding.coherence >= 1.1 * chance {
            Rotation::Doubtful(revolution)
        } else {
            Rotation::None(revolution)
        }
    }

    /// The slope of the differences' misses against the logarithm of the waiting, never below 0, and its
    /// standard error; in seconds.
    fn waking(&self, frequency: f64) -> (f64, f64) {
        const NEAR: f64 = 0.05;
        let misses = self
            .differences
            .iter()
            .map(|difference| signed(difference * frequency));
        let near: Vec<(f64, f64)> = self
            .ratios
            .iter()
            .copied()
            .zip(misses)
            .filter(|(_, miss)| miss.abs() < NEAR)
            .collect();
        let slope = robust::slope_through_origin(&near).filter(|_| near.len() >= ENOUGH);
        let error = slope.and_then(|slope| robust::slope_error(&near, slope));
        match (slope, error) {
            (Some(slope), Some(error)) => (slope.max(0.0) / frequency, error / frequency),
            _ => (0.0, 0.0),
        }
    }

    fn common(&self, frequency: f64) -> f64 {
        let length = |ends: &Vec<f64>| {
            let angles = ends.iter().map(|end| end * frequency);
            angles.collect::<Resultant>().length()
        };
        self.rounds
            .iter()
            .filter(|ends| ends.len() >= ENOUGH)
            .map(length)
            .fold(0.0, f64::max)
    }
}

/// The time in seconds below which the drive's cache must have answered.
#[must_use]
pub fn cache_bound(probes: &[Probe]) -> f64 {
    let responses = robust::ascending(probes.iter().map(Probe::response));
    CACHE_SHARE * robust::quantile(&responses, 0.6).unwrap_or(0.0)
}

/// Angles at which reads ended, in revolutions since the phase began.
pub fn angles(probes: &[Probe], period: f64) -> impl Iterator<Item = (u64, f64)> {
    probes
        .iter()
        .map(move |probe| (probe.address, wrap(probe.end / period)))
}

fn order(prober: &mut Prober<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let size = window.end - window.start;
    let count = SECTORS.min((size / prober.block()) as usize).max(1) as u64;
    let mut first: Vec<u64> = (0..count)
        .rev()
        .map(|part| {
            let begin =
                window.start + (u128::from(size) * u128::from(part) / u128::from(count)) as u64;
            prober.anywhere(&(begin..begin + (size / count).max(1)))
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
pub fn find(prober: &mut Prober<'_, '_>, share: f64) -> Result<Option<Revolution>, BenchError> {
    const ROUNDS: u32 = 3;
    const BEYOND_DOUBT: f64 = 0.85;
    let mut pairs = Pairs::default();
    let mut rotation = Rotation::Unknown(0);
    for _ in 0..ROUNDS {
        pairs.round(prober, "speed of rotation", share / f64::from(ROUNDS))?;
        rotation = pairs.rotation();
        let clear = match &rotation {
            Rotation::Found(found) => found.folding.coherence >= BEYOND_DOUBT,
            Rotation::None(_) | Rotation::Clock(_) => true,
            Rotation::Doubtful(_) | Rotation::Unknown(_) => false,
        };
        if clear || prober.over() {
            break;
        }
    }
    if let Some(verdict) = findings::verdict(&rotation) {
        prober.bench.verdict(verdict);
    }
    match rotation {
        Rotation::Found(revolution) | Rotation::Doubtful(revolution) => {
            findings::report(prober, &revolution);
            Ok(Some(revolution))
        }
        Rotation::None(_) | Rotation::Clock(_) | Rotation::Unknown(_) => Ok(None),
    }
}
