//! From an event's bytes to a [`BlockEvent`], by the formats of the kernel that runs.

use std::collections::HashMap;
use std::path::Path;

use super::event::{BlockEvent, FileKey, Flags, Name, Number, Step, Word};
use super::format::{Field, Format};

/// An event that is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The directory below `events/`.
    pub path: &'static str,
    /// What it means.
    pub step: Step,
    /// Whether requests cannot be followed without it. The others are missing from some kernels,
    /// or from kernels built without them, and only a stage is unknown then.
    pub required: bool,
    /// What restricts it to some devices; [`Scope::Writeback`] events name none.
    pub scope: Scope,
}

impl Wanted {
    /// Whether it is needed to tell the kernel's queue from the drive.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.scope == Scope::Device && !matches!(self.step, Step::Allocated | Step::Inserted)
    }
}

/// What an event's filter may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// It has a field `dev`.
    Device,
    /// Pages of a file that had none dirty: one event per file and round of writeback, where
    /// without a filter there would be one per page.
    FirstDirty,
    /// All of them.
    Writeback,
}

const fn block(path: &'static str, step: Step) -> Wanted {
    Wanted {
        path,
        step,
        required: matches!(step, Step::Queued | Step::Issued | Step::Completed),
        scope: Scope::Device,
    }
}

const fn writeback(path: &'static str, step: Step, scope: Scope) -> Wanted {
    Wanted {
        path,
        step,
        required: false,
        scope,
    }
}

/// The events that make up a request's life. Plugging is left out: it delays requests between G
/// and I or D, where it is seen anyway, and its events name no device.
pub const WANTED: &[Wanted] = &[
    block("block/block_bio_queue", Step::Queued),
    block("block/block_split", Step::Split),
    block("block/block_bio_remap", Step::Remapped),
    block("block/block_bio_backmerge", Step::BackMerged),
    block("block/block_bio_frontmerge", Step::FrontMerged),
    block("block/block_getrq", Step::Allocated),
    block("block/block_rq_insert", Step::Inserted),
    block("block/block_rq_merge", Step::RequestMerged),
    block("block/block_rq_issue", Step::Issued),
    block("block/block_rq_requeue", Step::Requeued),
    block("block/block_rq_complete", Step::Completed),
    block("block/block_bio_complete", Step::BioCompleted),
    writeback(
        "writeback/writeback_mark_inode_dirty",
        Step::Dirtied,
        Scope::FirstDirty,
    ),
    writeback(
        "writeback/writeback_single_inode_start",
        Step::WritebackBegins,
        Scope::Writeback,
    ),
    writeback(
        "writeback/writeback_single_inode",
        Step::WritebackEnds,
        Scope::Writeback,
    ),
];

/// Where the fields of one event lie.
#[derive(Debug, Clone)]
struct Layout {
    step: Step,
    pid: Field,
    device: Option<Field>,
    sector: Option<Field>,
    sectors: Option<Field>,
    bytes: Option<Field>,
    flags: Option<Field>,
    name: Option<Field>,
    error: Option<Field>,
    other_sector: Option<Field>,
    other_device: Option<Field>,
    backing: Option<Field>,
    inode: Option<Field>,
}

impl Layout {
    /// `None` where the format lacks what an event of that kind needs.
    fn new(step: Step, format: &Format) -> Option<Self> {
        let field = |name| format.field(name);
        let is_of_file = matches!(
            step,
            Step::Dirtied | Step::WritebackBegins | Step::WritebackEnds
        );
        let layout = Self {
            step,
            pid: field("common_pid")?,
            device: field("dev"),
            sector: field("sector"),
            sectors: field("nr_sector"),
            bytes: field("bytes"),
            flags: field("rwbs"),
            name: field("comm"),
            // `errors` until kernel 4.12.
            error: field("error").or_else(|| field("errors")),
            other_sector: field("new_sector").or_else(|| field("old_sector")),
            other_device: field("old_dev"),
            backing: field("name").filter(|_| is_of_file),
            inode: field("ino"),
        };
        let complete = if is_of_file {
            layout.backing.is_some() && layout.inode.is_some()
        } else {
            layout.device.is_some() && layout.sector.is_some() && layout.flags.is_some()
        };
        complete.then_some(layout)
    }

    fn decode(&self, at: u64, record: &[u8]) -> Option<BlockEvent> {
        let number = |field: Option<Field>| field.and_then(|field| field.number(record));
        let bytes = |field: Option<Field>| {
            field
                .and_then(|field| record.get(field.range()))
                .unwrap_or_default()
        };
        let short = |field| number(field).unwrap_or(0) as u32;
        let sectors = short(self.sectors);
        Some(BlockEvent {
            at,
            step: self.step,
            pid: self.pid.number(record)? as u32,
            name: Name::of(bytes(self.name)),
            device: device_number(short(self.device)),
            sector: number(self.sector).unwrap_or(0),
            sectors,
            bytes: number(self.bytes).map_or(sectors.saturating_mul(512), |bytes| bytes as u32),
            flags: Flags::of(bytes(self.flags)),
            other_sector: number(self.other_sector).unwrap_or(0),
            other_device: device_number(short(self.other_device)),
            // The field is a signed 32-bit number.
            error: short(self.error) as i32,
            file: FileKey {
                backing: Word::of(bytes(self.backing)),
                inode: number(self.inode).unwrap_or(0),
            },
        })
    }
}

/// Splits a device number as the kernel keeps it inside: 12 bits major, 20 bits minor
/// (kernel include/linux/kdev_t.h).
fn device_number(number: u32) -> Number {
    (number >> 20, number & 0xf_ffff)
}

/// Joins a device number as the kernel keeps it inside.
#[must_use]
pub fn kernel_number((major, minor): Number) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

/// Understands the records of one kernel.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    layouts: HashMap<u16, Layout>,
}

impl Decoder {
    /// Reads the formats below `events`. Returns also the events that this kernel lacks.
    #[must_use]
    pub fn read(events: &Path) -> (Self, Vec<Wanted>) {
        let mut decoder = Self::default();
        let mut missing = Vec::new();
        for wanted in WANTED {
            let known = std::fs::read_to_string(events.join(wanted.path).join("format"))
                .ok()
                .is_some_and(|text| decoder.learn(wanted.step, &text));
            if !known {
                missing.push(*wanted);
            }
        }
        (decoder, missing)
    }

    /// Takes up a format; false where it cannot be understood.
    pub fn learn(&mut self, step: Step, format: &str) -> bool {
        let layout =
            Format::parse(format).and_then(|format| Some((format.id, Layout::new(step, &format)?)));
        match layout {
            Some((id, layout)) => {
                self.layouts.insert(id, layout);
                true
            }
            None => false,
        }
    }

    /// The event in a record; `None` for a kind that nobody asked for and a record that is too
    /// short. Every record begins with its kind in 16 bits.
    #[must_use]
    pub fn decode(&self, at: u64, record: &[u8]) -> Option<BlockEvent> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        self.layouts.get(&id)?.decode(at, record)
    }
}

#[cfg(test)]
mod tests;
