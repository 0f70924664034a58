//! Formats and pages of the kernel's ring buffer. What comes before the first zero byte is a
//! format, what comes after it a page of a 6.1 kernel.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;

use std::path::Path;
use std::sync::LazyLock;

use diskscope::trace::events::catalog::EVENTS;
use diskscope::trace::events::decode::EventDecoder;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/6.1/events");
const HEADER: &str = include_str!("../../traces/6.1/events/header_page");

static DECODER: LazyLock<EventDecoder> = LazyLock::new(|| {
    EventDecoder::from_format_files(Path::new(DIRECTORY), EVENTS).0
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (text, page) = bytes.split_at(end.unwrap_or(bytes.len()));
    checks::trace_format(&String::from_utf8_lossy(text), page);
    checks::trace_page(HEADER, &DECODER, page);
});
