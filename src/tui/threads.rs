//! Joins threads that may wait for a device.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a thread is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits for a thread's end, at most this long; then the thread is abandoned.
pub(crate) fn join_within(thread: JoinHandle<()>, limit: Duration) {
    let deadline = Instant::now() + limit;
    while !thread.is_finished() {
        if Instant::now() > deadline {
            return;
        }
        thread::sleep(POLL_INTERVAL);
    }
    // Its panic was reported when it happened.
    let _ = thread.join();
}
