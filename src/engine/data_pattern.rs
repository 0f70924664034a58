//! Content of the write buffers.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

use super::plan::DataKind;

/// Unit of compression in drives. Partly compressible data has its zeros at the front of each unit.
const COMPRESSION_UNIT: usize = 4096;
/// Seed of all repeated blocks.
const REPEATED_BLOCK_SEED: u64 = 0x000d_15c0;

/// Fills write buffers with the data that the plan requests.
#[derive(Debug)]
pub struct DataPattern {
    kind: DataKind,
    random: Xoshiro256PlusPlus,
}

impl DataPattern {
    /// For that kind of data. The random bytes are unpredictable, so that no drive has stored them
    /// before.
    #[must_use]
    pub fn new(kind: DataKind) -> Self {
        Self {
            kind,
            random: rand::make_rng::<Xoshiro256PlusPlus>(),
        }
    }

    /// Fills a buffer for the first time.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        match self.kind {
            DataKind::Zero => buffer.fill(0),
            DataKind::Repeated => {
                for unit in buffer.chunks_mut(COMPRESSION_UNIT) {
                    Xoshiro256PlusPlus::seed_from_u64(REPEATED_BLOCK_SEED).fill_bytes(unit);
                }
            }
            DataKind::Random => self.random.fill_bytes(buffer),
            DataKind::Compressible(percent) => {
                for unit in buffer.chunks_mut(COMPRESSION_UNIT) {
                    let (zeros, rest) = unit.split_at_mut(zero_bytes(unit.len(), percent));
                    zeros.fill(0);
                    self.random.fill_bytes(rest);
                }
            }
        }
    }

    /// Makes the random part of a buffer different from all earlier content, at memory speed: each
    /// word is combined with one random word of this request. Two contents of the same buffer then
    /// share no sequence of bytes that a drive could find.
    #[inline]
    pub fn rewrite_random_words(&mut self, buffer: &mut [u8]) {
        match self.kind {
            DataKind::Zero | DataKind::Repeated => {}
            DataKind::Random => xor_with_key(buffer, self.random.next_u64()),
            DataKind::Compressible(percent) => {
                let key = self.random.next_u64();
                for unit in buffer.chunks_mut(COMPRESSION_UNIT) {
                    let start = zero_bytes(unit.len(), percent);
                    xor_with_key(&mut unit[start..], key);
                }
            }
        }
    }
}

/// Bytes of zeros in a unit of that length, in whole words.
fn zero_bytes(length: usize, percent: u8) -> usize {
    (length * usize::from(percent.min(100)) / 100) & !7
}

fn xor_with_key(buffer: &mut [u8], key: u64) {
    let (words, rest) = buffer.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ key).to_ne_bytes();
    }
    rest.iter_mut()
        .zip(key.to_ne_bytes())
        .for_each(|(byte, key)| *byte ^= key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_data_pattern_changes_every_word_on_each_refresh() {
        let mut content = DataPattern::new(DataKind::Random);
        let mut buffer = vec![0; 8192];
        content.fill(&mut buffer);
        let first = buffer.clone();
        content.rewrite_random_words(&mut buffer);
        let differ = |(a, b): (&[u8], &[u8])| a != b;
        assert!(buffer.chunks(8).zip(first.chunks(8)).all(differ));
        let distinct: std::collections::HashSet<&[u8]> = buffer.chunks(8).collect();
        assert_eq!(distinct.len(), 1024);
    }

    #[test]
    fn compressible_data_pattern_contains_requested_zeros() {
        let mut content = DataPattern::new(DataKind::Compressible(30));
        let mut buffer = vec![1; 10 * COMPRESSION_UNIT];
        content.fill(&mut buffer);
        content.rewrite_random_words(&mut buffer);
        let zeros = buffer.iter().filter(|byte| **byte == 0).count() as f64;
        let share = zeros / buffer.len() as f64;
        assert!((0.29..0.32).contains(&share), "{share}");
    }

    #[test]
    fn repeated_data_pattern_is_equal_in_every_unit() {
        let mut content = DataPattern::new(DataKind::Repeated);
        let mut buffer = vec![0; 3 * COMPRESSION_UNIT];
        content.fill(&mut buffer);
        content.rewrite_random_words(&mut buffer);
        assert!(
            buffer
                .chunks(COMPRESSION_UNIT)
                .all(|unit| unit == &buffer[..COMPRESSION_UNIT])
        );
        assert_ne!(&buffer[..8], &buffer[8..16]);
    }
}
