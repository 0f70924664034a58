//! Formats on a medium or a partition, recognised by their magic bytes: for machines without udev,
//! and for files.

mod table;

/// Bytes read at once at the start: covers most magic bytes.
const HEAD_BYTES: u64 = 256 << 10;
/// Bytes read at once at the end.
const TAIL_BYTES: u64 = 256 << 10;
/// Size of a ZFS label; two are at the start and two at the end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// Offset of the uberblocks in a label, 1 KiB apart.
const ZFS_UBERBLOCK_OFFSET: u64 = 128 << 10;
/// `XLOG_HEADER_MAGIC_NUM` (kernel fs/xfs/libxfs/xfs_log_format.h), then the cycle and a version.
const XFS_LOG_RECORD_MAGIC: [u8; 4] = [0xfe, 0xed, 0xba, 0xbe];
/// Versions of a log record: `XLOG_VERSION_1`, `XLOG_VERSION_2`.
const XFS_LOG_VERSIONS: [[u8; 4]; 3] = [[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 3]];
/// `0x00bab10c`, in both byte orders.
const ZFS_UBERBLOCK_MAGICS: [[u8; 8]; 2] = [
    [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c],
];

/// A format found on a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its name in blkid(8), such as `ext4` or `crypto_LUKS`.
    pub name: String,
    /// Offset of its magic bytes on the medium; `None` if only udev reports it.
    pub offset: Option<u64>,
    /// Number of the partition that holds it; `None`: the medium itself.
    pub partition: Option<u32>,
}

/// The bytes of a region that were read at once, and access to the others.
struct SignatureWindow<'w> {
    region: MediumRegion<'w, 'w>,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_start: u64,
}

impl<'w> SignatureWindow<'w> {
    fn new(region: MediumRegion<'w, 'w>) -> Self {
        let tail_start = region.length.saturating_sub(TAIL_BYTES).max(HEAD_BYTES);
        Self {
            head: region.read(0, HEAD_BYTES as usize),
            tail: region.read(tail_start, TAIL_BYTES as usize),
            tail_start,
            region,
        }
    }

    /// Whether these bytes are at that offset.
    fn matches(&self, offset: u64, bytes: &[u8]) -> bool {
        let in_buffer = |buffer: &[u8], offset: u64| {
            let rest = buffer.get(usize::try_from(offset).ok()?..)?;
            rest.get(..bytes.len()).map(|there| there == bytes)
        };
        let Some(end) = offset.checked_add(bytes.len() as u64) else {
            return false;
        };
        if end > self.region.length {
            return false;
        }
        if end <= HEAD_BYTES {
            return in_buffer(&self.head, offset).unwrap_or(false);
        }
        match offset.checked_sub(self.tail_start) {
            Some(offset) => in_buffer(&self.tail, offset).unwrap_or(false),
            None => self.region.read(offset, bytes.len()) == bytes,
        }
    }

    /// The offset of the magic bytes, if the region is large enough.
    fn magic_offset(&self, at: MagicOffset) -> Option<u64> {
        match at {
            MagicOffset::FromStart(offset) => Some(offset),
            MagicOffset::BeforeEnd { before, align } => {
                (self.region.length / align * align).checked_sub(before)
            }
        }
    }

