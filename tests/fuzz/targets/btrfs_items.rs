//! Items of the trees of btrfs.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::btrfs_items(bytes));
