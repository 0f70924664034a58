//! Outputs and inputs that the user names, and what the program keeps: nothing else is written.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod inputs;
mod kinds;
mod limits;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod mounted_files;
mod ownership;
mod place;
mod planted;
mod privacy;
#[path = "../support/requirement.rs"]
mod requirement;
