//! Unpredictable numbers: for names that no other user can create first, and for data that no drive
//! has seen before.

use std::hash::{BuildHasher, RandomState};

/// Returns another number at each call.
#[must_use]
pub fn word() -> u64 {
    // Each state has its own keys, which derive from the kernel's random numbers (getrandom(2)). A
    // forked process has the keys of its parent but another process ID.
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
