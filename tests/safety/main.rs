//! What must not be lost or changed: targets, outputs, settings, hostile input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod guard;
mod hostile;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod outputs;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/requirement.rs"]
mod requirement;
mod settings;
#[path = "../support/share.rs"]
mod share;
