//! The program as its users run it: subcommands, loads, checks, kills.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alerts;
mod command_line;
mod compare;
mod config;
#[path = "../support/control_group.rs"]
mod control_group;
mod day;
#[path = "../support/file_attributes.rs"]
mod file_attributes;
#[path = "../support/file_system.rs"]
mod file_system;
#[path = "../support/fio.rs"]
mod fio;
mod fio_agreement;
mod fuse;
#[path = "../support/held_opens.rs"]
mod held_opens;
mod hot_files;
#[path = "../support/large_machine.rs"]
mod large_machine;
mod live;
#[path = "../support/loop_device.rs"]
mod loop_device;
#[path = "../support/median.rs"]
mod median;
mod printed_commands;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/random_file.rs"]
mod random_file;
mod recording;
mod requests;
#[path = "../support/requirement.rs"]
mod requirement;
mod ring;
mod robust;
mod scale;
#[path = "../support/slow_disk.rs"]
mod slow_disk;
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
mod why;
