//! Events that wait for a matching event, by device, kind and sector.

use std::collections::HashMap;
use std::hash::Hash;

/// No machine has more requests in flight: the rest are left over from lost events.
const MAX_ENTRIES: usize = 1 << 18;

/// A multimap that keeps the values of a key in order, oldest first. Several requests may have the
/// same sector at once; most have their own, and need no allocation.
#[derive(Debug)]
pub(super) struct PendingMap<K, V> {
    entries: HashMap<K, PendingEntry<V>>,
    count: usize,
}

#[derive(Debug)]
struct PendingEntry<V> {
    oldest: V,
    newer: Vec<V>,
}

impl<K, V> Default for PendingMap<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            count: 0,
        }
    }
}

impl<K: Eq + Hash + Copy, V> PendingMap<K, V> {
    /// Adds a value; returns false when the map is full.
    pub(super) fn push_value(&mut self, key: K, value: V) -> bool {
        if self.count >= MAX_ENTRIES {
            return false;
        }
        self.count += 1;
        match self.entries.get_mut(&key) {
            Some(entry) => entry.newer.push(value),
            None => {
                let entry = PendingEntry {
                    oldest: value,
                    newer: Vec::new(),
                };
                self.entries.insert(key, entry);
            }
        }
        true
    }

    /// The oldest value that satisfies the predicate.
    pub(super) fn find_oldest(&mut self, key: K, fits: impl Fn(&V) -> bool) -> Option<&mut V> {
        let entry = self.entries.get_mut(&key)?;
        std::iter::once(&mut entry.oldest)
            .chain(&mut entry.newer)
            .find(|value| fits(value))
    }

    /// Removes the oldest value that satisfies the predicate.
    pub(super) fn take_oldest(&mut self, key: K, fits: impl Fn(&V) -> bool) -> Option<V> {
        let entry = self.entries.get_mut(&key)?;
        let taken = if fits(&entry.oldest) {
            if entry.newer.is_empty() {
                self.entries.remove(&key)?.oldest
            } else {
                std::mem::replace(&mut entry.oldest, entry.newer.remove(0))
            }
        } else {
            let index = entry.newer.iter().position(fits)?;
            entry.newer.remove(index)
        };
        self.count -= 1;
        Some(taken)
    }

    /// All values, unordered.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries
            .values()
            .flat_map(|entry| std::iter::once(&entry.oldest).chain(&entry.newer))
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Keeps only the values that satisfy the predicate.
    pub(super) fn retain(&mut self, fits: impl Fn(&V) -> bool) {
        self.entries.retain(|_, entry| {
            entry.newer.retain(&fits);
            if fits(&entry.oldest) {
                return true;
            }
            if entry.newer.is_empty() {
                return false;
            }
            entry.oldest = entry.newer.remove(0);
            true
        });
        self.count = self
            .entries
            .values()
            .map(|entry| 1 + entry.newer.len())
            .sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pending_map_returns_values_oldest_first() {
        let mut pending = PendingMap::default();
        for value in 1..=3 {
            assert!(pending.push_value("a", value));
        }
        assert_eq!(pending.find_oldest("a", |value| *value > 1), Some(&mut 2));
        assert_eq!(pending.take_oldest("a", |_| true), Some(1));
        assert_eq!(pending.take_oldest("a", |value| *value == 3), Some(3));
        assert_eq!(pending.take_oldest("b", |_| true), None);
        assert_eq!(pending.len(), 1);
        pending.retain(|_| false);
        assert_eq!(
            (pending.len(), pending.take_oldest("a", |_| true)),
            (0, None)
        );
    }

    proptest! {
        #[test]
        fn pending_map_matches_reference_model(actions in proptest::collection::vec((0_u8..4, any::<bool>()), 0..200)) {
            let mut pending = PendingMap::default();
            let mut expected: Vec<(u8, usize)> = Vec::new();
            for (index, (key, push)) in actions.into_iter().enumerate() {
                if push {
                    pending.push_value(key, index);
                    expected.push((key, index));
                } else {
                    let oldest = expected.iter().position(|(known, _)| *known == key);
                    let oldest = oldest.map(|position| expected.remove(position).1);
                    prop_assert_eq!(pending.take_oldest(key, |_| true), oldest);
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
