//! The panes of the Live screen that replace its lists.

use std::sync::Arc;

use crate::app::error::OpenFilesError;
use crate::snapshot::files::{DeletedView, FileView};

/// A list of the Live screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LiveList {
    /// Block devices.
    Devices,
    /// Transfers.
    Transfers,
    /// Processes.
    #[default]
    Processes,
}

/// The pane shown in place of the lists.
#[derive(Debug, Clone, Default)]
pub enum LivePane {
    /// Nothing: the lists.
    #[default]
    Lists,
    /// The selected device: history, identity, stack, file systems, advice.
    Device,
    /// The selected transfer: whole paths, and its rate over time.
    Transfer,
    /// The selected process.
    Process,
    /// Open files of the selected process; `None` until they are listed.
    OpenFiles(Option<Result<Vec<FileView>, Arc<OpenFilesError>>>),
    /// Deleted files that still occupy space; `None` until the search is done.
    DeletedFiles(Option<Vec<DeletedView>>),
    /// Services, containers and other control groups.
    Units,
    /// Mounted file systems.
    Mounts,
    /// Memory, pressure and the files that grow.
    Memory,
}

impl LivePane {
    /// Whether the lists are shown.
    #[must_use]
    pub fn is_lists(&self) -> bool {
        matches!(self, Self::Lists)
    }
}
