//! Reads bytes of a device, a file or a partition in it.

use std::cell::Cell;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::FileExt;

/// A source of known size that can be read at any offset.
pub(super) trait ReadAt {
    /// Reads up to `buffer.len()` bytes; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

impl ReadAt for &[u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(offset..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A location that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFailure {
    /// Offset on the medium, in bytes, at which the read failed.
    pub offset: u64,
    /// The error of the kernel, such as `EIO`; `None` if it has no number.
    pub errno: Option<i32>,
}

impl std::fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.errno.map(io::Error::from_raw_os_error) {
            Some(error) => write!(f, "byte {} cannot be read: {error}", self.offset),
            None => write!(f, "byte {} cannot be read", self.offset),
        }
    }
}

/// Reads a medium. Keeps the first read failure and a digest of all bytes read.
pub(super) struct RegionReader<'a> {
    source: &'a dyn ReadAt,
    size: u64,
    failure: Cell<Option<ReadFailure>>,
    digest: Cell<u64>,
}

impl<'a> RegionReader<'a> {
    pub(super) fn new(source: &'a dyn ReadAt, size: u64) -> Self {
        Self {
            source,
            size,
            failure: Cell::new(None),
            digest: Cell::new(0),
        }
    }

    /// The first location that could not be read.
    pub(super) fn failure(&self) -> Option<ReadFailure> {
        self.failure.get()
    }

    /// Digest of the bytes read so far. It detects changes; it is not cryptographic and does not
    /// protect against an intentional collision.
    pub(super) fn digest(&self) -> u64 {
        self.digest.get()
    }

    /// The whole medium.
    pub(super) fn whole_medium(&self) -> MediumRegion<'_, 'a> {
        self.region(0, self.size)
    }

    /// A region of the medium, truncated at its end.
    pub(super) fn region(&self, start: u64, length: u64) -> MediumRegion<'_, 'a> {
        let start = start.min(self.size);
        MediumRegion {
            reader: self,
            start,
            length: length.min(self.size - start),
        }
    }

    /// Reads up to `length` bytes; fewer at the end of the medium or after a read failure.
    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            match self
                .source
                .read_at(&mut bytes[done..], offset + done as u64)
            {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let failure = ReadFailure {
                        offset: offset + done as u64,
                        errno: error.raw_os_error(),
                    };
                    self.failure.set(self.failure.get().or(Some(failure)));
                    break;
                }
            }
        }
        bytes.truncate(done);
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.digest.get());
        hasher.write_u64(offset);
        hasher.write(&bytes);
        self.digest.set(hasher.finish());
        bytes
    }
}

/// A region of a medium, with offsets relative to its start.
#[derive(Clone, Copy)]
pub(super) struct MediumRegion<'r, 'a> {
    reader: &'r RegionReader<'a>,
    /// Start on the medium, bytes.
    pub(super) start: u64,
    /// Length in bytes.
    pub(super) length: u64,
}

impl MediumRegion<'_, '_> {
    /// Reads up to `length` bytes at `offset`; fewer at the end or after a read failure.
    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let left = self.length.saturating_sub(offset);
        let length = usize::try_from(left).map_or(length, |left| left.min(length));
        if length == 0 {
            return Vec::new();
        }
        self.reader.read(self.start + offset, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FailingMedium;

    impl ReadAt for FailingMedium {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            if offset < 8 {
                let count = buffer.len().min(8 - offset as usize);
                return Ok(count);
            }
            Err(io::Error::from_raw_os_error(libc::EIO))
        }
    }

    #[test]
    fn region_reads_its_own_bytes_and_no_others() {
        let bytes: &[u8] = b"0123456789";
        let reader = RegionReader::new(&bytes, 10);
        let region = reader.region(2, 3);
        assert_eq!(region.read(0, 100), b"234");
        assert_eq!(region.read(1, 1), b"3");
        assert_eq!(region.read(3, 1), b"");
        assert_eq!(reader.region(8, u64::MAX).read(0, 100), b"89");
        assert_eq!(reader.region(u64::MAX, 5).read(0, 100), b"");
    }

    #[test]
    fn reader_keeps_the_first_failure() {
        let reader = RegionReader::new(&FailingMedium, 1 << 20);
        assert_eq!(reader.whole_medium().read(0, 16).len(), 8);
        assert_eq!(reader.whole_medium().read(100, 16).len(), 0);
        let failure = reader.failure().unwrap();
        assert_eq!((failure.offset, failure.errno), (8, Some(libc::EIO)));
        assert!(failure.to_string().starts_with("byte 8 cannot be read: "));
    }

    #[test]
    fn digest_depends_on_what_was_read() {
        let digest = |bytes: &[u8]| {
            let reader = RegionReader::new(&bytes, 4);
            reader.whole_medium().read(0, 4);
            reader.digest()
        };
        assert_eq!(digest(b"abcd"), digest(b"abcd"));
        assert_ne!(digest(b"abcd"), digest(b"abce"));
    }
}
