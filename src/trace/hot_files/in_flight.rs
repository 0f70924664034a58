//! Bios between their start and their completion.
//!
//! The completion of a request names a range of sectors. Everything that was queued in that range is
//! complete then, however it was merged or split on the way. No other event is needed.

use std::collections::BTreeMap;

use super::piece::Transfer;
use crate::trace::events::event::DeviceNumber;

/// No machine has more bios in flight: the rest are left over from lost events.
const MAX_BIOS: usize = 1 << 18;

/// Drive, direction, first sector, and a number that orders bios of the same sector by age.
type BioKey = (DeviceNumber, Transfer, u64, u64);

/// A range of sectors of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectorRange {
    pub(super) drive: DeviceNumber,
    pub(super) transfer: Transfer,
    pub(super) sector: u64,
    pub(super) sectors: u64,
}

/// The bios in flight, with what is known about each.
#[derive(Debug)]
pub(super) struct BiosInFlight<T> {
    bios: BTreeMap<BioKey, (u64, T)>,
    next_number: u64,
}

impl<T> Default for BiosInFlight<T> {
    fn default() -> Self {
        Self {
            bios: BTreeMap::new(),
            next_number: 0,
        }
    }
}

impl<T: Copy> BiosInFlight<T> {
    /// Adds a bio.
    pub(super) fn queue(&mut self, range: SectorRange, about: T) {
        if self.bios.len() >= MAX_BIOS {
            self.bios.clear();
        }
        self.next_number += 1;
        self.insert(range, self.next_number, about);
    }

    fn insert(&mut self, range: SectorRange, number: u64, about: T) {
        let key = (range.drive, range.transfer, range.sector, number);
        self.bios.insert(key, (range.sectors, about));
    }

    /// Takes what was queued in a range out, and passes each part of it to `done`. Returns the number
    /// of sectors whose start was not recorded.
    pub(super) fn complete(
        &mut self,
        range: SectorRange,
        mut done: impl FnMut(SectorRange, T),
    ) -> u64 {
        let end = range.sector.saturating_add(range.sectors);
        let (mut position, mut unmatched) = (range.sector, 0);
        while position < end {
            let Some((key, sectors, about)) = self.find_at(range, position) else {
                let next = self.next_start(range, position, end);
                unmatched += next - position;
                position = next;
                continue;
            };
            self.bios.remove(&key);
            let (begin, number) = (key.2, key.3);
            let bio_end = begin.saturating_add(sectors);
            let part_end = bio_end.min(end);
            let part = |sector, until: u64| SectorRange {
                sector,
                sectors: until - sector,
                ..range
            };
            if begin < position {
                self.insert(part(begin, position), number, about);
            }
            if part_end < bio_end {
                self.insert(part(part_end, bio_end), number, about);
            }
            done(part(position, part_end), about);
            position = part_end;
        }
        unmatched
    }

    /// The bio that contains a sector; of those that begin there the oldest.
    fn find_at(&self, range: SectorRange, position: u64) -> Option<(BioKey, u64, T)> {
        let start = |sector, number| (range.drive, range.transfer, sector, number);
        let exact = self
            .bios
            .range(start(position, 0)..=start(position, u64::MAX))
            .next();
        let before = || {
            self.bios
                .range(start(0, 0)..start(position, 0))
                .next_back()
                .filter(|(key, (sectors, _))| key.2.saturating_add(*sectors) > position)
        };
        let (key, (sectors, about)) = exact.or_else(before)?;
        Some((*key, *sectors, *about))
    }

    /// The start of the next bio in a range, or the end of the range.
    fn next_start(&self, range: SectorRange, position: u64, end: u64) -> u64 {
        let start = |sector| (range.drive, range.transfer, sector, 0);
        self.bios
            .range(start(position)..start(end))
            .next()
            .map_or(end, |(key, _)| key.2)
    }

    /// Forgets everything: events were lost.
    pub(super) fn clear(&mut self) {
        self.bios.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(sector: u64, sectors: u64) -> SectorRange {
        SectorRange {
            drive: (8, 0),
            transfer: Transfer::Read,
            sector,
            sectors,
        }
    }

    fn complete(bios: &mut BiosInFlight<char>, over: SectorRange) -> (Vec<(u64, u64, char)>, u64) {
        let mut parts = Vec::new();
        let unmatched = bios.complete(over, |part, name| {
            parts.push((part.sector, part.sectors, name));
        });
        (parts, unmatched)
    }

    #[test]
    fn merged_request_completes_all_its_bios() {
        let mut bios = BiosInFlight::default();
        bios.queue(range(8, 8), 'b');
        bios.queue(range(0, 8), 'a');
        bios.queue(range(16, 8), 'c');
        assert_eq!(
            complete(&mut bios, range(0, 16)),
            (vec![(0, 8, 'a'), (8, 8, 'b')], 0)
        );
        assert_eq!(complete(&mut bios, range(16, 8)), (vec![(16, 8, 'c')], 0));
        assert_eq!(complete(&mut bios, range(16, 8)), (vec![], 8));
    }

    #[test]
    fn split_bio_completes_in_any_order() {
        let mut bios = BiosInFlight::default();
        bios.queue(range(0, 32), 'a');
        assert_eq!(complete(&mut bios, range(8, 8)), (vec![(8, 8, 'a')], 0));
        assert_eq!(complete(&mut bios, range(0, 8)), (vec![(0, 8, 'a')], 0));
        assert_eq!(complete(&mut bios, range(16, 16)), (vec![(16, 16, 'a')], 0));
        assert!(bios.bios.is_empty());
    }

    #[test]
    fn bios_of_one_sector_complete_oldest_first() {
        let mut bios = BiosInFlight::default();
        bios.queue(range(0, 8), 'a');
        bios.queue(range(0, 8), 'b');
        let write = SectorRange {
            transfer: Transfer::Write,
            ..range(0, 8)
        };
        bios.queue(write, 'w');
        assert_eq!(complete(&mut bios, range(0, 8)).0, [(0, 8, 'a')]);
        assert_eq!(complete(&mut bios, range(0, 8)).0, [(0, 8, 'b')]);
        assert_eq!(complete(&mut bios, write).0, [(0, 8, 'w')]);
    }

    #[test]
    fn unrecorded_part_of_request_is_counted() {
        let mut bios = BiosInFlight::default();
        bios.queue(range(8, 8), 'a');
        assert_eq!(complete(&mut bios, range(0, 24)), (vec![(8, 8, 'a')], 16));
        assert_eq!(
            complete(&mut bios, range(u64::MAX - 1, 8)),
            (vec![], 1),
            "the end must not overflow"
        );
    }

    proptest! {
        #[test]
        fn completed_and_unmatched_sectors_sum_to_request(
            queued in proptest::collection::vec((0_u64..64, 1_u64..16), 0..20),
            done in proptest::collection::vec((0_u64..64, 1_u64..32), 0..20),
        ) {
            let mut bios = BiosInFlight::default();
            for (sector, sectors) in &queued {
                bios.queue(range(*sector, *sectors), 'x');
            }
            let total: u64 = queued.iter().map(|(_, sectors)| sectors).sum();
            let mut completed = 0;
            for (sector, sectors) in done {
                let (parts, unmatched) = complete(&mut bios, range(sector, sectors));
                let matched: u64 = parts.iter().map(|part| part.1).sum();
                prop_assert_eq!(matched + unmatched, sectors);
                completed += matched;
            }
            let left: u64 = bios.bios.values().map(|(sectors, _)| sectors).sum();
            prop_assert_eq!(completed + left, total);
        }
    }
}
