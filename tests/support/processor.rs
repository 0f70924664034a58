//! Processor time of the programs that a test or a benchmark has started.

#![allow(dead_code, reason = "not every program needs all of it")]

/// User and system time in microseconds of all children that were waited for
/// (getrusage(2), `RUSAGE_CHILDREN`; the kernel scales it to nanoseconds actually run).
pub fn children_cpu_us() -> f64 {
    // SAFETY: all zeros is a valid rusage, and the kernel fills in the whole of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    us(usage.ru_utime) + us(usage.ru_stime)
}
