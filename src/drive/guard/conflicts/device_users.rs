//! Users of several devices, in one search.

use crate::drive::guard::conflicts::device_stack::StackSearch;
use crate::drive::guard::conflicts::open_users;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::refusal::Refusal;
use crate::roots::SysPaths;

/// Who uses some devices, their partitions, and what is on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceUsers {
    /// Their uses. Each names the device that is used.
    pub conflicts: Vec<UseConflict>,
    /// Uses that could not be determined.
    pub unresolved: Vec<UnresolvedUse>,
}

/// Finds the users of the devices of these names: file systems of all mount namespaces, swap areas,
/// exports, stacked devices, and processes that have them open for writing, locked or mapped. Opens
/// none of the devices.
///
/// # Errors
/// When a table of the kernel cannot be read.
pub fn find_device_users<'n>(
    roots: &SysPaths,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<DeviceUsers, Refusal> {
    let mut search = StackSearch::new(roots, "the devices")?;
    search.search_upwards(names);
    let found = open_users::find_open_users(roots, &|id, path| search.compare_with_all(id, path));
    let users: Vec<_> = found
        .users
        .into_iter()
        .filter_map(|user| {
            let device = search.shared_name(user.id, "");
            user.into_conflict(device)
        })
        .collect();
    let unseen = found.unseen.map(UnresolvedUse::OpenDescriptors);
    let mut usage = search.into_usage();
    usage.conflicts.extend(users);
    usage.unresolved.extend(unseen);
    Ok(DeviceUsers {
        conflicts: usage.conflicts,
        unresolved: usage.unresolved,
    })
}
