//! Content of the target, checked before the first request: holes of a file, blocks of zeros.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::drive::foreign_tree::ForeignTree;
use crate::drive::{BlockDevice, DriveKind, Target, TargetKind, extents};
use crate::session::document::{BlockSample, FileAllocation};

/// Number of blocks that are sampled.
const SAMPLED_BLOCKS: u32 = 32;
/// Size of a block in bytes.
const SAMPLE_BLOCK_BYTES: usize = 4096;

/// How much of the target within the window is allocated on the medium; for a loop device, of its
/// backing file. `None` for a target without a file, and where the file system does not report it.
#[must_use]
pub fn allocated_extents(
    target: &Target,
    file: Option<&File>,
    window: &Range<u64>,
    stack: &[&BlockDevice],
) -> Option<FileAllocation> {
    let backing = stack.iter().find(|drive| drive.kind == DriveKind::Loop);
    let (path, file, range) = match (target.kind, backing) {
        // The path is not opened: that would break the lease by which a file is held for writing.
        (TargetKind::File, _) => {
            let file = file?.try_clone().ok()?;
            (target.name.clone(), file, window.clone())
        }
        (TargetKind::BlockDevice, Some(drive)) => {
            let path = drive.backing_file.clone()?;
            let found = ForeignTree::own().find(Path::new(&path)).ok()?;
            let direct = stack.first().is_some_and(|top| top.name == drive.name);
            // Addresses differ through a partition or a volume.
            let range = if direct {
                window.clone()
            } else {
                0..drive.size_bytes
            };
            (path, found.open_regular().ok()?, range)
        }
        _ => return None,
    };
    let found = extents::allocated_extents(&file, range).ok()?;
    Some(FileAllocation {
        file: path.into(),
        bytes: found.total_bytes,
        hole_bytes: found.hole_bytes,
        unwritten_bytes: found.unwritten_bytes,
        encoded_bytes: found.encoded_bytes,
    })
}

/// Reads a few blocks at random offsets of a block device, and counts those that hold only zeros.
/// `None` where the device cannot be read like this.
///
/// They are read through the page cache: the content is the same, and no alignment is required.
#[must_use]
pub fn sample_blocks(path: &str, window: &Range<u64>, seed: u64) -> Option<BlockSample> {
    let room = (window.end.checked_sub(window.start)? / SAMPLE_BLOCK_BYTES as u64).max(1);
    let file = File::open(path).ok()?;
    // Without it each block would trigger read-ahead. A failure is harmless.
    let advice = rustix::fs::Advice::Random;
    let _ = rustix::fs::fadvise(&file, window.start, None, advice);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut buffer = vec![0; SAMPLE_BLOCK_BYTES];
    let mut found = BlockSample {
        blocks: 0,
        zero_blocks: 0,
    };
    for _ in 0..SAMPLED_BLOCKS {
        let address = window.start + random.random_range(0..room) * SAMPLE_BLOCK_BYTES as u64;
        file.read_exact_at(&mut buffer, address).ok()?;
        found.blocks += 1;
        found.zero_blocks += u32::from(buffer.iter().all(|byte| *byte == 0));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_zero_blocks_are_counted() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = file.path().to_str().unwrap();
        let mut bytes = vec![0; 1 << 20];
        bytes[..1 << 19].fill(9);
        std::fs::write(path, &bytes).unwrap();
        let zeros = |window| sample_blocks(path, &window, 1).unwrap().zero_blocks;
        assert_eq!(zeros(0..1 << 19), 0);
        assert_eq!(zeros(1 << 19..1 << 20), SAMPLED_BLOCKS);
        assert!((4..28).contains(&zeros(0..1 << 20)));
        assert_eq!(
            sample_blocks(path, &(0..2 << 20), 1),
            None,
            "beyond its end"
        );
        assert_eq!(sample_blocks("/no/such/device", &(0..4096), 1), None);
    }
}
