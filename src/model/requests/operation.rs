//! What a request does, from the letters that the kernel gives it.

use serde::{Deserialize, Serialize};

use crate::probe::trace::event::Flags;

/// What a request does (kernel `blk_fill_rwbs`, kernel/trace/blktrace.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes, also zeroes.
    Write,
    /// Discards or erases.
    Discard,
    /// Empties the drive's cache.
    Flush,
    /// Manages zones.
    Zone,
    /// Anything else, such as a command to a SCSI device.
    Other,
}

impl Operation {
    /// All of them, in the order of their listing.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::Zone,
        Self::Other,
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
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

/// Which events may belong together, beside having the same device and sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An operation on sectors.
    On(Operation),
    /// A flush that somebody asked for. Its parts are called FWS when it is queued and WS when it
    /// is complete, and it is never issued itself.
    FlushWanted,
    /// The command that empties the cache, on behalf of any number of the above.
    FlushCommand,
}

impl Kind {
    /// Sorts an event by its letters and length.
    pub(super) fn of(flags: Flags, sectors: u32) -> Self {
        let letters = flags.bytes();
        // A first F says that the cache has to be emptied before.
        let operation = match letters {
            [b'F', b'F', ..] => return Self::FlushCommand,
            [b'F', second @ (b'R' | b'W' | b'D' | b'N' | b'Z'), ..] => *second,
            [first, ..] => *first,
            [] => b'N',
        };
        match operation {
            b'W' if sectors == 0 => Self::FlushWanted,
            b'W' => Self::On(Operation::Write),
            b'R' => Self::On(Operation::Read),
            b'D' => Self::On(Operation::Discard),
            b'Z' => Self::On(Operation::Zone),
            b'F' => Self::FlushCommand,
            _ => Self::On(Operation::Other),
        }
    }

    pub(super) fn operation(self) -> Operation {
        match self {
            Self::On(operation) => operation,
            Self::FlushWanted | Self::FlushCommand => Operation::Flush,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_kinds_of_requests() {
        let of = |letters: &str, sectors| Kind::of(Flags::of(letters.as_bytes()), sectors);
        assert_eq!(of("RA", 8), Kind::On(Operation::Read));
        assert_eq!(of("WSM", 8), Kind::On(Operation::Write));
        // Flush before, and force unit access after.
        assert_eq!(of("FWFSM", 8), Kind::On(Operation::Write));
        assert_eq!(of("DS", 8), Kind::On(Operation::Discard));
        assert_eq!(of("DE", 8), Kind::On(Operation::Discard));
        assert_eq!(of("ZR", 8), Kind::On(Operation::Zone));
        assert_eq!(of("N", 0), Kind::On(Operation::Other));
        assert_eq!(of("", 0), Kind::On(Operation::Other));
        assert_eq!(of("FF", 0), Kind::FlushCommand);
        assert_eq!(of("FWS", 0), Kind::FlushWanted);
        assert_eq!(of("WS", 0), Kind::FlushWanted);
        assert_eq!(of("WS", 0).operation(), Operation::Flush);
    }
}
