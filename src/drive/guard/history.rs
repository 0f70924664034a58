//! Time and mount point of the last mount of a file system, from its superblock.

use jiff::Timestamp;

use crate::drive::guard::bytes::ReadAt;
use crate::files::printable::printable_bytes;

/// Offset of the ext2, ext3 and ext4 superblock (kernel Documentation/filesystems/ext4/super.rst).
const EXT_SUPERBLOCK_OFFSET: u64 = 1024;
/// Bytes of the superblock that are read.
const EXT_SUPERBLOCK_BYTES: usize = 0xc8;
/// Field with the last mount point.
const LAST_MOUNTED_FIELD: std::ops::Range<usize> = 0x88..0xc8;

/// Mount count, time and mount point of the last mount of the file system at this offset. `None`
/// if it is not an ext file system; the others do not record this.
#[must_use]
pub(super) fn read_last_mount(medium: &dyn ReadAt, offset: u64) -> Option<String> {
    let mut block = [0_u8; EXT_SUPERBLOCK_BYTES];
    let count = medium
        .read_at(&mut block, offset + EXT_SUPERBLOCK_OFFSET)
        .ok()?;
    if count < EXT_SUPERBLOCK_BYTES {
        return None;
    }
    (block[0x38..0x3a] == [0x53, 0xef]).then(|| describe_last_mount(&block))
}

fn describe_last_mount(block: &[u8; EXT_SUPERBLOCK_BYTES]) -> String {
    let short = |at: usize| u16::from_le_bytes([block[at], block[at + 1]]);
    let seconds = u32::from_le_bytes([block[0x2c], block[0x2d], block[0x2e], block[0x2f]]);
    let when = Timestamp::from_second(i64::from(seconds))
        .ok()
        .filter(|_| seconds > 0);
    let Some(when) = when else {
        return "never mounted".to_owned();
    };
    let mount_point: Vec<u8> = block[LAST_MOUNTED_FIELD]
        .iter()
        .copied()
        .take_while(|byte| *byte != 0)
        .collect();
    let at = match mount_point.as_slice() {
        [] => String::new(),
        mount_point => format!(" at {}", printable_bytes(mount_point)),
    };
    format!(
        "last mounted {}{at}, {} times since it was checked",
        when.strftime("%F %R UTC"),
        short(0x34)
    )
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn medium(change: impl FnOnce(&mut [u8])) -> File {
        let mut bytes = vec![0; 4096];
        bytes[1024 + 0x38..1024 + 0x3a].copy_from_slice(&[0x53, 0xef]);
        change(&mut bytes[1024..]);
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        file
    }

    #[test]
    fn ext_superblock_gives_last_mount_time_and_path() {
        let file = medium(|block| {
            block[0x2c..0x30].copy_from_slice(&1_700_000_000_u32.to_le_bytes());
            block[0x34] = 7;
            block[0x88..0x8c].copy_from_slice(b"/srv");
        });
        assert_eq!(
            read_last_mount(&file, 0).as_deref(),
            Some("last mounted 2023-11-14 22:13 UTC at /srv, 7 times since it was checked")
        );
    }

    #[test]
    fn last_mount_distinguishes_never_mounted_from_non_ext() {
        assert_eq!(
            read_last_mount(&medium(|_| {}), 0).as_deref(),
            Some("never mounted")
        );
        assert_eq!(read_last_mount(&medium(|block| block[0x38] = 0), 0), None);
        assert_eq!(read_last_mount(&tempfile::tempfile().unwrap(), 0), None);
    }
}
