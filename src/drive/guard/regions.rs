//! Reads parts of a medium.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes read at the start and at the end of each region. What differs there is other content.
const EDGE_BYTES: u64 = 256 << 10;
/// A place that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFailure {
    /// Offset on the medium, in bytes.
    pub offset: u64,
    /// The error of the kernel, such as `EIO`.
    pub errno: i32,
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        write!(f, "byte {} cannot be read: {error}", self.offset)
    }
}

/// Reads a medium; keeps the first failure, and a digest of the edges of regions.
pub(super) struct Reader<'f> {
    file: &'f File,
    failure: Cell<Option<ReadFailure>>,
    digest: RefCell<DefaultHasher>,
}

/// A part of a medium, with its first and last bytes.
pub(super) struct Region<'r> {
    reader: &'r Reader<'r>,
    start: u64,
    /// Length in bytes.
    pub(super) length: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(file: &'f File) -> Self {
        Self {
            file,
            failure: Cell::new(None),
            digest: RefCell::default(),
        }
    }

    /// The first place that could not be read.
    pub(super) fn failure(&self) -> Option<ReadFailure> {
        self.failure.get()
    }

    /// A digest of the edges of all regions.
    pub(super) fn digest(&self) -> u64 {
        self.digest.borrow().finish()
    }

    /// A part of the medium; its first and last bytes are read.
    pub(super) fn region(&self, start: u64, length: u64) -> Region<'_> {
        let edge = length.min(EDGE_BYTES);
        let head = self.read(start, edge as usize);
        let tail = self.read(start + length - edge, edge as usize);
        let mut digest = self.digest.borrow_mut();
        digest.write(&head);
        digest.write(&tail);
        Region {
            reader: self,
            start,
            length,
            head,
            tail,
        }
    }

    /// Up to so many bytes; fewer at the end, and after a failure.
    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            match self.file.read_at(&mut bytes[done..], at) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    let failure = ReadFailure { offset: at, errno };
                    self.failure.set(self.failure.get().or(Some(failure)));
                    break;
                }
            }
        }
        bytes.truncate(done);
        bytes
    }
}

impl Region<'_> {
    /// Up to so many bytes of the region; fewer at its end.
    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let end = offset + length as u64;
        if end <= self.head.len() as u64 {
            return self.head[offset as usize..end as usize].to_vec();
        }
        let left = self.length.saturating_sub(offset);
        let length = usize::try_from(left).map_or(length, |left| left.min(length));
        self.reader.read(self.start + offset, length)
    }

    /// Whether these bytes are there.
    pub(super) fn holds(&self, offset: u64, bytes: &[u8]) -> bool {
        self.read(offset, bytes.len()) == bytes
    }

    /// Whether its first and last bytes are zeros.
    pub(super) fn edges_are_zero(&self) -> bool {
        self.head.iter().chain(&self.tail).all(|byte| *byte == 0)
    }
}
