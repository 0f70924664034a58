//! Decodes an event's bytes, by the running kernel's own description of its events:
//! `events/SYSTEM/EVENT/format` (kernel Documentation/trace/events.rst, section 4).

use std::ops::Range;
use std::path::Path;

use super::catalog::{EventSpec, FIELD_NAMES, Field};
use super::event::{Event, EventKind, FileKey, FixedText, RwbsFlags, ThreadName, device_number};

/// Position of a field in an event's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldFormat {
    /// First byte.
    pub offset: usize,
    /// Length in bytes.
    pub size: usize,
}

impl FieldFormat {
    /// The byte range of the field. No record is so long that the end would overflow.
    #[must_use]
    pub fn byte_range(self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.size)
    }

    /// Its value as an unsigned number, zero-extended; `None` where the record is too short or
    /// the field is no number.
    #[must_use]
    pub fn read_number(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.byte_range())?;
        Some(match bytes.len() {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// `field:char rwbs[8]; offset:32; size:8; signed:1;`: the name is the last word of the
/// declaration, without the brackets.
pub(super) fn parse_field(line: &str) -> Option<(&str, FieldFormat)> {
    let (declaration, attributes) = line.trim().strip_prefix("field:")?.split_once(';')?;
    let name = declaration.split_whitespace().last()?;
    let name = name.split('[').next()?.trim_start_matches('*');
    let position = |key: &str| -> Option<usize> {
        let mut attributes = attributes.split(';');
        let text = attributes.find_map(|position| position.trim().strip_prefix(key))?;
        text.parse().ok()
    };
    let field = FieldFormat {
        offset: position("offset:")?,
        size: position("size:")?,
    };
    (!name.is_empty()).then_some((name, field))
}

/// Fields of one event, in the order of [`Field`].
#[derive(Debug, Clone)]
struct EventLayout {
    kind: EventKind,
    pid: FieldFormat,
    fields: [Option<FieldFormat>; FIELD_NAMES.len()],
}

impl EventLayout {
    /// `None` where the format lacks a field that the event needs.
    fn parse(event: &EventSpec, format: &str) -> Option<Self> {
        let fields: Vec<(&str, FieldFormat)> = format.lines().filter_map(parse_field).collect();
        let field = |names: &[&str]| {
            let mut known = fields.iter().filter(|(name, _)| names.contains(name));
            known.next().map(|(_, field)| *field)
        };
        let layout = Self {
            kind: event.kind,
            pid: field(&["common_pid"])?,
            fields: FIELD_NAMES.map(field),
        };
        let mut needs = event.needs.iter();
        needs
            .all(|field| layout.fields[*field as usize].is_some())
            .then_some(layout)
    }

    fn decode_record(&self, at: u64, record: &[u8]) -> Option<Event> {
        let number = |field: Field| self.fields[field as usize]?.read_number(record);
        let long = |field| number(field).unwrap_or(0);
        let short = |field| long(field) as u32;
        let text = |field: Field| {
            let format = self.fields[field as usize];
            let bytes = format.and_then(|format| record.get(format.byte_range()));
            bytes.unwrap_or_default()
        };
        let sectors = short(Field::Sectors);
        let bytes = number(Field::Bytes).map(|bytes| bytes as u32);
        let old_device = device_number(short(Field::OldDevice));
        Some(Event {
            at,
            kind: self.kind,
            pid: self.pid.read_number(record)? as u32,
            thread_name: ThreadName::from_field(text(Field::ThreadName)),
            device: device_number(short(Field::Device)),
            sector: long(Field::Sector),
            sectors,
            bytes: bytes.unwrap_or(sectors.saturating_mul(512)),
            flags: RwbsFlags::from_field(text(Field::Flags)),
            origin: (old_device, long(Field::OldSector)),
            // The field is a signed 32-bit number.
            error: short(Field::Error) as i32,
            file: FileKey {
                backing_device: FixedText::from_field(text(Field::BackingDevice)),
                inode: long(Field::Inode),
            },
            amount: number(Field::Amount),
        })
    }
}

/// Decodes the records of one kernel.
#[derive(Debug, Clone, Default)]
pub struct EventDecoder {
    /// By id; each record is looked up.
    layouts: Vec<Option<Box<EventLayout>>>,
}

impl EventDecoder {
    /// Reads the formats of these events below `events`. Returns also those that this kernel has.
    #[must_use]
    pub fn from_format_files(events: &Path, wanted: &[EventSpec]) -> (Self, Vec<EventSpec>) {
        let mut decoder = Self::default();
        let mut available = wanted.to_vec();
        available.retain(|event| {
            let text = std::fs::read_to_string(events.join(event.path).join("format"));
            text.is_ok_and(|text| decoder.add_format(event, &text))
        });
        (decoder, available)
    }

    /// Adds a format; returns false where it cannot be parsed.
    pub fn add_format(&mut self, event: &EventSpec, format: &str) -> bool {
        let id = format.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.and_then(|text| text.trim().parse::<u16>().ok());
        let Some((id, layout)) = id.zip(EventLayout::parse(event, format)) else {
            return false;
        };
        let index = usize::from(id);
        if self.layouts.len() <= index {
            self.layouts.resize(index + 1, None);
        }
        self.layouts[index] = Some(Box::new(layout));
        true
    }

    /// The event in a record; `None` for an event that is not enabled and for a record that is too
    /// short. Every record begins with its event id in 16 bits.
    #[must_use]
    pub fn decode_record(&self, at: u64, record: &[u8]) -> Option<Event> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        let layout = self.layouts.get(usize::from(id))?.as_deref()?;
        layout.decode_record(at, record)
    }
}

#[cfg(test)]
mod tests;