    fn find_magics(&self, magics: &[MagicBytes], found: &mut Vec<(&'static str, u64)>) {
        for magic in magics {
            if let Some(offset) = self.magic_offset(magic.offset)
                && self.matches(offset, magic.bytes)
                && !found.iter().any(|(name, _)| *name == magic.name)
            {
                found.push((magic.name, offset));
            }
        }
    }

    fn find_swap(&self, found: &mut Vec<(&'static str, u64)>) {
        for (name, bytes) in SWAP_MAGICS {
            let mut offsets = SWAP_PAGE_SIZES.iter().map(|page| page - 10);
            if let Some(offset) = offsets.find(|offset| self.matches(*offset, bytes)) {
                found.push((name, offset));
                return;
            }
        }
    }

    /// The first of the four ZFS labels that has an uberblock.
    fn find_zfs(&self) -> Option<u64> {
        let end = self.region.length / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
        let labels = [
            Some(0),
            Some(ZFS_LABEL_BYTES),
            end.checked_sub(2 * ZFS_LABEL_BYTES),
            end.checked_sub(ZFS_LABEL_BYTES),
        ];
        labels.into_iter().flatten().find_map(|label| {
            let first = label + ZFS_UBERBLOCK_OFFSET;
            let blocks = match first {
                ZFS_UBERBLOCK_OFFSET => self.head.get(first as usize..)?.to_vec(),
                _ => self.region.read(first, ZFS_UBERBLOCK_OFFSET as usize),
            };
            let is_uberblock = |block: &[u8]| {
                ZFS_UBERBLOCK_MAGICS
                    .iter()
                    .any(|mark| block.starts_with(mark))
            };
            let index = blocks.chunks(1024).position(is_uberblock)?;
            Some(first + index as u64 * 1024)
        })
    }

    /// The first record of an XFS log on a device of its own: in one of the sectors at the start.
    /// A log inside of a file system is at another place.
    fn find_xfs_log(&self) -> Option<u64> {
        let is_record = |sector: &[u8]| {
            let version = sector.get(8..12);
            sector.starts_with(&XFS_LOG_RECORD_MAGIC)
                && XFS_LOG_VERSIONS.iter().any(|known| version == Some(known))
        };
        let index = self.head.chunks(512).position(is_record)?;
        Some(index as u64 * 512)
    }

    /// The version of an ext file system, from its features (kernel
    /// Documentation/filesystems/ext4/super.rst); `None` if the superblock is invalid.
    fn ext_version(&self) -> Option<&'static str> {
        let number = |at: usize| {
            let bytes = self.head.get(0x400 + at..0x404 + at)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        // Revision 0 or 1.
        if number(0x4c)? > 1 {
            return None;
        }
        let (compatible, incompatible, read_only) = (number(0x5c)?, number(0x60)?, number(0x64)?);
        // Journal device, extents, 64 bit, flexible groups, ...: only ext4 has more than ext3's
        // filetype, recover, journal_dev, meta_bg and sparse_super, large_file, btree_dir.
        Some(if incompatible & 0x8 != 0 {
            "jbd"
        } else if incompatible & !0x1e != 0 || read_only & !0x7 != 0 {
            "ext4"
        } else if compatible & 0x4 != 0 {
            "ext3"
        } else {
            "ext2"
        })
    }
}

/// Formats in a region, each with the offset of its magic bytes in the region.
pub(super) fn find_signatures(region: MediumRegion<'_, '_>) -> Vec<(&'static str, u64)> {
    let window = SignatureWindow::new(region);
    let mut found = Vec::new();
    for magics in [CONTAINER_MAGICS, FILE_SYSTEM_MAGICS, IMAGE_MAGICS] {
        window.find_magics(magics, &mut found);
    }
    window.find_swap(&mut found);
    found.extend(window.find_zfs().map(|offset| ("zfs_member", offset)));
    if !found.iter().any(|(name, _)| *name == "xfs") {
        let log = window.find_xfs_log();
        found.extend(log.map(|offset| ("xfs_external_log", offset)));
    }
    if let Some(position) = found.iter().position(|(name, _)| *name == "ext") {
        match window.ext_version() {
            Some(name) => found[position].0 = name,
            None => drop(found.remove(position)),
        }
    }
    let record = window.head.get(..512).unwrap_or(&window.head);
    if is_dos_partition_table(record, &found) {
        found.push(("dos", 510));
    }
    found
}

/// Whether a boot record with its signature is a partition table: the boot sectors of some file
/// systems, and the protective MBR of a GPT, have the same signature.
fn is_dos_partition_table(record: &[u8], found: &[(&'static str, u64)]) -> bool {
    let has_boot_sector = |name: &str| {
        matches!(
            name,
            "vfat" | "ntfs" | "exfat" | "ReFS" | "BitLocker" | "hpfs"
        )
    };
    if found.iter().any(|(name, _)| has_boot_sector(name)) {
        return false;
    }
    super::partition_table::is_partitioned_mbr(record)
        || found.is_empty() && record.get(510..512) == Some(&[0x55, 0xaa])
}

#[cfg(test)]
#[path = "../tests/signatures.rs"]
mod tests;

use crate::drive::guard::bytes::MediumRegion;
use crate::drive::guard::signatures::table::{
    CONTAINER_MAGICS, FILE_SYSTEM_MAGICS, IMAGE_MAGICS, MagicBytes, MagicOffset, SWAP_MAGICS,
    SWAP_PAGE_SIZES,
};
