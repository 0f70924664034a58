//! What is in flight, by its range of sectors.
//!
//! The kernel merges and splits on the way, and a later event names a range of sectors. Everything that was
//! begun in that range belongs to it, however it was merged or split; no other event is needed.

use std::collections::BTreeMap;

use super::request::MatchKind;
use crate::trace::events::event::DeviceNumber;

/// No machine has more in flight: the rest is left over from lost events.
const MAX_ENTRIES: usize = 1 << 18;

/// Drive and kind of the operation.
pub(crate) type Lane = (DeviceNumber, MatchKind);

/// A range of sectors. Ranges of different lanes have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectorRange {
    /// The drive and the operation.
    pub(crate) lane: Lane,
    /// First sector.
    pub(crate) sector: u64,
    /// Number of sectors.
    pub(crate) sectors: u64,
}

impl SectorRange {
    /// The sector behind the last.
    pub(crate) fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }
}

/// What was begun in a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun<T> {
    /// The range, or the part of it that is left.
    pub(crate) range: SectorRange,
    /// Whether it is a part of what was begun.
    pub(crate) is_part: bool,
    /// What is known about it.
    pub(crate) value: T,
}

/// Lane, first sector, and a number that orders entries of the same sector by age.
type Key = (Lane, u64, u64);

/// Ranges in flight, with what is known about each.
#[derive(Debug)]
pub(crate) struct RangeMap<T> {
    entries: BTreeMap<Key, Begun<T>>,
    next_number: u64,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            next_number: 0,
        }
    }
}

impl<T: Clone> RangeMap<T> {
    /// Adds what begins in a range.
    pub(crate) fn begin(&mut self, range: SectorRange, value: T) {
        if self.entries.len() >= MAX_ENTRIES {
            self.entries.clear();
        }
        self.next_number += 1;
        let begun = Begun {
            range,
            is_part: false,
            value,
        };
        self.put(self.next_number, begun);
    }

    fn put(&mut self, number: u64, begun: Begun<T>) {
        let key = (begun.range.lane, begun.range.sector, number);
        self.entries.insert(key, begun);
    }

    /// The entry at the begin of a range: of those that begin there the oldest of the same length, else the
    /// oldest; otherwise one that contains it.
    fn key_at(&self, range: SectorRange) -> Option<Key> {
        let start = |sector, number| (range.lane, sector, number);
        let exact = || {
            self.entries
                .range(start(range.sector, 0)..=start(range.sector, u64::MAX))
        };
        let same = exact().find(|(_, begun)| begun.range.sectors == range.sectors);
        let before = || {
            let mut before = self.entries.range(start(0, 0)..start(range.sector, 0));
            before
                .next_back()
                .filter(|(_, begun)| begun.range.end() > range.sector)
        };
        let found = same.or_else(|| exact().next()).or_else(before);
        found.map(|(key, _)| *key)
    }

    /// What is known about the entry at the begin of a range.
    pub(crate) fn at_mut(&mut self, range: SectorRange) -> Option<&mut T> {
        let key = self.key_at(range)?;
        self.entries.get_mut(&key).map(|begun| &mut begun.value)
    }

    /// Takes the entry at the begin of a range out, also where it is longer or shorter.
    pub(crate) fn take_at(&mut self, range: SectorRange) -> Option<Begun<T>> {
        self.entries.remove(&self.key_at(range)?)
    }

    /// Takes what was begun in a range out, and passes each part of it to `each`. Returns the number of sectors
    /// whose begin was not recorded.
    pub(crate) fn take(&mut self, range: SectorRange, mut each: impl FnMut(Begun<T>)) -> u64 {
        let (mut position, mut missing) = (range.sector, 0);
        while position < range.end() {
            let rest = SectorRange {
                sector: position,
                sectors: range.end() - position,
                ..range
            };
            if let Some(key) = self.key_at(rest) {
                position = self.cut(key, rest, &mut each);
            } else {
                let next = self.next_start(rest);
                missing += next - position;
                position = next;
            }
        }
        missing
    }

