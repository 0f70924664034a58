//! Whether anyone else has a regular file open, as the kernel counts openers: that includes every
//! process of every namespace, loop devices, swap files and file systems in the file.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use crate::drive::fcntl;
use crate::drive::fcntl::OtherOpeners;
use crate::drive::guard::conflicts::device_stack::StackSearch;
use crate::drive::guard::conflicts::overlay::UnderlyingFile;
use crate::drive::guard::conflicts::unseen_processes::UnseenProcesses;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::conflicts::{open_users, overlay};
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// How long to wait for a user that has it open only briefly.
const LEASE_TIMEOUT: Duration = Duration::from_millis(200);
const LEASE_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Queries the kernel and adds the result to that of the tables. `unseen`: why processes could not
/// be examined.
pub(super) fn check_sole_opener(
    roots: &SysPaths,
    medium: &OpenMedium,
    unseen: Option<UnseenProcesses>,
    search: &mut StackSearch<'_>,
) {
    if !search.usage.conflicts.is_empty() {
        return;
    }
    let name = &medium.target.name;
    let mut answer = persistent_openers(medium.anchor());
    if matches!(answer, Ok(OtherOpeners::Readers))
        && !is_file_open_for_reading(roots, medium.anchor(), search)
    {
        // The last opener may have closed it before the processes were examined.
        answer = persistent_openers(medium.anchor());
        if matches!(answer, Ok(OtherOpeners::Readers)) {
            search.usage.unresolved.push(UnresolvedUse::OpenForReading);
        }
    }
    match overlay::underlying_file(roots, medium.anchor()) {
        // So none of the unresolved users has it open either.
        UnderlyingFile::NotOverlay | UnderlyingFile::LowerLayer => {
            if matches!(answer, Ok(OtherOpeners::None)) {
                search.usage.unresolved.clear();
            }
            evaluate_openers(answer, name, unseen, search);
        }
        // A file open through the overlay is open there as well, including this program's
        // descriptor.
        UnderlyingFile::UpperLayer(real) => {
            evaluate_openers(answer, name, unseen.clone(), search);
            evaluate_openers(persistent_writers(&real), name, unseen, search);
        }
        UnderlyingFile::Unknown(question) => search.usage.unresolved.push(question),
    }
}

/// Whether anyone else has a file open that is open for writing here; `None` if the kernel does not
/// report it, as for an overlay file: the overlay itself has the real file open for writing.
pub(super) fn is_open_elsewhere(roots: &SysPaths, written: &File) -> Option<bool> {
    if !matches!(
        overlay::underlying_file(roots, written),
        UnderlyingFile::NotOverlay
    ) {
        return None;
    }
    let is_sole = retry_until(|| fcntl::is_sole_opener(written), |is_sole| *is_sole);
    is_sole.ok().map(|is_sole| !is_sole)
}

/// Whether a process has it open for reading, including this program by another descriptor.
fn is_file_open_for_reading(roots: &SysPaths, anchor: &File, search: &StackSearch<'_>) -> bool {
    open_users::is_open_for_reading(roots, anchor, &|id, path| search.compare_with_all(id, path))
}

/// Evaluates the kernel's answer.
fn evaluate_openers(
    others: io::Result<OtherOpeners>,
    name: &str,
    unseen: Option<UnseenProcesses>,
    search: &mut StackSearch<'_>,
) {
    match others {
        Ok(OtherOpeners::None) => {}
        // One visible reader does not account for the processes that cannot be seen.
        Ok(OtherOpeners::Readers) => {
            let unseen = unseen.map(UnresolvedUse::OpenDescriptors);
            search.usage.unresolved.extend(unseen);
        }
        Ok(OtherOpeners::Writers) => search.usage.conflicts.push(UseConflict::OpenByUnknown {
            device: name.to_owned(),
        }),
        // If the file system has no leases, only processes and tables remain. A user who may not
        // take a lease may not see all of those either.
        Err(error) if unseen.is_some() || error.kind() == io::ErrorKind::PermissionDenied => {
            let reason = error.to_string();
            search
                .usage
                .unresolved
                .push(UnresolvedUse::LeaseUnavailable { reason });
            let unseen = unseen.map(UnresolvedUse::OpenDescriptors);
            search.usage.unresolved.extend(unseen);
        }
        Err(_) => {}
    }
}

/// Other openers that have it open for more than a brief moment.
fn persistent_openers(file: &File) -> io::Result<OtherOpeners> {
    retry_until(
        || fcntl::other_openers(file),
        |others| *others == OtherOpeners::None,
    )
}

/// As above, for a file that this program itself has open for reading elsewhere.
fn persistent_writers(file: &File) -> io::Result<OtherOpeners> {
    retry_until(
        || fcntl::other_openers(file),
        |others| *others != OtherOpeners::Writers,
    )
}

/// Repeats the query until the answer is acceptable or the time is up.
fn retry_until<T>(ask: impl Fn() -> io::Result<T>, is_good: impl Fn(&T) -> bool) -> io::Result<T> {
    let began = Instant::now();
    loop {
        let answer = ask()?;
        if is_good(&answer) || began.elapsed() > LEASE_TIMEOUT {
            return Ok(answer);
        }
        std::thread::sleep(LEASE_RETRY_INTERVAL);
    }
}
