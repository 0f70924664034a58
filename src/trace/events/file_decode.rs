//! Decodes the events of files.

use super::event::device_number;
use super::file_event::{BtrfsFile, FileAction, FileEvent, FileEventType, InodeKey, SyncCall};
use super::format::{EventFormat, FieldFormat};

/// Offsets of the fields of one event. What the fields mean depends on the event.
#[derive(Debug, Clone)]
pub(super) struct FileEventLayout {
    event_type: FileEventType,
    pid: FieldFormat,
    device: Option<FieldFormat>,
    inode: Option<FieldFormat>,
    /// The folio's order, the length, the descriptor, the number of blocks or of the system call.
    number: Option<FieldFormat>,
    /// The first argument of any system call.
    argument: Option<FieldFormat>,
    /// UUID and subvolume of btrfs.
    uuid: Option<FieldFormat>,
    subvolume: Option<FieldFormat>,
}

impl FileEventLayout {
    /// `None` where the format lacks a field that an event of that type needs.
    pub(super) fn from_format(event_type: FileEventType, format: &EventFormat) -> Option<Self> {
        let field = |name| format.field(name);
        let is_call = matches!(
            event_type,
            FileEventType::AnyCallStarted | FileEventType::AnyCallFinished
        );
        let number = match event_type {
            FileEventType::PageAdded => field("order"),
            FileEventType::CallStarted(_) => field("fd"),
            FileEventType::DirectStarted => Some(field("count").or_else(|| field("len"))?),
            FileEventType::JournalChanged => Some(field("dirtied_blocks")?),
            _ if is_call => Some(field("id")?),
            _ => None,
        };
        let layout = Self {
            event_type,
            pid: field("common_pid")?,
            device: field("s_dev").or_else(|| field("dev")),
            inode: field("i_ino").or_else(|| field("ino")),
            number,
            argument: field("args").map(first_word),
            uuid: field("fsid"),
            subvolume: field("root_objectid"),
        };
        let needs_inode = matches!(
            event_type,
            FileEventType::PageAdded
                | FileEventType::PageFault
                | FileEventType::DirectStarted
                | FileEventType::FileSynced
        );
        let needs_device = needs_inode
            || matches!(
                event_type,
                FileEventType::CommitStarted
                    | FileEventType::CommitFinished
                    | FileEventType::JournalChanged
            );
        let is_complete = (!needs_device || layout.device.is_some())
            && (!needs_inode || layout.inode.is_some())
            && (event_type != FileEventType::AnyCallStarted || layout.argument.is_some())
            && (event_type != FileEventType::BtrfsFileSynced || layout.is_of_btrfs());
        is_complete.then_some(layout)
    }

    fn is_of_btrfs(&self) -> bool {
        self.uuid.is_some() && self.subvolume.is_some() && self.inode.is_some()
    }

    pub(super) fn decode_record(&self, at: u64, record: &[u8]) -> Option<FileEvent> {
        let number = |field: Option<FieldFormat>| field.and_then(|field| field.read_number(record));
        let device = || Some(device_number(number(self.device)? as u32));
        let file = || {
            Some(InodeKey {
                device: device()?,
                inode: number(self.inode)?,
            })
        };
        let action = match self.event_type {
            FileEventType::PageAdded => FileAction::PageAdded {
                file: file()?,
                // Older kernels have no order: one page. An invalid one must not overflow.
                pages: 1 << number(self.number).unwrap_or(0).min(20),
            },
            FileEventType::PageFault => FileAction::PageFault { file: file()? },
            FileEventType::Executed => FileAction::Executed,
            FileEventType::DirectStarted => FileAction::DirectStarted {
                file: file()?,
                bytes: number(self.number)?,
            },
            FileEventType::CallStarted(call) => FileAction::CallStarted {
                call,
                descriptor: number(self.number).map(|number| number as u32),
            },
            FileEventType::CallFinished(call) => FileAction::CallFinished { call },
            FileEventType::AnyCallStarted => {
                let call = SyncCall::from_number(number(self.number)?)?;
                let argument = number(self.argument).map(|argument| argument as u32);
                FileAction::CallStarted {
                    call,
                    descriptor: argument.filter(|_| call.has_descriptor()),
                }
            }
            FileEventType::AnyCallFinished => FileAction::CallFinished {
                call: SyncCall::from_number(number(self.number)?)?,
            },
            FileEventType::FileSynced => FileAction::FileSynced { file: file()? },
            FileEventType::BtrfsFileSynced => FileAction::BtrfsFileSynced {
                file: BtrfsFile {
                    uuid: record.get(self.uuid?.byte_range())?.try_into().ok()?,
                    subvolume: number(self.subvolume)?,
                    inode: number(self.inode)?,
                },
            },
            FileEventType::CommitStarted => FileAction::CommitStarted { device: device()? },
            FileEventType::CommitFinished => FileAction::CommitFinished { device: device()? },
            FileEventType::JournalChanged => FileAction::JournalChanged {
                device: device()?,
                blocks: number(self.number)? as u32,
            },
        };
        Some(FileEvent {
            timestamp_ns: at,
            pid: self.pid.read_number(record)? as u32,
            action,
        })
    }
}

/// The first element of an array of machine words.
fn first_word(array: FieldFormat) -> FieldFormat {
    FieldFormat {
        size: array.size.min(size_of::<libc::c_ulong>()),
        ..array
    }
}
