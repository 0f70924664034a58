//! Decompresses frames in bounded memory, and cuts them into lines.
//!
//! A kilobyte of deflate can stand for a megabyte: what comes out is handed on in small pieces, and
//! counted.

use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use serde::de::IgnoredAny;

use super::frame::LONGEST;
use crate::safe_json;

/// Bytes that are decompressed at a time.
const PIECE: usize = 64 << 10;
/// Longest line of a frame with requests; real ones have a few hundred bytes.
const LONGEST_LINE: usize = 64 << 10;

/// Takes decompressed bytes, or says why they make no sense.
pub(super) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), String> + 'a;

/// Why a frame cannot be decompressed.
#[derive(Debug)]
pub(super) enum InflateError {
    Io(io::Error),
    Content(String),
}

impl From<String> for InflateError {
    fn from(reason: String) -> Self {
        Self::Content(reason)
    }
}

/// Decompresses the next part of the stream, all that `frame` gives.
pub(super) fn inflate(
    decompress: &mut Decompress,
    mut frame: impl Read,
    sink: &mut Sink<'_>,
) -> Result<(), InflateError> {
    let senseless = || "the compressed data make no sense".to_owned();
    let (mut input, mut output) = (vec![0; PIECE], vec![0; PIECE]);
    let mut total = 0;
    loop {
        let read = frame.read(&mut input).map_err(InflateError::Io)?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = &input[..read];
        loop {
            let (before_in, before_out) = (decompress.total_in(), decompress.total_out());
            let status = decompress
                .decompress(rest, &mut output, FlushDecompress::Sync)
                .map_err(|error| error.to_string())?;
            let taken = (decompress.total_in() - before_in) as usize;
            let made = (decompress.total_out() - before_out) as usize;
            rest = &rest[taken..];
            total += made;
            if total > LONGEST {
                return Err(format!("it holds more than {} MiB", LONGEST >> 20).into());
            }
            sink(&output[..made])?;
            if status == Status::StreamEnd {
                return Err(senseless().into());
            }
            // Room left over says that nothing waits inside.
            if rest.is_empty() && made < output.len() {
                break;
            }
            if taken == 0 && made == 0 {
                return Err(senseless().into());
            }
        }
    }
}

/// Cuts decompressed bytes into lines, each a JSON object.
pub(super) struct Lines<'a> {
    each: &'a mut dyn FnMut(&str) -> bool,
    line: Vec<u8>,
    over: bool,
}

impl<'a> Lines<'a> {
    /// `each` is given the lines, and says whether to go on.
    pub(super) fn new(each: &'a mut dyn FnMut(&str) -> bool) -> Self {
        Self {
            each,
            line: Vec::new(),
            over: false,
        }
    }

    /// Whether no more lines are wanted.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LONGEST_LINE {
                return Err(format!("a line is longer than {LONGEST_LINE} bytes"));
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Hands over the line that is complete now.
    pub(super) fn end(&mut self) -> Result<(), String> {
        let line = self.line.trim_ascii();
        if !line.is_empty() {
            let object = std::str::from_utf8(line)
                .ok()
                .filter(|text| text.starts_with('{') && !text.bytes().any(|byte| byte < b' '))
                .filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
                .ok_or("a line is no JSON object")?;
            if !(self.each)(&safe_json::escaped(object)) {
                self.over = true;
                return Err("no more is wanted".to_owned());
            }
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> (Vec<String>, Result<(), String>) {
        let mut found = Vec::new();
        let mut each = |line: &str| {
            found.push(line.to_owned());
            found.len() < 3
        };
        let mut lines = Lines::new(&mut each);
        let result = pieces
            .iter()
            .try_for_each(|piece| lines.take(piece))
            .and_then(|()| lines.end());
        (found, result)
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        let (found, result) = lines(&[b"{\"a\":", b"1}\n{}", b"\n"]);
        assert_eq!(found, ["{\"a\":1}", "{}"]);
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn lines_that_are_no_json_or_too_long_are_refused() {
        assert!(lines(&[b"\x1b]52;c;x\x07\n"]).1.is_err());
        assert!(lines(&[b"{\"a\":\"\x1b\"}\n"]).1.is_err());
        assert!(lines(&[b"[1]\n"]).1.is_err());
        assert!(lines(&[b"\xff\n"]).1.is_err());
        let long = vec![b' '; LONGEST_LINE + 1];
        let error = lines(&[&long]).1.unwrap_err();
        assert!(error.contains("longer than"), "{error}");
    }

    #[test]
    fn bytes_that_json_permits_and_terminals_obey_are_escaped() {
        let (found, _) = lines(&["{\"a\":\"\u{9b}2J\u{202e}\u{7f}\"}\n".as_bytes()]);
        assert_eq!(found, [r#"{"a":"\u009b2J\u202e\u007f"}"#]);
    }
}
