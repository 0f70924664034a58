//! Thread attributes that the standard library does not expose.

use std::time::Duration;

use super::EngineError;
use super::outcome::CpuTime;
use super::plan::IoSchedulingClass;

/// Prefix of the names of worker threads.
pub const WORKER_THREAD_PREFIX: &str = "worker-";

/// The calling thread only (include/uapi/linux/ioprio.h).
const IOPRIO_WHO_PROCESS: libc::c_int = 1;
/// Position of the class in the kernel's priority value.
const IOPRIO_CLASS_SHIFT: u32 = 13;

/// CPU time of the calling thread (getrusage(2), RUSAGE_THREAD).
#[must_use]
pub fn thread_cpu_time() -> CpuTime {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one struct rusage to the given address; zeroed memory is a valid
    // value if it fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    CpuTime {
        user_time: duration(usage.ru_utime),
        system_time: duration(usage.ru_stime),
    }
}

/// Asks the kernel to wake the calling thread at the requested time instead of up to 50 us later to
/// save power (prctl(2), PR_SET_TIMERSLACK). A failure is ignored: timers are then less precise.
pub fn set_timer_slack() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Sets the I/O class of the calling thread, if one is given (ioprio_set(2)).
///
/// # Errors
/// When the kernel refuses the class, for example realtime without `CAP_SYS_NICE`.
pub fn set_io_class(priority: Option<IoSchedulingClass>) -> Result<(), EngineError> {
    let (class, level, word) = match priority {
        None => return Ok(()),
        Some(IoSchedulingClass::Realtime(level)) => (1, level, "realtime"),
        Some(IoSchedulingClass::BestEffort(level)) => (2, level, "best-effort"),
        Some(IoSchedulingClass::Idle) => (3, 0, "idle"),
    };
    let number = (class << IOPRIO_CLASS_SHIFT) | libc::c_int::from(level.min(7));
    // SAFETY: ioprio_set takes three numbers and no pointer; 0 means the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, number) };
    if answer == 0 {
        return Ok(());
    }
    Err(EngineError::EngineStart {
        tried: format!("take the I/O class {word}"),
        source: std::io::Error::last_os_error(),
    })
}

/// CPU time between two readings.
#[must_use]
pub fn cpu_time_between(before: CpuTime, after: CpuTime) -> CpuTime {
    CpuTime {
        user_time: after.user_time.saturating_sub(before.user_time),
        system_time: after.system_time.saturating_sub(before.system_time),
    }
}
