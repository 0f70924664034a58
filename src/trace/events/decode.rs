//! Decodes an event's bytes to a [`TraceEvent`], by the formats of the running kernel.

use std::path::Path;

use super::enabled::{EnabledEvent, EventKind};
use super::event::{
    BlockEvent, FileKey, FixedText, RequestStep, RwbsFlags, ThreadName, device_number,
};
use super::file_decode::FileEventLayout;
use super::file_event::FileEvent;
use super::format::{EventFormat, FieldFormat};

/// An event of one of the enabled kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEvent {
    /// Of a request, or of the writeback that leads to requests.
    Block(BlockEvent),
    /// Of a file.
    File(FileEvent),
}

impl TraceEvent {
    /// The event of a request.
    #[must_use]
    pub fn into_block(self) -> Option<BlockEvent> {
        match self {
            Self::Block(event) => Some(event),
            Self::File(_) => None,
        }
    }

    /// The event of a file.
    #[must_use]
    pub fn into_file(self) -> Option<FileEvent> {
        match self {
            Self::File(event) => Some(event),
            Self::Block(_) => None,
        }
    }
}

/// Offsets of the fields of one event.
#[derive(Debug, Clone)]
struct EventLayout {
    step: RequestStep,
    pid: FieldFormat,
    device: Option<FieldFormat>,
    sector: Option<FieldFormat>,
    sectors: Option<FieldFormat>,
    bytes: Option<FieldFormat>,
    flags: Option<FieldFormat>,
    name: Option<FieldFormat>,
    error: Option<FieldFormat>,
    other_sector: Option<FieldFormat>,
    other_device: Option<FieldFormat>,
    backing: Option<FieldFormat>,
    inode: Option<FieldFormat>,
}

impl EventLayout {
    /// `None` where the format lacks a field that an event of that kind needs.
    fn from_format(step: RequestStep, format: &EventFormat) -> Option<Self> {
        let field = |name| format.field(name);
        let is_of_file = matches!(
            step,
            RequestStep::Dirtied | RequestStep::WritebackStarted | RequestStep::WritebackFinished
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

    fn decode_record(&self, at: u64, record: &[u8]) -> Option<BlockEvent> {
        let number = |field: Option<FieldFormat>| field.and_then(|field| field.read_number(record));
        let bytes = |field: Option<FieldFormat>| {
            field
                .and_then(|field| record.get(field.byte_range()))
                .unwrap_or_default()
        };
        let short = |field| number(field).unwrap_or(0) as u32;
        let sectors = short(self.sectors);
        Some(BlockEvent {
            timestamp_ns: at,
            request_step: self.step,
            pid: self.pid.read_number(record)? as u32,
            thread_name: ThreadName::from_field(bytes(self.name)),
            device: device_number(short(self.device)),
            sector: number(self.sector).unwrap_or(0),
            sectors,
            bytes: number(self.bytes).map_or(sectors.saturating_mul(512), |bytes| bytes as u32),
            flags: RwbsFlags::from_field(bytes(self.flags)),
            other_sector: number(self.other_sector).unwrap_or(0),
            other_device: device_number(short(self.other_device)),
            // The field is a signed 32-bit number.
            error: short(self.error) as i32,
            file: FileKey {
                backing_device: FixedText::from_field(bytes(self.backing)),
                inode: number(self.inode).unwrap_or(0),
            },
        })
    }
}

/// The layout of one event of either kind.
#[derive(Debug, Clone)]
enum RecordLayout {
    Block(EventLayout),
    File(FileEventLayout),
}

impl RecordLayout {
    fn from_format(kind: EventKind, format: &EventFormat) -> Option<Self> {
        match kind {
            EventKind::Request(step) => EventLayout::from_format(step, format).map(Self::Block),
            EventKind::File(event_type) => {
                FileEventLayout::from_format(event_type, format).map(Self::File)
            }
        }
    }
}

/// Decodes the records of one kernel.
#[derive(Debug, Clone, Default)]
pub struct EventDecoder {
    /// By id; each record is looked up.
    layouts: Vec<Option<Box<RecordLayout>>>,
}

impl EventDecoder {
    /// Reads the formats of these events below `events`. Returns also those that this kernel lacks.
    #[must_use]
    pub fn from_format_files(
        events: &Path,
        wanted_events: &[EnabledEvent],
    ) -> (Self, Vec<EnabledEvent>) {
        let mut decoder = Self::default();
        let mut missing = Vec::new();
        for wanted in wanted_events {
            let known = std::fs::read_to_string(events.join(wanted.path).join("format"))
                .ok()
                .is_some_and(|text| decoder.add_format(wanted.kind, &text));
            if !known {
                missing.push(*wanted);
            }
        }
        (decoder, missing)
    }

    /// Adds a format; returns false where it cannot be parsed.
    pub fn add_format(&mut self, kind: EventKind, format: &str) -> bool {
        let layout = EventFormat::parse(format)
            .and_then(|format| Some((format.id, RecordLayout::from_format(kind, &format)?)));
        match layout {
            Some((id, layout)) => {
                let index = usize::from(id);
                if self.layouts.len() <= index {
                    self.layouts.resize(index + 1, None);
                }
                self.layouts[index] = Some(Box::new(layout));
                true
            }
            None => false,
        }
    }

    /// The event in a record; `None` for an event that is not enabled and for a record that is too
    /// short. Every record begins with its event id in 16 bits.
    #[must_use]
    pub fn decode_record(&self, at: u64, record: &[u8]) -> Option<TraceEvent> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        match self.layouts.get(usize::from(id))?.as_deref()? {
            RecordLayout::Block(layout) => layout.decode_record(at, record).map(TraceEvent::Block),
            RecordLayout::File(layout) => layout.decode_record(at, record).map(TraceEvent::File),
        }
    }
}

#[cfg(test)]
mod tests;
