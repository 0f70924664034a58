//! Unpredictable numbers: for names that no other user can create first, and for data that no drive
//! has seen before.

use rand::rand_core::UnwrapErr;
use rand::rngs::{SysRng, Xoshiro256PlusPlus};
use rand::{Rng as _, SeedableRng as _};

/// Returns another number at each call, from the kernel's random numbers (getrandom(2)).
///
/// # Panics
/// When the kernel returns none: no kernel that has io_uring does this.
#[must_use]
pub fn word() -> u64 {
    UnwrapErr(SysRng).next_u64()
}

/// A fast generator with an unpredictable seed.
///
/// # Panics
/// As [`word`].
#[must_use]
pub fn generator() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::from_rng(&mut UnwrapErr(SysRng))
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
