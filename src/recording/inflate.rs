//! Decompresses frames in bounded memory, and splits them into lines.
//!
//! A kilobyte of deflate can expand to a megabyte: the output is passed on in small chunks, and its
//! size is limited.

use std::io::{self, Read};

use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use serde::de::IgnoredAny;

use super::frame::MAX_CONTENT_BYTES;
use crate::files::json;

/// Size of a chunk of output in bytes.
const INFLATE_CHUNK_BYTES: usize = 64 << 10;
/// Maximum length of a line in a frame with requests; real lines have a few hundred bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Receives decompressed bytes, or returns why they are invalid.
pub(super) type ByteSink<'a> = dyn FnMut(&[u8]) -> Result<(), ContentError> + 'a;

/// Why a frame cannot be decompressed.
#[derive(Debug)]
pub(super) enum InflateError {
    Io(io::Error),
    Content(ContentError),
}

impl From<ContentError> for InflateError {
    fn from(error: ContentError) -> Self {
        Self::Content(error)
    }
}

/// Why the content of a frame is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The decompressor refused it.
    #[error("{0}")]
    Deflate(String),
    /// The compressed stream ends or stalls within the frame.
    #[error("the compressed data is damaged")]
    DamagedStream,
    /// Its content is larger than that of any real frame.
    #[error("it contains more than {} MiB", MAX_CONTENT_BYTES >> 20)]
    TooLarge,
    /// A line is longer than any real line.
    #[error("a line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// A line is not a JSON object.
    #[error("a line is not a JSON object")]
    NotAnObject,
    /// The receiver of the lines ended the iteration.
    #[error("the iteration was ended")]
    Stopped,
    /// There is no restart of the compressed stream before the frame.
    #[error("there is no frame to start decompressing at")]
    NoRestart,
    /// It is not a sample.
    #[error("{0}")]
    Sample(String),
}

impl From<DecompressError> for ContentError {
    fn from(error: DecompressError) -> Self {
        Self::Deflate(error.to_string())
    }
}

/// Decompresses the part of the stream in `frame` completely.
pub(super) fn inflate_frame(
    decompress: &mut Decompress,
    mut frame: impl Read,
    sink: &mut ByteSink<'_>,
) -> Result<(), InflateError> {
    let (mut input, mut output) = (vec![0; INFLATE_CHUNK_BYTES], vec![0; INFLATE_CHUNK_BYTES]);
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
                .map_err(ContentError::from)?;
            let taken = (decompress.total_in() - before_in) as usize;
            let made = (decompress.total_out() - before_out) as usize;
            rest = &rest[taken..];
            total += made;
            if total > MAX_CONTENT_BYTES {
                return Err(ContentError::TooLarge.into());
            }
            sink(&output[..made])?;
            if status == Status::StreamEnd {
                return Err(ContentError::DamagedStream.into());
            }
            // If the output buffer is not full, the decompressor holds no more output.
            if rest.is_empty() && made < output.len() {
                break;
            }
            if taken == 0 && made == 0 {
                return Err(ContentError::DamagedStream.into());
            }
        }
    }
}

/// Splits decompressed bytes into lines, each a JSON object.
pub(super) struct LineSplitter<'a> {
    on_line: &'a mut dyn FnMut(&str) -> bool,
    line: Vec<u8>,
    is_stopped: bool,
}

impl<'a> LineSplitter<'a> {
    /// Creates a splitter. `each` receives the lines, and returns whether to continue.
    pub(super) fn new(each: &'a mut dyn FnMut(&str) -> bool) -> Self {
        Self {
            on_line: each,
            line: Vec::new(),
            is_stopped: false,
        }
    }

    /// Whether `each` has ended the iteration.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Adds the next bytes.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), ContentError> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > MAX_LINE_BYTES {
                return Err(ContentError::LineTooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.finish_line()?;
            }
        }
        Ok(())
    }

    /// Passes the complete line to `each`.
    pub(super) fn finish_line(&mut self) -> Result<(), ContentError> {
        let line = self.line.trim_ascii();
        if !line.is_empty() {
            let object = std::str::from_utf8(line)
                .ok()
                .filter(|text| text.starts_with('{') && !text.bytes().any(|byte| byte < b' '))
                .filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
                .ok_or(ContentError::NotAnObject)?;
            if !(self.on_line)(&json::escape_controls(object)) {
                self.is_stopped = true;
                return Err(ContentError::Stopped);
            }
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_lines(pieces: &[&[u8]]) -> (Vec<String>, Result<(), ContentError>) {
        let mut found = Vec::new();
        let mut each = |line: &str| {
            found.push(line.to_owned());
            found.len() < 3
        };
        let mut lines = LineSplitter::new(&mut each);
        let result = pieces
            .iter()
            .try_for_each(|piece| lines.push_bytes(piece))
            .and_then(|()| lines.finish_line());
        (found, result)
    }

    #[test]
    fn recorded_lines_are_joined_across_chunks() {
        let (found, result) = split_lines(&[b"{\"a\":", b"1}\n{}", b"\n"]);
        assert_eq!(found, ["{\"a\":1}", "{}"]);
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn recorded_lines_with_invalid_json_or_excess_length_are_refused() {
        assert!(split_lines(&[b"\x1b]52;c;x\x07\n"]).1.is_err());
        assert!(split_lines(&[b"{\"a\":\"\x1b\"}\n"]).1.is_err());
        assert!(split_lines(&[b"[1]\n"]).1.is_err());
        assert!(split_lines(&[b"\xff\n"]).1.is_err());
        let long = vec![b' '; MAX_LINE_BYTES + 1];
        assert_eq!(split_lines(&[&long]).1, Err(ContentError::LineTooLong));
    }

    #[test]
    fn control_characters_permitted_in_json_are_escaped() {
        let (found, _) = split_lines(&["{\"a\":\"\u{9b}2J\u{202e}\u{7f}\"}\n".as_bytes()]);
        assert_eq!(found, [r#"{"a":"\u009b2J\u202e\u007f"}"#]);
    }
}
