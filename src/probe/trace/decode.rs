//! Decodes an event's bytes to a [`BlockEvent`], by the formats of the running kernel.

use std::collections::HashMap;
use std::path::Path;

use super::event::{
    BlockEvent, DeviceNumber, FileKey, FixedText, RequestStep, RwbsFlags, ThreadName,
};
use super::format::{EventFormat, FieldFormat};

/// An event that is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledEvent {
    /// The directory below `events/`.
    pub path: &'static str,
    /// The step that it reports.
    pub step: RequestStep,
    /// Whether requests cannot be traced without it. Some kernels, or kernels built without them,
    /// lack the others; then only a stage is unknown.
    pub required: bool,
    /// What its filter can restrict; writeback events name no device.
    pub filter_scope: FilterScope,
}

impl EnabledEvent {
    /// Whether it is needed to separate Q2D from D2C.
    #[must_use]
    pub fn is_for_queue_and_drive(&self) -> bool {
        self.filter_scope == FilterScope::Device
            && !matches!(self.step, RequestStep::Allocated | RequestStep::Inserted)
    }
}

/// What the filter of an event can test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterScope {
    /// It has a field `dev`.
    Device,
    /// First dirty page of a file: one event per file and round of writeback; without a filter
    /// there would be one per page.
    FirstDirtyPage,
    /// No filter.
    Writeback,
}

const fn block_event(path: &'static str, step: RequestStep) -> EnabledEvent {
    EnabledEvent {
        path,
        step,
        required: matches!(
            step,
            RequestStep::Queued | RequestStep::Issued | RequestStep::Completed
        ),
        filter_scope: FilterScope::Device,
    }
}

const fn writeback_event(
    path: &'static str,
    step: RequestStep,
    scope: FilterScope,
) -> EnabledEvent {
    EnabledEvent {
        path,
        step,
        required: false,
        filter_scope: scope,
    }
}

/// The events of a request's life. Plugging is omitted: it delays requests between G and I or D,
/// where it is visible anyway, and its events name no device.
pub const ENABLED_EVENTS: &[EnabledEvent] = &[
    block_event("block/block_bio_queue", RequestStep::Queued),
    block_event("block/block_split", RequestStep::Split),
    block_event("block/block_bio_remap", RequestStep::Remapped),
    block_event("block/block_bio_backmerge", RequestStep::BackMerged),
    block_event("block/block_bio_frontmerge", RequestStep::FrontMerged),
    block_event("block/block_getrq", RequestStep::Allocated),
    block_event("block/block_rq_insert", RequestStep::Inserted),
    block_event("block/block_rq_merge", RequestStep::RequestMerged),
    block_event("block/block_rq_issue", RequestStep::Issued),
    block_event("block/block_rq_requeue", RequestStep::Requeued),
    block_event("block/block_rq_complete", RequestStep::Completed),
    block_event("block/block_bio_complete", RequestStep::BioCompleted),
    writeback_event(
        "writeback/writeback_mark_inode_dirty",
        RequestStep::Dirtied,
        FilterScope::FirstDirtyPage,
    ),
    writeback_event(
        "writeback/writeback_single_inode_start",
        RequestStep::WritebackStarted,
        FilterScope::Writeback,
    ),
    writeback_event(
        "writeback/writeback_single_inode",
        RequestStep::WritebackFinished,
        FilterScope::Writeback,
    ),
];

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

/// Splits a device number in the kernel's internal form: 12 bits major, 20 bits minor (kernel
/// include/linux/kdev_t.h).
fn device_number(number: u32) -> DeviceNumber {
    (number >> 20, number & 0xf_ffff)
}

/// Joins a device number in the kernel's internal form.
#[must_use]
pub fn kernel_number((major, minor): DeviceNumber) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

/// Decodes the records of one kernel.
#[derive(Debug, Clone, Default)]
pub struct EventDecoder {
    layouts: HashMap<u16, EventLayout>,
}

impl EventDecoder {
    /// Reads the formats below `events`. Returns also the events that this kernel lacks.
    #[must_use]
    pub fn from_format_files(events: &Path) -> (Self, Vec<EnabledEvent>) {
        let mut decoder = Self::default();
        let mut missing = Vec::new();
        for wanted in ENABLED_EVENTS {
            let known = std::fs::read_to_string(events.join(wanted.path).join("format"))
                .ok()
                .is_some_and(|text| decoder.add_format(wanted.step, &text));
            if !known {
                missing.push(*wanted);
            }
        }
        (decoder, missing)
    }

    /// Adds a format; returns false where it cannot be parsed.
    pub fn add_format(&mut self, step: RequestStep, format: &str) -> bool {
        let layout = EventFormat::parse(format)
            .and_then(|format| Some((format.id, EventLayout::from_format(step, &format)?)));
        match layout {
            Some((id, layout)) => {
                self.layouts.insert(id, layout);
                true
            }
            None => false,
        }
    }

    /// The event in a record; `None` for an event that is not enabled and for a record that is too
    /// short. Every record begins with its event id in 16 bits.
    #[must_use]
    pub fn decode_record(&self, at: u64, record: &[u8]) -> Option<BlockEvent> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        self.layouts.get(&id)?.decode_record(at, record)
    }
}

#[cfg(test)]
mod tests;
