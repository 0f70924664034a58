//! Permission to write a medium.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::drive::guard::conflicts::process_list::ProcessList;
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::guard::device_keys::DeviceKey;
use crate::drive::guard::hold::{ExclusiveHold, HeldDescriptor};
use crate::drive::guard::map_tables::MapTable;
use crate::drive::guard::refusal::Refusal;
use crate::drive::medium::open_medium::OpenMedium;
use crate::drive::medium::{FileId, TargetKind};

/// The permission to write one medium. [`permit_writing`](super::permit_writing) grants it; scratch files carry their own.
#[derive(Debug)]
pub struct WritePermit {
    pub(super) id: FileId,
    pub(super) known_use: Arc<KnownUse>,
    /// Excludes other users for the lifetime of the permit; `None` for a scratch file.
    pub(super) hold: Option<ExclusiveHold>,
}

impl WritePermit {
    /// The medium that the permit is valid for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// A descriptor that keeps others from a block device as long as a request in the kernel uses it.
    pub(super) fn held_descriptor(&self, direct: bool) -> Option<HeldDescriptor> {
        self.hold.as_ref()?.descriptor(direct)
    }

    /// The descriptors that exclude others from the medium: what keeps them open keeps others out. None for a
    /// scratch file.
    pub(crate) fn held_files(&self) -> Vec<BorrowedFd<'_>> {
        let holds = self.hold.iter();
        holds.flat_map(ExclusiveHold::files).collect()
    }

    /// Writes back what was written to a block device by way of its page cache, and waits for it. The end
    /// of the permit does the same, before others can use the device.
    pub(crate) fn write_back(&self) {
        if let Some(hold) = &self.hold {
            hold.write_back();
        }
    }

    /// The users known when the permit was given.
    pub(crate) fn known(&self) -> &Arc<KnownUse> {
        &self.known_use
    }
}

/// The users of a medium known when a permit was given. Any new user ends the writing.
#[derive(Debug, Default)]
pub(crate) struct KnownUse {
    /// Uses that are unresolved but irrelevant: the kernel proved that no one else had the file
    /// open.
    pub(super) unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes, which the permit holds exclusively.
    pub(super) aliases: Vec<String>,
    /// The devices that the medium is on.
    pub(super) own_devices: Vec<DeviceKey>,
    /// The tables of the device-mapper devices that the medium consists of.
    pub(super) own_tables: Vec<MapTable>,
    /// The processes that were examined.
    pub(super) processes: ProcessList,
}

/// The permit of a scratch file: it has no name, so no one else can have opened it.
pub(in crate::drive) fn scratch_permit(medium: &OpenMedium) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::ScratchFile {
        return Ok(permit_without_hold(medium));
    }
    Err(Refusal::NoConsent {
        name: medium.target.name.clone(),
    })
}

pub(super) fn permit_without_hold(medium: &OpenMedium) -> WritePermit {
    WritePermit {
        id: medium.file_id(),
        known_use: Arc::default(),
        hold: None,
    }
}
