//! Whether an offset advanced because data was transferred, or because lseek(2) set it.

use crate::probe::sample::{OpenFile, ProcessIo};

/// Counters and offsets are read one after the other, and the process runs on between: an advance
/// may exceed the counted bytes by half ...
const COUNTED_SLACK_DIVISOR: u64 = 2;
/// ... and by this many bytes.
const COUNTED_SLACK_BYTES: u64 = 1 << 20;
/// Up to this many counted bytes in an interval a process transfers by calls that the kernel does not
/// count: splice(2) between a file and a pipe.
const MAX_COUNTED_OF_SPLICE: u64 = 64 << 10;

/// What an offset did between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// It stayed.
    Unmoved,
    /// It advanced by this many bytes, which were read or written.
    Sequential(u64),
    /// It went back, no further from the start of the file than can have been read since.
    Restarted,
    /// It was set: no transfer explains it.
    Jumped,
}

/// Bytes that the process can have moved through a file, at most: those of system calls, or those of
/// devices where the calls are not counted (io_uring).
#[must_use]
pub fn counted_bytes(io: &ProcessIo) -> u64 {
    read_bytes(io).saturating_add(written_bytes(io))
}

/// Bytes that it has read, by the same counters.
#[must_use]
pub fn read_bytes(io: &ProcessIo) -> u64 {
    io.rchar.max(io.read_bytes)
}

/// Bytes that it has written, by the same counters.
#[must_use]
pub fn written_bytes(io: &ProcessIo) -> u64 {
    io.wchar.max(io.write_bytes)
}

/// The movement of an offset from `before` to the file's present one.
///
/// `counted` are the bytes that its process transferred in the meantime; `None` if unknown: then each
/// advance counts as a transfer. `has_pipe` is whether the process has a pipe, without which it cannot
/// use splice(2).
#[must_use]
pub fn movement(before: u64, file: &OpenFile, counted: Option<u64>, has_pipe: bool) -> Movement {
    let after = file.position;
    let possible = counted.map_or(u64::MAX, |counted| {
        counted
            .saturating_add(counted / COUNTED_SLACK_DIVISOR)
            .saturating_add(COUNTED_SLACK_BYTES)
    });
    if after == before {
        return Movement::Unmoved;
    }
    let Some(bytes) = after.checked_sub(before) else {
        return if after <= possible {
            Movement::Restarted
        } else {
            Movement::Jumped
        };
    };
    // A seek to the end is how programs determine the size of a file or device.
    let sought_end = before == 0 && file.size.is_some_and(|size| after >= size);
    let spliced =
        has_pipe && !sought_end && counted.is_some_and(|counted| counted <= MAX_COUNTED_OF_SPLICE);
    if bytes <= possible || spliced {
        Movement::Sequential(bytes)
    } else {
        Movement::Jumped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::{FileHandle, FileKind};

    const MIB: u64 = 1 << 20;

    fn at(position: u64) -> OpenFile {
        OpenFile {
            handle: FileHandle::Descriptor(3),
            path: b"/a"[..].into(),
            kind: FileKind::Regular,
            inode: ((8, 1), 1),
            position,
            readable: true,
            writable: false,
            size: Some(1000 * MIB),
            allocated_bytes: 1000 * MIB,
        }
    }

    #[test]
    fn advance_of_counted_bytes_is_sequential() {
        let moved = movement(10 * MIB, &at(110 * MIB), Some(100 * MIB), false);
        assert_eq!(moved, Movement::Sequential(100 * MIB));
        assert_eq!(
            movement(10 * MIB, &at(10 * MIB), Some(MIB), false),
            Movement::Unmoved
        );
        assert_eq!(
            movement(0, &at(50 * MIB), None, false),
            Movement::Sequential(50 * MIB)
        );
    }

    #[test]
    fn seek_is_no_transfer() {
        assert_eq!(
            movement(0, &at(1000 * MIB), Some(40 * MIB), true),
            Movement::Jumped
        );
        assert_eq!(
            movement(0, &at(1000 * MIB), Some(0), true),
            Movement::Jumped
        );
        assert_eq!(
            movement(900 * MIB, &at(300 * MIB), Some(40 * MIB), false),
            Movement::Jumped
        );
        assert_eq!(
            movement(900 * MIB, &at(30 * MIB), Some(40 * MIB), false),
            Movement::Restarted
        );
    }

    #[test]
    fn splice_between_file_and_pipe_is_sequential_although_not_counted() {
        let spliced = |pipe| movement(10 * MIB, &at(500 * MIB), Some(200), pipe);
        assert_eq!(spliced(true), Movement::Sequential(490 * MIB));
        assert_eq!(spliced(false), Movement::Jumped);
    }
}
