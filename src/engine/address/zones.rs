//! Ascending requests through equal zones of a window.

use crate::engine::plan::Plan;

/// Equal zones of a plan's window and the number of requests at the start of each.
///
/// All results are computed from the number of a zone or of a request, so that a plan over many
/// zones needs no list of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneMap {
    /// Address of the first block.
    first_address: u64,
    /// Block size in bytes.
    block_bytes: u64,
    /// Total number of blocks in all zones.
    block_count: u64,
    zones: u64,
    requests: u64,
}

impl ZoneMap {
    /// Places at most this many zones and requests in the window of a plan: no more zones than
    /// requests, no block twice, and either all blocks of the window or the same number in each
    /// zone.
    #[must_use]
    pub fn new(plan: &Plan, zones: u64, requests: u64) -> Self {
        let align = plan.alignment.max(1);
        let largest = u64::from(plan.block_size.max_bytes());
        let first = plan.window.start.next_multiple_of(align);
        let step = largest.next_multiple_of(align);
        let blocks = plan
            .window
            .end
            .checked_sub(first.saturating_add(largest))
            .map_or(0, |room| room / step + 1);
        let requests = requests.min(blocks);
        let zones = zones.min(requests).max(1);
        // Zones that are measured in part have equal lengths and equal numbers of requests, which
        // fio can reproduce. Zones that are measured in full leave no block out.
        let (blocks, requests) = match requests < blocks {
            true => (blocks / zones * zones, requests / zones * zones),
            false => (blocks, requests),
        };
        Self {
            first_address: first,
            block_bytes: step,
            block_count: blocks,
            zones,
            requests,
        }
    }

    /// Number of zones, at least 1.
    #[must_use]
    pub fn zones(&self) -> u64 {
        self.zones
    }

    /// Total number of requests in all zones.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Number of requests before this zone; the total for the number of zones.
    #[must_use]
    pub fn requests_before(&self, zone: u64) -> u64 {
        part_begin(self.requests, zone, self.zones)
    }

    /// Address of the first block of a zone.
    #[must_use]
    pub fn zone_begin(&self, zone: u64) -> u64 {
        self.first_address + part_begin(self.block_count, zone, self.zones) * self.block_bytes
    }

    /// The zone that contains an address.
    #[must_use]
    pub fn zone_of_address(&self, address: u64) -> u64 {
        // The last zone that begins at or before this block.
        let block = address.saturating_sub(self.first_address) / self.block_bytes;
        let next = (u128::from(block) + 1) * u128::from(self.zones);
        let zone = next.div_ceil(u128::from(self.block_count.max(1))) as u64 - 1;
        zone.min(self.zones - 1)
    }

    /// Address of a request; `None` after the last.
    #[inline(always)]
    #[must_use]
    pub fn request_address(&self, number: u64) -> Option<u64> {
        if number >= self.requests {
            return None;
        }
        // The last zone whose first request has this number or a lower one.
        let next = (u128::from(number) + 1) * u128::from(self.zones);
        let zone = next.div_ceil(u128::from(self.requests)) as u64 - 1;
        let within = number - self.requests_before(zone);
        Some(self.zone_begin(zone) + within * self.block_bytes)
    }
}

/// Start of part `number` when `whole` is divided into `parts` parts.
fn part_begin(whole: u64, number: u64, parts: u64) -> u64 {
    (u128::from(whole) * u128::from(number) / u128::from(parts)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::plan::AccessPattern;

    fn zone_map(blocks: u64, zones: u64, requests: u64) -> ZoneMap {
        let window = 100..8192 + blocks * 4096 + 5;
        ZoneMap::new(
            &Plan::single_depth_reads(AccessPattern::Sequential, 4096, window),
            zones,
            requests,
        )
    }

    proptest! {
        #[test]
        fn zone_map_requests_ascend_without_duplicates(
            blocks in 1_u64..700,
            zones in 1_u64..120,
            requests in 1_u64..800,
        ) {
            let map = zone_map(blocks, zones, requests);
            let all: Vec<u64> = (0..map.requests()).filter_map(|number| map.request_address(number)).collect();
            prop_assert_eq!(all.len() as u64, map.requests());
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", all);
            for zone in 0..map.zones() {
                let own = map.requests_before(zone)..map.requests_before(zone + 1);
                prop_assert!(!own.is_empty());
                prop_assert_eq!(map.request_address(own.start), Some(map.zone_begin(zone)));
                for number in own.clone() {
                    prop_assert_eq!(map.request_address(number).map(|at| map.zone_of_address(at)), Some(zone));
                }
                prop_assert!(map.request_address(own.end - 1) < Some(map.zone_begin(zone + 1)));
            }
            prop_assert_eq!(map.request_address(map.requests()), None);
            prop_assert!(map.zone_begin(map.zones()) <= 8192 + blocks * 4096);
        }

        #[test]
        fn zone_map_with_request_per_block_covers_every_block(blocks in 1_u64..500, zones in 1_u64..120) {
            let map = zone_map(blocks, zones, u64::MAX);
            prop_assert_eq!(map.requests(), map.block_count);
            let step = |number: u64| map.request_address(number).unwrap_or(0);
            prop_assert!((1..map.requests()).all(|number| step(number) == step(number - 1) + 4096));
        }
    }
}
