//! Settings of the system that the program changes: planted records, processes that change one
//! setting at the same time and are killed in every order, and who may run the program at all.
//!
//! Each test has a `/run` of its own, in a mount namespace.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod elevation;
mod ended;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod place;
mod planted;
#[path = "../support/process.rs"]
mod process;
mod race;
#[path = "../support/requirement.rs"]
mod requirement;
