//! Memory for buffers, aligned for `O_DIRECT`.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A page: sufficient alignment for every drive.
const PAGE_BYTES: usize = 4096;

/// Contiguous buffers of one size in a private mapping, each aligned to a page.
#[derive(Debug)]
pub struct AlignedBuffer {
    base: NonNull<u8>,
    stride: usize,
    buffer_count: usize,
    buffer_length: usize,
    leaked: bool,
}

// SAFETY: only this value refers to the memory; nothing in it is bound to a thread.
unsafe impl Send for AlignedBuffer {}

impl AlignedBuffer {
    /// Allocates `count` buffers of `length` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(count: usize, length: usize) -> io::Result<Self> {
        let stride = length.next_multiple_of(PAGE_BYTES);
        let total = stride.checked_mul(count).filter(|total| *total > 0);
        let total = total.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new private mapping at an address that the kernel chooses affects no other
        // mapping.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                total,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )?
        };
        Ok(Self {
            base: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            stride,
            buffer_count: count,
            buffer_length: length,
            leaked: false,
        })
    }

    /// Leaks the mapping: the kernel may still write into it.
    pub fn leak(&mut self) {
        self.leaked = true;
    }

    /// Address of a buffer.
    #[must_use]
    pub fn buffer_pointer(&self, index: usize) -> *mut u8 {
        assert!(
            index < self.buffer_count,
            "buffer {index} of {}",
            self.buffer_count
        );
        // SAFETY: index is below count, so that the result lies inside the mapping.
        unsafe { self.base.as_ptr().add(index * self.stride) }
    }

    /// The bytes of one buffer. The kernel must not have a request in flight on it.
    pub fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        // SAFETY: the buffer lies inside the mapping, which the kernel zeroed. The borrow of self
        // excludes every other reference, and buffers do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.buffer_pointer(index), self.buffer_length) }
    }

    /// The whole memory as one range, for registration with the kernel.
    #[must_use]
    pub fn iovec(&self) -> libc::iovec {
        libc::iovec {
            iov_base: self.base.as_ptr().cast(),
            iov_len: self.stride * self.buffer_count,
        }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        // SAFETY: exactly the mapping that `new` created; no reference to it remains. Unmapping a
        // mapped range cannot fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.stride * self.buffer_count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_buffers_are_page_aligned_and_disjoint() {
        let mut area = AlignedBuffer::new(3, 5000).unwrap();
        for index in 0..3 {
            assert_eq!(area.buffer_pointer(index) as usize % PAGE_BYTES, 0);
            area.buffer_mut(index).fill(index as u8 + 1);
        }
        for index in 0..3 {
            assert!(
                area.buffer_mut(index)
                    .iter()
                    .all(|byte| *byte == index as u8 + 1)
            );
        }
        assert!(AlignedBuffer::new(0, 4096).is_err());
    }
}
