//! Stable sorting of short lists, with one instance of the standard library's sort.
//!
//! The sort of the standard library is compiled again for every type and comparison: about 4 kB each,
//! 330 kB in all. Lists for people are short. Here one instance sorts their indices, and the items are
//! moved once.

use std::cmp::Ordering;

/// Sorts a list whose length is limited by what a person reads.
pub trait SortList<T> {
    /// Like `slice::sort_by`.
    fn sort_list_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Like `slice::sort_by_key`.
    fn sort_list_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SortList<T> for [T] {
    fn sort_list_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let order = sorted_indices(self.len(), &mut |left, right| {
            compare(&self[left], &self[right])
        });
        move_to_order(self, order);
    }

    fn sort_list_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.sort_list_by(|left, right| key(left).cmp(&key(right)));
    }
}

/// The indices in the order of the items they stand for.
fn sorted_indices(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|left, right| compare(*left, *right));
    order
}

/// Moves each item to its place: `order[place]` is the index it has now.
fn move_to_order<T>(items: &mut [T], mut order: Vec<usize>) {
    for start in 0..order.len() {
        let mut place = start;
        // Follows one cycle; a place that is done refers to itself.
        loop {
            let next = std::mem::replace(&mut order[place], place);
            if next == start || next == place {
                break;
            }
            items.swap(place, next);
            place = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_by_the_standard_library(
            list in proptest::collection::vec((0_u8..6, any::<u16>()), 0..60),
        ) {
            let (mut sorted, mut expected) = (list.clone(), list);
            sorted.sort_list_by_key(|item| item.0);
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(&sorted, &expected);
            let last_first = |left: &(u8, u16), right: &(u8, u16)| right.1.cmp(&left.1);
            sorted.sort_list_by(last_first);
            expected.sort_by(last_first);
            prop_assert_eq!(sorted, expected);
        }
    }
}
