//! Lines of `/proc/locks`.

/// How strong a lock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldLock {
    /// flock(2) with `LOCK_SH`.
    SharedFlock,
    /// Any other.
    Other,
}

/// One lock as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockLine {
    /// The process that holds it; `None` for an open file description lock.
    pub process: Option<u32>,
    /// Number of the device that holds the file.
    pub device: (u32, u32),
    /// Inode number of the file.
    pub inode: u64,
    /// How strong it is.
    pub held: HeldLock,
}

/// Parses `1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF`, with or without `lock:` before it.
/// `None` for a lease and for a blocked lock request.
#[must_use]
pub fn parse_lock_line(line: &str) -> Option<LockLine> {
    let line = line.strip_prefix("lock:").unwrap_or(line);
    let mut words = line.split_whitespace();
    words.next()?.strip_suffix(':')?;
    let kind = words.next()?;
    if !matches!(kind, "POSIX" | "OFDLCK" | "FLOCK") {
        return None;
    }
    let access = words.nth(1)?;
    let process: i64 = words.next()?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    let device = (hexadecimal(file.next()?)?, hexadecimal(file.next()?)?);
    Some(LockLine {
        process: u32::try_from(process).ok().filter(|process| *process > 0),
        device,
        inode: file.next()?.parse().ok()?,
        held: match (kind, access) {
            ("FLOCK", "READ") => HeldLock::SharedFlock,
            _ => HeldLock::Other,
        },
    })
}
