//! What waits for its next event, by device, kind and sector.

use std::collections::HashMap;
use std::hash::Hash;

/// More than this cannot be under way on any machine: the rest are remains of lost events.
const MOST: usize = 1 << 18;

/// A map from keys to any number of values, the oldest first. Several requests may have the same
/// sector at once; most have their own, and cost no allocation.
#[derive(Debug)]
pub(super) struct Pending<K, V> {
    entries: HashMap<K, Entry<V>>,
    count: usize,
}

#[derive(Debug)]
struct Entry<V> {
    first: V,
    others: Vec<V>,
}

impl<K, V> Default for Pending<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            count: 0,
        }
    }
}

impl<K: Eq + Hash + Copy, V> Pending<K, V> {
    /// Adds a value; false when there is no room.
    pub(super) fn push(&mut self, key: K, value: V) -> bool {
        if self.count >= MOST {
            return false;
        }
        self.count += 1;
        match self.entries.get_mut(&key) {
            Some(entry) => entry.others.push(value),
            None => {
                let entry = Entry {
                    first: value,
                    others: Vec::new(),
                };
                self.entries.insert(key, entry);
            }
        }
        true
    }

    /// The oldest value that fits.
    pub(super) fn find(&mut self, key: K, fits: impl Fn(&V) -> bool) -> Option<&mut V> {
        let entry = self.entries.get_mut(&key)?;
        std::iter::once(&mut entry.first)
            .chain(&mut entry.others)
            .find(|value| fits(value))
    }

    /// Takes out the oldest value that fits.
    pub(super) fn take(&mut self, key: K, fits: impl Fn(&V) -> bool) -> Option<V> {
        let entry = self.entries.get_mut(&key)?;
        let taken = if fits(&entry.first) {
            if entry.others.is_empty() {
                self.entries.remove(&key)?.first
            } else {
                std::mem::replace(&mut entry.first, entry.others.remove(0))
            }
        } else {
            let index = entry.others.iter().position(fits)?;
            entry.others.remove(index)
        };
        self.count -= 1;
        Some(taken)
    }

    /// All, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries
            .values()
            .flat_map(|entry| std::iter::once(&entry.first).chain(&entry.others))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Keeps only what fits.
    pub(super) fn retain(&mut self, fits: impl Fn(&V) -> bool) {
        self.entries.retain(|_, entry| {
            entry.others.retain(&fits);
            if fits(&entry.first) {
                return true;
            }
            if entry.others.is_empty() {
                return false;
            }
            entry.first = entry.others.remove(0);
            true
        });
        self.count = self
            .entries
            .values()
            .map(|entry| 1 + entry.others.len())
            .sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_come_out_as_they_went_in() {
        let mut pending = Pending::default();
        for value in 1..=3 {
            assert!(pending.push("a", value));
        }
        assert_eq!(pending.find("a", |value| *value > 1), Some(&mut 2));
        assert_eq!(pending.take("a", |_| true), Some(1));
        assert_eq!(pending.take("a", |value| *value == 3), Some(3));
        assert_eq!(pending.take("b", |_| true), None);
        assert_eq!(pending.len(), 1);
        pending.retain(|_| false);
        assert_eq!((pending.len(), pending.take("a", |_| true)), (0, None));
    }

    proptest! {
        #[test]
        fn it_keeps_count(actions in proptest::collection::vec((0_u8..4, any::<bool>()), 0..200)) {
            let mut pending = Pending::default();
            let mut expected: Vec<(u8, usize)> = Vec::new();
            for (index, (key, push)) in actions.into_iter().enumerate() {
                if push {
                    pending.push(key, index);
                    expected.push((key, index));
                } else {
                    let oldest = expected.iter().position(|(known, _)| *known == key);
                    let oldest = oldest.map(|place| expected.remove(place).1);
                    prop_assert_eq!(pending.take(key, |_| true), oldest);
                }
                prop_assert_eq!(pending.len(), expected.len());
            }
            let half = |value: &usize| value.is_multiple_of(2);
            pending.retain(half);
            expected.retain(|(_, value)| half(value));
            prop_assert_eq!(pending.len(), expected.len());
        }
    }
}
