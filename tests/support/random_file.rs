//! Files of random bytes, which no layer below can compress or leave out.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use rand::Rng as _;

/// Bytes written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Writes so many random bytes, rounded up to whole MiB, into a new file or over an old one, and
/// waits until they are on the medium.
///
/// # Errors
/// When the file cannot be made or written.
pub fn write_random_file(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut random = rand::make_rng::<rand::rngs::Xoshiro256PlusPlus>();
    let mut block = vec![0; BLOCK_BYTES];
    for _ in 0..bytes.div_ceil(BLOCK_BYTES as u64) {
        random.fill_bytes(&mut block);
        file.write_all(&block)?;
    }
    file.sync_all()
}
