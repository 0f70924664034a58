//! Which request comes when: a pure function of the plan, the worker and the request's number.
//!
//! Nothing is drawn in order, so that requests are the same on every engine and at every depth,
//! and several threads can take their numbers from one counter.

#[cfg(test)]
mod tests;
mod zipf;
mod zones;

use std::sync::Arc;

pub use self::zones::ZoneMap;

use self::zipf::Zipf;
use super::plan::{BlockSize, Operation, Pattern, Plan};
use crate::drive::random::{below, scatter, unit};

/// One request, before it has a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Job {
    /// Byte address on the medium.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub writes: bool,
}

/// The random words of one request.
struct Draws(u64);

impl Draws {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scatter(self.0)
    }
}

/// All requests of one worker, by number.
#[derive(Debug, Clone)]
pub struct Schedule {
    key: u64,
    operation: Operation,
    sizes: Sizes,
    places: Places,
}

/// How long requests are.
#[derive(Debug, Clone, Copy)]
enum Sizes {
    Fixed(u32),
    /// `first`, `first + step`, ... , `count` of them.
    Steps {
        first: u32,
        step: u32,
        count: u64,
    },
}

/// Where requests go.
#[derive(Debug, Clone)]
enum Places {
    /// `count` places from `first` on, `step` apart.
    Ascending { first: u64, step: u64, count: u64 },
    /// Any multiple of `align` from `first` on at which the request ends by `end`.
    Uniform { first: u64, align: u64, end: u64 },
    /// A few of `count` places, `step` apart, get most.
    Skewed {
        first: u64,
        step: u64,
        stride: u64,
        law: Zipf,
    },
    /// `count` requests of a zone map, from number `first` on.
    Zones {
        map: ZoneMap,
        first: u64,
        count: u64,
    },
    /// Every `workers`-th of a list, from `worker` on.
    Listed {
        list: Arc<[u64]>,
        worker: u64,
        workers: u64,
    },
}

impl Schedule {
    /// The requests of worker number `worker` of a plan that was validated.
    #[must_use]
    pub fn new(plan: &Plan, worker: u32) -> Self {
        Self {
            key: scatter(scatter(plan.seed) ^ u64::from(worker)),
            operation: plan.operation,
            sizes: Sizes::new(plan),
            places: Places::new(plan, worker),
        }
    }

    /// How many requests one pass has: over the list, or the worker's part of the window. `None`
    /// where requests are drawn and there is no end.
    #[must_use]
    pub fn pass(&self) -> Option<u64> {
        match &self.places {
            Places::Ascending { count, .. } | Places::Zones { count, .. } => Some(*count),
            Places::Listed {
                list,
                worker,
                workers,
            } => Some(
                (list.len() as u64)
                    .saturating_sub(*worker)
                    .div_ceil(*workers),
            ),
            Places::Uniform { .. } | Places::Skewed { .. } => None,
        }
    }

    /// Whether requests end with the first pass, whatever the limits say.
    #[must_use]
    pub fn ends_with_pass(&self) -> bool {
        matches!(self.places, Places::Listed { .. } | Places::Zones { .. })
    }

    /// The zones, and the number of this worker's first request in them; `None` without zones.
    #[must_use]
    pub fn zones(&self) -> Option<(ZoneMap, u64)> {
        match &self.places {
            Places::Zones { map, first, .. } => Some((*map, *first)),
            _ => None,
        }
    }

    /// The request of that number; a sequence begins again after its end. `None` where there is
    /// none at all.
    #[inline]
    #[must_use]
    pub fn job(&self, number: u64) -> Option<Job> {
        let mut draws = Draws(scatter(self.key.wrapping_add(number)));
        let writes = match self.operation {
            Operation::Read => false,
            Operation::Write => true,
            Operation::Mixed { reads } => unit(draws.word()) >= reads,
        };
        let bytes = self.sizes.draw(&mut draws);
        Some(Job {
            address: self.places.draw(number, bytes, &mut draws)?,
            bytes,
            writes,
        })
    }
}

impl Sizes {
    fn new(plan: &Plan) -> Self {
        match plan.block_size {
            BlockSize::Fixed(size) => Self::Fixed(size),
            BlockSize::Range(from, to) => {
                let step = u32::try_from(plan.align).unwrap_or(u32::MAX).max(1);
                let first = from.checked_next_multiple_of(step).unwrap_or(from).max(1);
                let count = u64::from(to.saturating_sub(first) / step) + 1;
                Self::Steps { first, step, count }
            }
        }
    }

    #[inline]
    fn draw(self, draws: &mut Draws) -> u32 {
        match self {
            Self::Fixed(size) => size,
            Self::Steps { first, step, count } => first + step * below(draws.word(), count) as u32,
        }
    }
}

impl Places {
    fn new(plan: &Plan, worker: u32) -> Self {
        let align = plan.align.max(1);
        let largest = u64::from(plan.block_size.largest());
        let end = plan.window.end;
        let first = plan.window.start.next_multiple_of(align);
        let step = largest.next_multiple_of(align);
        let count = end
            .checked_sub(first + largest)
            .map_or(0, |room| room / step + 1);
        let (worker, workers) = (u64::from(worker), u64::from(plan.workers.max(1)));
        match &plan.pattern {
            Pattern::Sequential => {
                let part = |index: u64| {
                    (u128::from(count) * u128::from(index) / u128::from(workers)) as u64
                };
                Self::Ascending {
                    first: first + part(worker) * step,
                    step,
                    count: part(worker + 1) - part(worker),
                }
            }
            Pattern::Zones { zones, requests } => {
                let map = ZoneMap::new(plan, *zones, *requests);
                let part = |index: u64| {
                    (u128::from(map.requests()) * u128::from(index) / u128::from(workers)) as u64
                };
                Self::Zones {
                    map,
                    first: part(worker),
                    count: part(worker + 1) - part(worker),
                }
            }
            Pattern::Random => Self::Uniform { first, align, end },
            Pattern::Zipf { theta } => Self::Skewed {
                first,
                step,
                stride: coprime_stride(count),
                law: Zipf::new(count, *theta),
            },
            Pattern::Addresses(list) => Self::Listed {
                list: Arc::clone(list),
                worker,
                workers,
            },
        }
    }

    #[inline]
    fn draw(&self, number: u64, bytes: u32, draws: &mut Draws) -> Option<u64> {
        match self {
            Self::Ascending { count: 0, .. } => None,
            Self::Ascending { first, step, count } => Some(first + number % count * step),
            Self::Zones { map, first, count } => match number < *count {
                true => map.address(first + number),
                false => None,
            },
            Self::Uniform { first, align, end } => {
                let room = end.checked_sub(first + u64::from(bytes))?;
                Some(first + below(draws.word(), room / align + 1) * align)
            }
            Self::Skewed {
                first,
                step,
                stride,
                law,
            } => {
                let rank = law.draw(|| unit(draws.word()))?;
                let place = u128::from(rank) * u128::from(*stride) % u128::from(law.count());
                Some(first + place as u64 * step)
            }
            Self::Listed {
                list,
                worker,
                workers,
            } => {
                let index = number.checked_mul(*workers)?.checked_add(*worker)?;
                list.get(usize::try_from(index).ok()?).copied()
            }
        }
    }
}

/// A stride that visits each of `count` places once and puts neighbours far apart: near the
/// golden section of the whole, without a common divisor.
fn coprime_stride(count: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (count as f64 * 0.618_033_988_749_895) as u64;
    (golden.max(1)..)
        .find(|stride| divisor(*stride, count) <= 1)
        .unwrap_or(1)
}
