//! Sweeps in several rounds: every point is measured once in each round, in an order that is drawn
//! anew, so that what a drive does of its own (heat, caches, other users) does not favour a point.
//!
//! Points are compared round by round. A best one is named only where the measurements tell it from the
//! others: first a permutation test over all points (is there any difference at all?), then a
//! paired comparison of the logarithms across rounds (Box, Hunter, Hunter, Statistics for
//! Experimenters, 2nd edition, chapters 3 and 4).

use crate::drive::random::Random;
use crate::session::document::{Figure, Unit};
use crate::stats::confidence::{Estimate, independent};

#[cfg(test)]
mod tests;

/// Rounds of a sweep: the 95 % interval of four values is 1.6 of their standard deviations wide on
/// either side, that of three 2.5.
pub const ROUNDS: usize = 4;
/// Permutations that are drawn.
const PERMUTATIONS: u32 = 2000;
/// So small a share of the permutations may make as large a difference as was measured.
const SIGNIFICANT: f64 = 0.01;

/// What was measured, for each point one value per round.
#[derive(Debug, Clone)]
pub struct Rounds {
    values: Vec<Vec<f64>>,
    seed: u64,
}

/// Why no point is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBest {
    /// The sweep ended before every point was measured twice.
    TooFewRounds,
    /// All differences are such as chance makes.
    NoDifference,
    /// These two points cannot be told apart.
    NotSeparated(usize, usize),
}

/// A quotient and its 95 % limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quotient {
    /// Geometric mean of the rounds' quotients.
    pub value: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

impl Quotient {
    /// As a metric.
    #[must_use]
    pub fn figure(self, name: &str) -> Figure {
        Figure::new(name, self.value, Unit::Ratio).within(self.low, self.high)
    }

    /// Whether the two cannot be told apart.
    #[must_use]
    pub fn may_be_one(self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }
}

impl Rounds {
    /// Of so many points.
    #[must_use]
    pub fn new(points: usize, seed: u64) -> Self {
        Self {
            values: vec![Vec::with_capacity(ROUNDS); points],
            seed,
        }
    }

    /// The points in the order in which they are to be measured, round after round.
    #[must_use]
    pub fn order(&self, rounds: usize) -> Vec<usize> {
        let mut random = Random::new(self.seed);
        let mut order = Vec::with_capacity(rounds * self.values.len());
        for _ in 0..rounds {
            let mut round: Vec<usize> = (0..self.values.len()).collect();
            shuffle(&mut round, &mut random);
            order.append(&mut round);
        }
        order
    }

    /// Adds the value of the next round of a point.
    pub fn add(&mut self, point: usize, value: f64) {
        self.values[point].push(value);
    }

    /// Values of a point.
    #[must_use]
    pub fn of(&self, point: usize) -> &[f64] {
        &self.values[point]
    }

    /// Mean of a point; `None` before its first round.
    #[must_use]
    pub fn mean(&self, point: usize) -> Option<f64> {
        let values = self.of(point);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Mean of a point as a metric, with its 95 % interval from two rounds on.
    #[must_use]
    pub fn figure(&self, point: usize, name: &str, unit: Unit) -> Option<Figure> {
        let figure = Figure::new(name, self.mean(point)?, unit)
            .from_observations(self.of(point).len() as u64);
        Some(
            match independent(self.of(point)).and_then(|mean| mean.limits()) {
                Some([low, high]) => figure.within(low.max(0.0), high),
                None => figure,
            },
        )
    }

    /// One point as a multiple of another, by the rounds that both have; `None` for fewer than two.
    #[must_use]
    pub fn quotient(&self, of: usize, to: usize) -> Option<Quotient> {
        let pairs = self.of(of).iter().zip(self.of(to));
        let logarithms: Vec<f64> = pairs.map(|(of, to)| (of / to).ln()).collect();
        let estimate: Estimate = independent(&logarithms)?;
        let [low, high] = estimate.limits()?;
        let quotient = Quotient {
            value: estimate.mean.exp(),
            low: low.exp(),
            high: high.exp(),
        };
        quotient.value.is_finite().then_some(quotient)
    }

    /// The first point that is as good as the highest (at least `as_good` of it, a share), where all
    /// points before it are lower, and some point is worse by more than that.
    ///
    /// # Errors
    /// Why there is no such point.
    pub fn first_as_good(&self, as_good: f64) -> Result<usize, NoBest> {
        if self.complete_rounds() < 2 {
            return Err(NoBest::TooFewRounds);
        }
        if !self.differ() {
            return Err(NoBest::NoDifference);
        }
        let points = 0..self.values.len();
        let mean = |point: &usize| self.mean(*point).unwrap_or(0.0);
        // Of equal ones the first: the last of the reversed ones.
        let highest = points
            .clone()
            .rev()
            .max_by(|one, other| mean(one).total_cmp(&mean(other)))
            .ok_or(NoBest::TooFewRounds)?;
        let is_as_good = |point: usize| {
            let quotient = self.quotient(point, highest);
            point == highest || quotient.is_some_and(|quotient| quotient.low >= as_good)
        };
        let first = points
            .clone()
            .find(|point| is_as_good(*point))
            .ok_or(NoBest::NoDifference)?;
        let is_lower = |point: usize| {
            let quotient = self.quotient(point, first);
            quotient.is_some_and(|quotient| quotient.high < 1.0)
        };
        // Where every point is as good as the first, it is no better than they are.
        let is_worse = |point: usize| {
            let quotient = self.quotient(point, first);
            quotient.is_some_and(|quotient| quotient.high < 1.0 && quotient.value < as_good)
        };
        match (0..first).rev().find(|point| !is_lower(*point)) {
            Some(point) => Err(NoBest::NotSeparated(point, first)),
            None if points.clone().any(is_worse) => Ok(first),
            None => Err(NoBest::NoDifference),
        }
    }

    fn complete_rounds(&self) -> usize {
        self.values.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Whether the points differ by more than chance: of the permutations of each round's values
    /// hardly one makes the means of the points as different as they are.
    #[must_use]
    pub fn differ(&self) -> bool {
        let rounds = self.complete_rounds();
        let mut by_round: Vec<Vec<f64>> = (0..rounds)
            .map(|round| self.values.iter().map(|point| point[round].ln()).collect())
            .collect();
        let measured = spread(&by_round);
        // Equal but for the rounding of the arithmetic.
        if !measured.is_finite() || measured < 1e-18 {
            return false;
        }
        let mut random = Random::new(!self.seed);
        let mut as_large = 0_u32;
        for _ in 0..PERMUTATIONS {
            for round in &mut by_round {
                shuffle(round, &mut random);
            }
            as_large += u32::from(spread(&by_round) >= measured * (1.0 - 1e-9));
        }
        f64::from(as_large + 1) / f64::from(PERMUTATIONS + 1) < SIGNIFICANT
    }
}

/// Variance of the points' sums over the rounds.
fn spread(by_round: &[Vec<f64>]) -> f64 {
    let points = by_round.first().map_or(0, Vec::len);
    let sum = |point: usize| by_round.iter().map(|round| round[point]).sum::<f64>();
    let sums: Vec<f64> = (0..points).map(sum).collect();
    let mean = sums.iter().sum::<f64>() / points.max(1) as f64;
    let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    squares / points.max(1) as f64
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}
