//! Numbers that nobody can foretell: for names that nobody else is to make first, and for data that
//! no drive has seen before.

use std::hash::{BuildHasher, RandomState};

/// Another number at each call.
#[must_use]
pub fn word() -> u64 {
    // Each state has keys of its own, which come from the kernel's random numbers (getrandom(2)). A
    // process that was forked has the keys of its parent, but another id.
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_not_repeated() {
        let mut words: Vec<u64> = (0..1000).map(|_| super::word()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 1000);
    }
}
