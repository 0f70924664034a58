//! Other devices with the bytes of a medium.

use crate::drive::guard::conflicts::use_conflict::UseConflict;

/// Another device that shares bytes with a medium and is not in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::drive::guard) struct Alias {
    /// Kernel name.
    pub name: String,
    /// Relation to the medium.
    pub kind: AliasKind,
}

/// Relation of a device to the medium whose bytes it shares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::drive::guard) enum AliasKind {
    /// A loop device attached to the same backing file or device as the medium.
    SiblingLoopDevice {
        /// The backing file or device.
        lower: String,
    },
    /// A device-mapper or md device on a lower device of the medium.
    StackedDevice {
        /// The lower device.
        lower: String,
    },
    /// Another path to the same disk.
    DiskPath {
        /// The disk, by the name of the path used for the medium.
        disk: String,
    },
    /// A partition with sectors of the medium.
    Partition {
        /// Its disk.
        disk: String,
    },
    /// A partition whose table has sectors of the medium.
    PartitionByTable {
        /// Its disk.
        disk: String,
    },
    /// The device that a loop device is attached to.
    BackingDevice {
        /// The loop device.
        upper: String,
    },
    /// The device that an exporter of this machine serves as the medium.
    ServedDevice {
        /// The exporter, such as `nvmet subsystem NAME`.
        exporter: String,
    },
}

impl Alias {
    /// The conflict if it appears while a medium is written: it is not held exclusively, so it can
    /// be mounted in any mount namespace.
    pub(in crate::drive::guard) fn conflict(&self) -> UseConflict {
        let by = self.name.clone();
        match &self.kind {
            AliasKind::SiblingLoopDevice { lower } => UseConflict::AttachedLoopDevice {
                device: lower.clone(),
                by,
            },
            AliasKind::StackedDevice { lower } => UseConflict::HeldByDevice {
                device: lower.clone(),
                by,
            },
            AliasKind::DiskPath { disk } => UseConflict::OtherPath {
                device: by,
                disk: disk.clone(),
            },
            AliasKind::Partition { disk } => UseConflict::OverlappingSectors {
                device: by,
                lower: disk.clone(),
            },
            AliasKind::PartitionByTable { disk } => UseConflict::PartitionTable {
                partition: by,
                disk: disk.clone(),
            },
            AliasKind::BackingDevice { upper } => UseConflict::AttachedLoopDevice {
                device: by,
                by: upper.clone(),
            },
            AliasKind::ServedDevice { exporter } => UseConflict::Exported {
                device: by,
                by: exporter.clone(),
            },
        }
    }
}
