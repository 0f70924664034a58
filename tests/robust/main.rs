//! What may go wrong around a run, done for real: the program is killed, the file system is full,
//! the drive goes away, the clock is stepped. What needs root or FUSE says so in one line where it
//! cannot be tried.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cancel;
mod clean_up;
mod clock;
mod full;
mod kill;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod place;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/requirement.rs"]
mod requirement;
mod signals;
#[path = "../support/slow_disk.rs"]
mod slow_disk;
mod unmount;
