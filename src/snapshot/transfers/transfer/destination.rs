//! What the length and the allocated bytes of a destination reveal of a transfer.

use super::{ProgressBasis, Transfer};
use crate::probe::sample::{ClosedFile, FileKind, OpenFile};

/// A destination whose length follows the position of its source within this many bytes ...
const MAX_LAG_BYTES: u64 = 8 << 20;
/// ... or within this fraction of it holds a copy; otherwise it holds something else, such as a
/// compressed archive.
const MAX_LAG_DIVISOR: u64 = 10;

impl Transfer {
    /// Whether the destination holds a copy instead of, say, a compressed archive.
    pub(super) fn is_copied_to(&self, closed: ClosedFile) -> bool {
        self.is_plain_copy.unwrap_or_else(|| {
            let position = self.estimator.last_position();
            position.is_some_and(|position| holds_about(closed.size, position))
        })
    }

    /// Records whether the destination holds about as many bytes as were read.
    pub(super) fn recognise_copy(&mut self, destination: &OpenFile, read_position: u64) {
        let held = destination
            .size
            .unwrap_or(0)
            .min(destination.allocated_bytes);
        self.is_plain_copy = Some(
            self.progress_basis == ProgressBasis::DestinationGrowth
                || holds_about(held.max(destination.position), read_position),
        );
    }

    /// The position that the length and the allocated bytes of the destination stand for.
    ///
    /// A file with its full length from the start is measured by its allocated bytes. So is the copy
    /// of a file with holes, in relation to the data of its source: programs leave the holes out.
    pub(super) fn grown_position(&self, length: u64, allocated: u64) -> u64 {
        let Some(size) = self.expected_size else {
            return length;
        };
        if length >= size && !self.is_preallocated {
            return size;
        }
        // A file system that reports no allocated bytes reports no holes either.
        let data = self.source_data_bytes.filter(|data| *data > 0);
        let Some(data) = data.filter(|data| *data < size - size / 16) else {
            return if length >= size {
                allocated.min(size)
            } else {
                length
            };
        };
        if allocated < data {
            return (allocated as f64 / data as f64 * size as f64) as u64;
        }
        // All data has arrived, unless the copy has no holes.
        if length >= size || length <= data + data / 10 {
            size
        } else {
            length
        }
    }

    /// Recognises a destination that got its full length before its data.
    pub(super) fn detect_preallocation(&mut self, destination: &OpenFile) {
        let Some(size) = self.expected_size else {
            return;
        };
        let data = self.source_data_bytes.map_or(size, |data| data.min(size));
        self.is_preallocated |= destination.kind == FileKind::Regular
            && destination.size >= Some(size)
            && destination.allocated_bytes < data / 2;
    }
}

/// Whether a destination with this length holds what was read up to a position.
fn holds_about(length: u64, position: u64) -> bool {
    length.abs_diff(position) <= MAX_LAG_BYTES.max(position / MAX_LAG_DIVISOR)
}
