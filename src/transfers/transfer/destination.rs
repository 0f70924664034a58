//! How much there is to transfer, and what the length and the allocated bytes of the destination reveal.

use super::{ProgressBasis, Transfer};
use crate::probe::sample::{FileKind, OpenFile};

/// Holes of less than this part of a file are no matter.
const MIN_HOLE_DIVISOR: u64 = 16;

impl Transfer {
    /// Bytes of the source's data, if it has holes that matter.
    fn data_of_sparse_source(&self) -> Option<u64> {
        let size = self.progress.shown.size_bytes?;
        let data = self
            .source_data
            .filter(|data| *data < size - size / MIN_HOLE_DIVISOR);
        data.filter(|_| self.source.is_some())
    }

    /// Bytes to transfer in total, without holes; `None` where more holes were skipped than the allocated
    /// bytes of the source reveal, as with preallocation.
    pub(super) fn total_bytes(&self) -> Option<u64> {
        let size = self.progress.shown.size_bytes?;
        let data = self.data_of_sparse_source().unwrap_or(size);
        let is_unexpected = self.skipped > size - data && self.skipped > size / MIN_HOLE_DIVISOR;
        match self.basis {
            ProgressBasis::DestinationGrowth => Some(data),
            ProgressBasis::Position if is_unexpected => None,
            ProgressBasis::Position if self.skipped == 0 => Some(size),
            ProgressBasis::Position => Some(data),
        }
    }

    /// The position that the length and the allocated bytes of the destination stand for, and the bytes
    /// that it took.
    ///
    /// A file with its full length from the start is measured by its allocated bytes. So is the copy
    /// of a file with holes, in relation to the data of its source: programs leave the holes out. What is
    /// allocated beyond the length is not written yet.
    pub(super) fn grown_position(&self, length: u64, allocated: u64) -> (u64, u64) {
        let Some(size) = self.progress.shown.size_bytes else {
            return (length, length);
        };
        let data = self.data_of_sparse_source().unwrap_or(size);
        let held = allocated.min(length);
        if length >= size && !self.is_preallocated {
            (size, data)
        } else if data < size && held < data {
            ((held as f64 / data as f64 * size as f64) as u64, held)
        } else if data < size {
            // All data has arrived; where the copy has no holes, more.
            (length.min(size), data)
        } else if self.is_preallocated {
            (held.min(size), held.min(size))
        } else {
            (length, length)
        }
    }

    /// Recognises a destination that got its full length before its data.
    pub(super) fn detect_preallocation(&mut self, destination: &OpenFile) {
        let Some(size) = self.progress.shown.size_bytes else {
            return;
        };
        let data = self.source_data.map_or(size, |data| data.min(size));
        self.is_preallocated |= destination.kind == FileKind::Regular
            && destination.size >= Some(size)
            && destination.allocated_bytes < data / 2;
    }
}