    /// Takes the part of an entry in a range out and puts the others back. Returns where it ends.
    fn cut(&mut self, key: Key, range: SectorRange, each: &mut impl FnMut(Begun<T>)) -> u64 {
        let Some(begun) = self.entries.remove(&key) else {
            return range.end();
        };
        let end = begun.range.end().min(range.end());
        let part = |sector, end: u64| Begun {
            range: SectorRange {
                sector,
                sectors: end - sector,
                ..range
            },
            is_part: begun.is_part || end - sector < begun.range.sectors,
            value: begun.value.clone(),
        };
        if begun.range.sector < range.sector {
            self.put(key.2, part(begun.range.sector, range.sector));
        }
        if end < begun.range.end() {
            self.put(key.2, part(end, begun.range.end()));
        }
        each(part(range.sector, end));
        end
    }

    /// The start of the next entry in a range, or the end of the range.
    fn next_start(&self, range: SectorRange) -> u64 {
        let start = |sector| (range.lane, sector, 0);
        let mut following = self.entries.range(start(range.sector)..start(range.end()));
        following.next().map_or(range.end(), |(key, _)| key.1)
    }

    /// What is known about all, unordered.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|begun| &begun.value)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::requests::RequestOperation;
    use proptest::prelude::*;

    fn range(sector: u64, sectors: u64) -> SectorRange {
        SectorRange {
            lane: ((8, 0), MatchKind::DataOperation(RequestOperation::Read)),
            sector,
            sectors,
        }
    }

    /// Parts with their first sector, length and name, and the sectors without one.
    fn take(map: &mut RangeMap<char>, over: SectorRange) -> (Vec<(u64, u64, char)>, u64) {
        let mut parts = Vec::new();
        let missing = map.take(over, |begun| {
            parts.push((begun.range.sector, begun.range.sectors, begun.value));
        });
        (parts, missing)
    }

    #[test]
    fn range_takes_what_was_begun_in_it_merged_or_split() {
        let mut map = RangeMap::default();
        for (sector, sectors, name) in [(8, 8, 'b'), (0, 8, 'a'), (16, 32, 'c'), (0, 8, 'd')] {
            map.begin(range(sector, sectors), name);
        }
        let write = SectorRange {
            lane: ((8, 0), MatchKind::DataOperation(RequestOperation::Write)),
            ..range(0, 8)
        };
        map.begin(write, 'w');
        assert_eq!(
            take(&mut map, range(0, 16)),
            (vec![(0, 8, 'a'), (8, 8, 'b')], 0)
        );
        assert_eq!(
            take(&mut map, range(0, 8)),
            (vec![(0, 8, 'd')], 0),
            "the oldest first"
        );
        assert_eq!(take(&mut map, range(24, 8)), (vec![(24, 8, 'c')], 0));
        assert_eq!(
            take(&mut map, range(8, 16)),
            (vec![(16, 8, 'c')], 8),
            "8 were not recorded"
        );
        assert!(map.take_at(range(32, 99)).unwrap().is_part);
        assert_eq!(take(&mut map, write).0, [(0, 8, 'w')]);
        assert_eq!(map.len(), 0);
        assert_eq!(
            take(&mut map, range(u64::MAX - 1, 8)),
            (vec![], 1),
            "the end must not overflow"
        );
    }

    #[test]
    fn of_ranges_with_the_same_begin_the_one_of_the_same_length_is_taken() {
        let mut map = RangeMap::default();
        map.begin(range(0, 8), 'a');
        map.begin(range(0, 16), 'b');
        assert_eq!(take(&mut map, range(0, 16)).0, [(0, 16, 'b')]);
        assert_eq!(map.at_mut(range(4, 1)), Some(&mut 'a'));
    }

    proptest! {
        #[test]
        fn taken_and_missing_sectors_sum_to_range(
            begun in proptest::collection::vec((0_u64..64, 1_u64..16), 0..20),
            done in proptest::collection::vec((0_u64..64, 1_u64..32), 0..20),
        ) {
            let mut map = RangeMap::default();
            for (sector, sectors) in &begun {
                map.begin(range(*sector, *sectors), 'x');
            }
            let total: u64 = begun.iter().map(|(_, sectors)| sectors).sum();
            let mut completed = 0;
            for (sector, sectors) in done {
                let (parts, missing) = take(&mut map, range(sector, sectors));
                let taken: u64 = parts.iter().map(|part| part.1).sum();
                prop_assert_eq!(taken + missing, sectors);
                completed += taken;
            }
            let left: u64 = map.entries.values().map(|begun| begun.range.sectors).sum();
            prop_assert_eq!(completed + left, total);
        }
    }
}
