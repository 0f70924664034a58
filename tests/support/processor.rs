//! Processor time of the programs that a test or a benchmark has started.

#![allow(dead_code, reason = "not every program needs all of it")]

use std::fs;

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

/// The children of the first thread of a process.
pub fn children(id: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}

/// Processor time so far of all threads of a process and of its children, in nanoseconds
/// (/proc/PID/task/*/schedstat).
pub fn tree_cpu_ns(id: u32) -> u64 {
    let of_task = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    let tasks = fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten();
    let own: u64 = tasks.filter_map(|task| of_task(task.ok()?)).sum();
    own + children(id).into_iter().map(tree_cpu_ns).sum::<u64>()
}
