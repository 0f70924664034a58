//! I/O priorities of processes (kernel include/uapi/linux/ioprio.h), for which there are no wrappers.

use std::io;

/// Class of an I/O priority with its number (kernel Documentation/block/ioprio.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoClass {
    /// Not set: it follows the nice value.
    Unset = 0,
    /// Served before all other classes.
    Realtime = 1,
    /// The default class.
    BestEffort = 2,
    /// Served only when no other class has requests.
    Idle = 3,
}

/// An I/O priority (kernel Documentation/block/ioprio.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPriority {
    /// Its class.
    pub class: IoClass,
    /// 0, the highest priority, to 7; unused for the idle class.
    pub level: u8,
}

/// Selects one process or thread.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;
/// The class is stored above the level.
const IOPRIO_CLASS_SHIFT: libc::c_long = 13;

/// The I/O priority of a process (ioprio_get(2)).
///
/// # Errors
/// When the process does not exist, or may not be queried.
pub fn io_priority(pid: u32) -> io::Result<IoPriority> {
    let pid = libc::c_int::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: ioprio_get takes two numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let classes = [IoClass::Realtime, IoClass::BestEffort, IoClass::Idle];
    let number = answer >> IOPRIO_CLASS_SHIFT;
    let class = classes
        .into_iter()
        .find(|class| *class as libc::c_long == number);
    let class = class.unwrap_or(IoClass::Unset);
    let level = (answer & 7) as u8;
    Ok(IoPriority { class, level })
}

/// Sets the class and level of a process (ioprio_set(2)); each of its threads has its own.
///
/// # Errors
/// When the process does not exist, belongs to another user, or the class needs privileges.
pub fn set_io_priority(pid: u32, class: IoClass, level: u8) -> io::Result<()> {
    let pid = libc::c_int::try_from(pid).map_err(io::Error::other)?;
    let class = (class as libc::c_long) << IOPRIO_CLASS_SHIFT;
    let priority = class | libc::c_long::from(level.min(7));
    // SAFETY: ioprio_set takes three numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, pid, priority) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_priority_set_is_read_back() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        set_io_priority(pid, IoClass::Idle, 0).unwrap();
        let idle = io_priority(pid).unwrap();
        set_io_priority(pid, IoClass::BestEffort, 6).unwrap();
        let lowered = io_priority(pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(idle.class, IoClass::Idle);
        let (class, level) = (IoClass::BestEffort, 6);
        assert_eq!(lowered, IoPriority { class, level });
        assert!(io_priority(u32::MAX).is_err());
    }
}
