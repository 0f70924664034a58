//! What must not be lost or changed: targets, outputs, settings, hostile input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod elevation;
#[path = "../support/file_attributes.rs"]
mod file_attributes;
#[path = "../support/file_system.rs"]
mod file_system;
mod foreign_trees;
mod guard;
#[path = "../support/held_opens.rs"]
mod held_opens;
mod hostile;
mod limits;
#[path = "../support/loop_device.rs"]
mod loop_device;
mod outputs;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/requirement.rs"]
mod requirement;
mod settings;
#[path = "../support/slow_disk.rs"]
mod slow_disk;
