//! Rates of a process between two samples.

use std::time::Duration;

use crate::probe::sample::ProcessIo;
use crate::snapshot::view::ProcessView;

pub(super) fn set_rates(view: &mut ProcessView, io: &ProcessIo, elapsed: Duration) {
    let per_second = |bytes: u64| Some(bytes as f64 / elapsed.as_secs_f64());
    view.read_bytes_per_s = per_second(io.read_bytes);
    // The cancelled bytes may have been written in an earlier interval.
    view.write_bytes_per_s = per_second(io.write_bytes.saturating_sub(io.cancelled_write_bytes));
    view.rchar_bytes_per_s = per_second(io.rchar);
    view.wchar_bytes_per_s = per_second(io.wchar);
    view.read_syscalls_per_s = per_second(io.read_calls);
    view.write_syscalls_per_s = per_second(io.write_calls);
    view.cache_fraction = cache_fraction(io);
}

pub(super) fn is_active(view: &ProcessView) -> bool {
    let rates = [
        view.read_bytes_per_s,
        view.write_bytes_per_s,
        view.rchar_bytes_per_s,
        view.wchar_bytes_per_s,
        view.io_wait,
    ];
    view.state == Some('D') || rates.into_iter().flatten().any(|rate| rate > 0.0)
}

/// Fraction of the bytes read that came from the page cache. Read-ahead may fetch more than
/// requested; then nothing came from the cache.
pub(super) fn cache_fraction(io: &ProcessIo) -> Option<f64> {
    (io.rchar > 0).then(|| (1.0 - io.read_bytes as f64 / io.rchar as f64).clamp(0.0, 1.0))
}
