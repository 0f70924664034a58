//! Real processes that move real files are found and followed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod ended;
mod eye;
mod files;
mod ordinary;
#[path = "../support/requirement.rs"]
mod requirement;
mod throttled;
mod trees;
mod watch;
