//! Maps request numbers to requests: a pure function of the plan, the worker and the request's
//! number.
//!
//! No generator state depends on the order of calls. Requests are therefore the same on every
//! engine and at every queue depth, and several threads can take numbers from one counter.

#[cfg(test)]
mod tests;
mod zipf;
mod zones;

use std::sync::Arc;

use self::zipf::Zipf;
use super::plan::{AccessPattern, BlockSize, IoOperation, Plan};
use crate::stats::random::{scale_to_bound, splitmix64, unit_interval};

pub use self::zones::ZoneMap;

/// One I/O request, not yet scheduled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoRequest {
    /// Byte address on the medium.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Whether it is a write.
    pub writes: bool,
}

/// Counter-based random numbers of one request.
struct CounterRng(u64);

impl CounterRng {
    fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        splitmix64(self.0)
    }
}

/// All requests of one worker, by number.
#[derive(Debug, Clone)]
pub struct RequestSchedule {
    key: u64,
    operation: IoOperation,
    sizes: SizePattern,
    addresses: AddressPattern,
}

/// Distribution of block sizes.
#[derive(Debug, Clone, Copy)]
enum SizePattern {
    Fixed(u32),
    /// Uniform random over `count` sizes: `first`, `first + step`, ...
    Stepped {
        first: u32,
        step: u32,
        count: u64,
    },
}

/// Access pattern of one worker.
#[derive(Debug, Clone)]
enum AddressPattern {
    /// `count` offsets from `first` on, `step` apart.
    Sequential { first: u64, step: u64, count: u64 },
    /// Random multiples of `align` from `first` on at which the request ends by `end`.
    Uniform { first: u64, align: u64, end: u64 },
    /// Zipf distribution over `count` offsets, `step` apart.
    Zipf {
        first: u64,
        step: u64,
        stride: u64,
        law: Zipf,
    },
    /// `count` requests of a zone map, from request `first` on.
    Zones {
        map: ZoneMap,
        first: u64,
        count: u64,
    },
    /// Every `workers`-th address of a list, from `worker` on.
    AddressList {
        list: Arc<[u64]>,
        worker: u64,
        workers: u64,
    },
}

impl RequestSchedule {
    /// The requests of worker number `worker` of a validated plan.
    #[must_use]
    pub fn new(plan: &Plan, worker: u32) -> Self {
        Self {
            key: splitmix64(splitmix64(plan.seed) ^ u64::from(worker)),
            operation: plan.operation,
            sizes: SizePattern::new(plan),
            addresses: AddressPattern::new(plan, worker),
        }
    }

    /// Number of requests in one pass over the address list or the worker's part of the window.
    /// `None` for random patterns, which have no end.
    #[must_use]
    pub fn requests_per_pass(&self) -> Option<u64> {
        match &self.addresses {
            AddressPattern::Sequential { count, .. } | AddressPattern::Zones { count, .. } => {
                Some(*count)
            }
            AddressPattern::AddressList {
                list,
                worker,
                workers,
            } => Some(
                (list.len() as u64)
                    .saturating_sub(*worker)
                    .div_ceil(*workers),
            ),
            AddressPattern::Uniform { .. } | AddressPattern::Zipf { .. } => None,
        }
    }

    /// Whether requests end with the first pass, regardless of the limits.
    #[must_use]
    pub fn ends_after_one_pass(&self) -> bool {
        matches!(
            self.addresses,
            AddressPattern::AddressList { .. } | AddressPattern::Zones { .. }
        )
    }

    /// The zone map and the number of this worker's first request in it; `None` without zones.
    #[must_use]
    pub fn zone_map(&self) -> Option<(ZoneMap, u64)> {
        match &self.addresses {
            AddressPattern::Zones { map, first, .. } => Some((*map, *first)),
            _ => None,
        }
    }

    /// The request with that number; a sequence restarts after its end. `None` where there are no
    /// requests at all.
    #[inline(always)]
    #[must_use]
    pub fn request(&self, number: u64) -> Option<IoRequest> {
        let mut draws = CounterRng(splitmix64(self.key.wrapping_add(number)));
        let writes = match self.operation {
            IoOperation::Read => false,
            IoOperation::Write => true,
            IoOperation::Mixed { reads } => unit_interval(draws.next_word()) >= reads,
        };
        let bytes = self.sizes.draw_size(&mut draws);
        Some(IoRequest {
            offset: self.addresses.draw_offset(number, bytes, &mut draws)?,
            length: bytes,
            writes,
        })
    }
}

impl SizePattern {
    fn new(plan: &Plan) -> Self {
        match plan.block_size {
            BlockSize::Fixed(size) => Self::Fixed(size),
            BlockSize::Range(from, to) => {
                let step = u32::try_from(plan.alignment).unwrap_or(u32::MAX).max(1);
                let first = from.checked_next_multiple_of(step).unwrap_or(from).max(1);
                let count = u64::from(to.saturating_sub(first) / step) + 1;
                Self::Stepped { first, step, count }
            }
        }
    }

    #[inline(always)]
    fn draw_size(self, draws: &mut CounterRng) -> u32 {
        match self {
            Self::Fixed(size) => size,
            Self::Stepped { first, step, count } => {
                first + step * scale_to_bound(draws.next_word(), count) as u32
            }
        }
    }
}

impl AddressPattern {
    fn new(plan: &Plan, worker: u32) -> Self {
        let align = plan.alignment.max(1);
        let largest = u64::from(plan.block_size.max_bytes());
        let end = plan.window.end;
        let first = plan.window.start.next_multiple_of(align);
        let step = largest.next_multiple_of(align);
        let count = end
            .checked_sub(first + largest)
            .map_or(0, |room| room / step + 1);
        let (worker, workers) = (u64::from(worker), u64::from(plan.workers.max(1)));
        match &plan.pattern {
            AccessPattern::Sequential => {
                let part = |index: u64| {
                    (u128::from(count) * u128::from(index) / u128::from(workers)) as u64
                };
                Self::Sequential {
                    first: first + part(worker) * step,
                    step,
                    count: part(worker + 1) - part(worker),
                }
            }
            AccessPattern::Zones { zones, requests } => {
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
            AccessPattern::Random => Self::Uniform { first, align, end },
            AccessPattern::Zipf { theta } => Self::Zipf {
                first,
                step,
                stride: coprime_stride(count),
                law: Zipf::new(count, *theta),
            },
            AccessPattern::AddressList(list) => Self::AddressList {
                list: Arc::clone(list),
                worker,
                workers,
            },
        }
    }

    #[inline(always)]
    fn draw_offset(&self, number: u64, bytes: u32, draws: &mut CounterRng) -> Option<u64> {
        match self {
            Self::Sequential { count: 0, .. } => None,
            Self::Sequential { first, step, count } => Some(first + number % count * step),
            Self::Zones { map, first, count } => match number < *count {
                true => map.request_address(first + number),
                false => None,
            },
            Self::Uniform { first, align, end } => {
                let room = end.checked_sub(first + u64::from(bytes))?;
                Some(first + scale_to_bound(draws.next_word(), room / align + 1) * align)
            }
            Self::Zipf {
                first,
                step,
                stride,
                law,
            } => {
                let rank = law.draw_rank(|| unit_interval(draws.next_word()))?;
                let position = u128::from(rank) * u128::from(*stride) % u128::from(law.count());
                Some(first + position as u64 * step)
            }
            Self::AddressList {
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

/// A stride that visits each of `count` offsets once and scatters neighbours: near the golden
/// section of `count`, and coprime to it.
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
