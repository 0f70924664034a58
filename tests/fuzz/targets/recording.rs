//! A recording, and the lines of one with the right checksums.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::recording(bytes);
    checks::recorded_lines(bytes);
});
