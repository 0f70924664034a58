//! The operation of a request, from the kernel's RWBS flags.

use serde::{Deserialize, Serialize};

use crate::trace::events::event::RwbsFlags;

/// The operation of a request (kernel `blk_fill_rwbs`, kernel/trace/blktrace.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOperation {
    /// Reads.
    Read,
    /// Writes, also zeroes.
    Write,
    /// Discards or erases.
    Discard,
    /// Flushes the drive's cache.
    Flush,
    /// Manages zones.
    Zone,
    /// Anything else, such as a command to a SCSI device.
    Other,
}

impl RequestOperation {
    /// All operations, in display order.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::Zone,
        Self::Other,
    ];

    /// Name of the operation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::Zone => "zone",
            Self::Other => "other",
        }
    }
}

/// Kinds of events that can match, in addition to device and sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum MatchKind {
    /// An operation on sectors.
    DataOperation(RequestOperation),
    /// A requested flush. It is FWS when queued and WS when complete, and is never issued itself.
    FlushRequest,
    /// The command that flushes the cache, for any number of requested flushes.
    FlushCommand,
}

impl MatchKind {
    /// Classifies an event by its flags and length.
    pub(super) fn from_flags(flags: RwbsFlags, sectors: u32) -> Self {
        let letters = flags.as_bytes();
        // A leading F requests a flush before the operation.
        let operation = match letters {
            [b'F', b'F', ..] => return Self::FlushCommand,
            [b'F', second @ (b'R' | b'W' | b'D' | b'N' | b'Z'), ..] => *second,
            [first, ..] => *first,
            [] => b'N',
        };
        match operation {
            b'W' if sectors == 0 => Self::FlushRequest,
            b'W' => Self::DataOperation(RequestOperation::Write),
            b'R' => Self::DataOperation(RequestOperation::Read),
            b'D' => Self::DataOperation(RequestOperation::Discard),
            b'Z' => Self::DataOperation(RequestOperation::Zone),
            b'F' => Self::FlushCommand,
            _ => Self::DataOperation(RequestOperation::Other),
        }
    }

    pub(super) fn operation(self) -> RequestOperation {
        match self {
            Self::DataOperation(operation) => operation,
            Self::FlushRequest | Self::FlushCommand => RequestOperation::Flush,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_flags_map_to_match_kinds() {
        let of = |letters: &str, sectors| {
            MatchKind::from_flags(RwbsFlags::from_field(letters.as_bytes()), sectors)
        };
        assert_eq!(
            of("RA", 8),
            MatchKind::DataOperation(RequestOperation::Read)
        );
        assert_eq!(
            of("WSM", 8),
            MatchKind::DataOperation(RequestOperation::Write)
        );
        // Flush before, and force unit access after.
        assert_eq!(
            of("FWFSM", 8),
            MatchKind::DataOperation(RequestOperation::Write)
        );
        assert_eq!(
            of("DS", 8),
            MatchKind::DataOperation(RequestOperation::Discard)
        );
        assert_eq!(
            of("DE", 8),
            MatchKind::DataOperation(RequestOperation::Discard)
        );
        assert_eq!(
            of("ZR", 8),
            MatchKind::DataOperation(RequestOperation::Zone)
        );
        assert_eq!(
            of("N", 0),
            MatchKind::DataOperation(RequestOperation::Other)
        );
        assert_eq!(of("", 0), MatchKind::DataOperation(RequestOperation::Other));
        assert_eq!(of("FF", 0), MatchKind::FlushCommand);
        assert_eq!(of("FWS", 0), MatchKind::FlushRequest);
        assert_eq!(of("WS", 0), MatchKind::FlushRequest);
        assert_eq!(of("WS", 0).operation(), RequestOperation::Flush);
    }
}
