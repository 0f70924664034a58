//! Control groups, containers and volumes.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::units_and_volumes(bytes));
