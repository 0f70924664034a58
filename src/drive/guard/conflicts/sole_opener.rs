//! Whether anybody else has a regular file open, as the kernel counts it: that knows every process
//! of every namespace, loop devices, swap files and file systems in the file.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use super::device_stack::Search;
use super::open_users::{self, Unseen};
use super::overlay::{self, RealFile};
use super::{Conflict, Unresolved};
use crate::drive::fcntl::{self, OtherOpeners};
use crate::drive::target::Medium;
use crate::roots::Roots;

/// How long a user is waited for that has it open for a moment.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

/// Asks the kernel, and adds what the answer means to what the tables told. `unseen`: why processes
/// could not be examined.
pub(super) fn ask(roots: &Roots, medium: &Medium, unseen: Option<Unseen>, search: &mut Search<'_>) {
    if !search.usage.conflicts.is_empty() {
        return;
    }
    let name = &medium.target.name;
    let mut answer = others(medium.anchor());
    if matches!(answer, Ok(OtherOpeners::Readers)) && !is_read(roots, medium.anchor(), search) {
        // The last one may have closed it before the processes were examined.
        answer = others(medium.anchor());
        if matches!(answer, Ok(OtherOpeners::Readers)) {
            search.usage.unresolved.push(Unresolved::Reader);
        }
    }
    match overlay::real_file(roots, medium.anchor()) {
        // Not even what could not be identified has it open.
        RealFile::Itself | RealFile::Lower => {
            if matches!(answer, Ok(OtherOpeners::None)) {
                search.usage.unresolved.clear();
            }
            judge(answer, name, unseen, search);
        }
        // What is open through the overlay is open there too, and this program's own.
        RealFile::Upper(real) => {
            judge(answer, name, unseen.clone(), search);
            judge(others_than_readers(&real), name, unseen, search);
        }
        RealFile::Unknown { at } => search.usage.unresolved.push(Unresolved::Overlay { at }),
    }
}

/// Whether anybody else has a file open that is open for writing here; `None` where the kernel does
/// not tell. Of a file of an overlay it does not: the overlay itself has the real file open for
/// writing.
pub(super) fn is_open_elsewhere(roots: &Roots, written: &File) -> Option<bool> {
    if !matches!(overlay::real_file(roots, written), RealFile::Itself) {
        return None;
    }
    let is_sole = lasting(|| fcntl::is_sole_opener(written), |is_sole| *is_sole);
    is_sole.ok().map(|is_sole| !is_sole)
}

/// Whether a process has it open for reading, this program by another descriptor included.
fn is_read(roots: &Roots, anchor: &File, search: &Search<'_>) -> bool {
    open_users::is_read(roots, anchor, &|id, path| search.shares(id, path))
}

/// What the kernel's answer proves.
fn judge(
    others: io::Result<OtherOpeners>,
    name: &str,
    unseen: Option<Unseen>,
    search: &mut Search<'_>,
) {
    match others {
        Ok(OtherOpeners::None) => {}
        // One visible reader does not explain those that cannot be seen.
        Ok(OtherOpeners::Readers) => {
            let unseen = unseen.map(Unresolved::Processes);
            search.usage.unresolved.extend(unseen);
        }
        Ok(OtherOpeners::Writers) => search.usage.conflicts.push(Conflict::OpenUnseen {
            device: name.to_owned(),
        }),
        // A file system without leases leaves what processes and tables tell; who has no right to
        // one may not see all of that either.
        Err(error) if unseen.is_some() || error.kind() == io::ErrorKind::PermissionDenied => {
            let reason = error.to_string();
            search.usage.unresolved.push(Unresolved::Lease { reason });
            let unseen = unseen.map(Unresolved::Processes);
            search.usage.unresolved.extend(unseen);
        }
        Err(_) => {}
    }
}

/// Who else has it open for longer than a moment.
fn others(file: &File) -> io::Result<OtherOpeners> {
    lasting(
        || fcntl::other_openers(file),
        |others| *others == OtherOpeners::None,
    )
}

/// The same for a file that this program itself has open for reading elsewhere.
fn others_than_readers(file: &File) -> io::Result<OtherOpeners> {
    lasting(
        || fcntl::other_openers(file),
        |others| *others != OtherOpeners::Writers,
    )
}

/// Asks again for a while, until the answer is a good one.
fn lasting<T>(ask: impl Fn() -> io::Result<T>, is_good: impl Fn(&T) -> bool) -> io::Result<T> {
    let began = Instant::now();
    loop {
        let answer = ask()?;
        if is_good(&answer) || began.elapsed() > PATIENCE {
            return Ok(answer);
        }
        std::thread::sleep(PAUSE);
    }
}
