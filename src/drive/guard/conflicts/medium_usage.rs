//! Users of a medium.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::drive::guard::conflicts::alias::Alias;
use crate::drive::guard::conflicts::process_list::ProcessList;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::refusal::Refusal;

/// Users of a medium.
#[derive(Debug, Default)]
pub(in crate::drive::guard) struct MediumUsage {
    /// Uses that forbid writing, the most relevant first.
    pub conflicts: Vec<UseConflict>,
    /// Uses that could not be determined.
    pub unresolved: Vec<UnresolvedUse>,
    /// Uses that the kernel's tables left unresolved, before any other check.
    pub initially_unresolved: Vec<UnresolvedUse>,
    /// Other devices with the same bytes.
    pub aliases: Vec<Alias>,
    /// Descriptors of other devices with the same bytes, held exclusively so that nothing can be
    /// mounted or stacked on them.
    pub alias_holds: Vec<OwnedFd>,
    /// Regular files that contain the device: images of loop devices below it.
    pub images: Vec<ImageFile>,
    /// Processes that were examined.
    pub processes: ProcessList,
}

/// A regular file that contains a block device.
#[derive(Debug)]
pub(in crate::drive::guard) struct ImageFile {
    /// Its path, as text for display.
    pub name: String,
    /// Open with `O_PATH`.
    pub file: Rc<File>,
}

/// Extent of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive::guard) enum SearchDepth {
    /// Everything; the medium is not held exclusively yet.
    Full,
    /// Everything except locks and leases, which this program holds itself.
    HeldMedium,
    /// A few kernel tables only: mounts of this namespace, swap areas, loop devices, stacked
    /// devices.
    KernelTablesOnly,
}

/// Converts an error of reading a table to a [`Refusal`].
pub(super) fn unreadable_table(
    name: &str,
    tried: &'static str,
) -> impl FnOnce(io::Error) -> Refusal {
    let name = name.to_owned();
    move |source| Refusal::UseUnknown {
        name,
        tried,
        source,
    }
}
