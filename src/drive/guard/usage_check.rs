//! Checks that a medium has no users.

use crate::drive::error::DriveError;
use crate::drive::guard::conflicts::alias::Alias;
use crate::drive::guard::conflicts::medium_usage::{MediumUsage, SearchDepth};
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::write_permit::{KnownUse, WritePermit};
use crate::drive::guard::{conflicts, obstacles};
use crate::drive::medium::TargetKind;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// Checks again once a descriptor for writing is open.
pub(in crate::drive) fn check_after_open(
    roots: &SysPaths,
    medium: &OpenMedium,
    permit: &WritePermit,
) -> Result<(), DriveError> {
    if medium.target.kind != TargetKind::ScratchFile {
        check_unused(
            roots,
            medium,
            SearchDepth::KernelTablesOnly,
            &permit.known_use,
        )?;
    }
    Ok(())
}

/// Checks that the medium is writable and has no users that the kernel reports.
pub(super) fn check_writable_and_unused(
    roots: &SysPaths,
    medium: &OpenMedium,
) -> Result<MediumUsage, Refusal> {
    if let Some(obstacle) = obstacles::find_obstacle(medium) {
        return Err(Refusal::NotWritable {
            name: medium.target.name.clone(),
            obstacle,
        });
    }
    check_unused(roots, medium, SearchDepth::Full, &KnownUse::default())
}

/// Checks that the medium has no users. Other devices with the same bytes are held exclusively
/// during the lifetime of the result.
pub(super) fn check_unused(
    roots: &SysPaths,
    medium: &OpenMedium,
    depth: SearchDepth,
    known: &KnownUse,
) -> Result<MediumUsage, Refusal> {
    let name = medium.target.name.clone();
    let mut usage = conflicts::find_medium_usage(roots, medium, depth, &known.unresolved)?;
    if depth == SearchDepth::KernelTablesOnly {
        // It is not held exclusively, so it could be mounted in any mount namespace.
        let new = usage
            .aliases
            .iter()
            .filter(|one| !known.aliases.contains(&one.name));
        usage.conflicts.extend(new.map(Alias::conflict));
    }
    if !usage.conflicts.is_empty() {
        return Err(Refusal::InUse {
            name,
            conflicts: usage.conflicts,
        });
    }
    if !usage.unresolved.is_empty() {
        return Err(Refusal::Unresolved {
            name,
            unresolved: usage.unresolved,
        });
    }
    Ok(usage)
}
