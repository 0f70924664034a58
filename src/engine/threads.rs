//! What the standard library does not tell of a thread.

use std::time::Duration;

use super::outcome::CpuTime;

/// Processor time that the calling thread has used (getrusage(2), RUSAGE_THREAD).
#[must_use]
pub fn processor_time() -> CpuTime {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one struct rusage to the address given; zeroed memory is a valid
    // one also where it should fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    CpuTime {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
    }
}

/// Asks the kernel to wake the calling thread at the time asked for and not up to 50 us later to
/// save power (prctl(2), PR_SET_TIMERSLACK). A wish: it cannot fail in a way that matters.
pub fn wake_punctually() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// The time that was used between two readings.
#[must_use]
pub fn between(before: CpuTime, after: CpuTime) -> CpuTime {
    CpuTime {
        user: after.user.saturating_sub(before.user),
        system: after.system.saturating_sub(before.system),
    }
}
