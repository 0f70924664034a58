//! A recording, as it is and with its checksums put right.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::recording(bytes);
    checks::recording_whose_sums_are_right(bytes);
});
