//! What a `--seed` determines: random addresses as a function of a counter (the request with a number
//! is the same in whatever order the requests are made) and orders of measurement. The same seed has to
//! give the same ones in every version of this program; `rand` keeps the sequences of its generators,
//! but not of its ranges and shuffles. Everything else uses `rand`.

use rand::Rng;

/// Added to the state at each step (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014).
const SPLITMIX64_INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a number: SplitMix64's output for that state. One to one.
#[inline]
pub fn splitmix64(state: u64) -> u64 {
    let mut word = state.wrapping_add(SPLITMIX64_INCREMENT);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Maps a random word to a number in `0..bound` (Lemire, Fast Random Integer Generation in an
/// Interval, 2019, without its rejection: the bias is below `bound` in 2^64).
#[inline]
pub fn scale_to_bound(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

/// Maps a random word to a number in [0, 1).
#[inline]
pub fn unit_interval(word: u64) -> f64 {
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

/// Shuffles the items (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        let other = scale_to_bound(random.next_u64(), last as u64 + 1) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn shuffle_preserves_every_item_and_repeats_for_same_seed() {
        let shuffled = || {
            let mut items: Vec<u32> = (0..8).collect();
            shuffle(&mut items, &mut Xoshiro256PlusPlus::seed_from_u64(3));
            items
        };
        let mut items = shuffled();
        assert_eq!(items, shuffled());
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..8));
    }

    #[test]
    fn splitmix64_matches_reference_values() {
        // First outputs for seed 0, from the reference implementation.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(SPLITMIX64_INCREMENT), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn bounded_random_numbers_stay_within_both_bounds() {
        assert_eq!(
            (scale_to_bound(0, 10), scale_to_bound(u64::MAX, 10)),
            (0, 9)
        );
        assert_eq!(unit_interval(0), 0.0);
        assert!(unit_interval(u64::MAX) < 1.0);
    }
}
