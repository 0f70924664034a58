//! Gives permission to write a medium, or refuses.

use std::sync::Arc;

use crate::drive::free_space;
use crate::drive::guard::conflicts::medium_usage::SearchDepth;
use crate::drive::guard::conflicts::process_list::ProcessList;
use crate::drive::guard::consent::Consent;
use crate::drive::guard::hold::ExclusiveHold;
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::usage_check::{check_unused, check_writable_and_unused};
use crate::drive::guard::write_permit::{KnownUse, WritePermit, permit_without_hold};
use crate::drive::guard::{conflicts, device_keys, map_tables, siblings};
use crate::drive::medium::TargetKind;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// Checks for conditions that forbid writing regardless of consent, so that consent is not
/// requested for nothing. A block device is held exclusively during the check.
///
/// # Errors
/// When it is in use or read-only.
pub fn check_not_in_use(roots: &SysPaths, medium: &OpenMedium) -> Result<(), Refusal> {
    check_writable_and_unused(roots, medium)?;
    match medium.target.kind {
        TargetKind::BlockDevice => ExclusiveHold::check_available(medium),
        _ => Ok(()),
    }
}

/// Gives permission to write a medium, or refuses. A scratch file needs no consent.
///
/// # Errors
/// Without consent, when the consent names another target or covers less than would be destroyed,
/// or when the medium is in use or read-only.
pub fn permit_writing(
    roots: &SysPaths,
    medium: &OpenMedium,
    consent: Option<&Consent>,
) -> Result<WritePermit, Refusal> {
    if medium.target.kind == TargetKind::ScratchFile {
        return Ok(permit_without_hold(medium));
    }
    // Read first, so that no change from the first check on is missed.
    let own_tables = map_tables::own_tables(roots, medium);
    let own_devices = device_keys::own_devices(roots, medium);
    let mut known = KnownUse {
        unresolved: check_writable_and_unused(roots, medium)?.initially_unresolved,
        aliases: Vec::new(),
        own_devices,
        own_tables,
        processes: ProcessList::default(),
    };
    super::consent::check_path(medium, consent)?;
    check_copy(roots, medium, consent)?;
    let mut hold = ExclusiveHold::acquire(medium)?;
    // Detects users that appeared between the first check and the exclusive open.
    let held = check_unused(roots, medium, SearchDepth::HeldMedium, &known)?;
    hold.lock_images(&held.images)?;
    known.processes = held.processes;
    let others = held.alias_holds;
    siblings::write_back_held_aliases(&others);
    hold.add_aliases(&held.aliases, others);
    known.aliases = held.aliases.into_iter().map(|one| one.name).collect();
    // From here on no file system can be mounted on the medium or on another device with its bytes:
    // the contents no longer change.
    if let Some(consent) = consent {
        super::consent::check_medium(roots, medium, consent, Some(hold.file()))?;
    }
    Ok(WritePermit {
        id: medium.file_id(),
        known_use: Arc::new(known),
        hold: Some(hold),
    })
}

/// Opening a file of a lower directory of an overlay for writing copies it to the upper directory,
/// which cannot be undone. So all checks come first, and the whole file must fit.
pub(super) fn check_copy(
    roots: &SysPaths,
    medium: &OpenMedium,
    consent: Option<&Consent>,
) -> Result<(), Refusal> {
    if !conflicts::is_copied_when_opened(roots, medium) {
        return Ok(());
    }
    if let Some(consent) = consent {
        super::consent::check_medium(roots, medium, consent, None)?;
    }
    let (name, size) = (&medium.target.name, medium.target.size_bytes);
    match free_space::copy_shortage(roots, medium.anchor(), size) {
        Some((free, reserve)) => Err(Refusal::NoRoomForCopy {
            name: name.clone(),
            size,
            free,
            reserve,
        }),
        None => Ok(()),
    }
}
