//! Descriptors that are kept open, within the limit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::memory;
use crate::probe::text::pread_once;

/// Descriptors reserved for the rest of the program.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Budget of descriptors that may be kept open.
#[derive(Debug)]
pub struct DescriptorBudget {
    remaining: u64,
}

impl DescriptorBudget {
    /// Raises this process's limit of open files as far as it can, and takes what is left beyond a
    /// reserve, at most half of it.
    #[must_use]
    pub fn from_limit() -> Self {
        let current = memory::raise_open_files().min(u64::from(u32::MAX));
        Self::with_remaining(
            current
                .saturating_sub(RESERVED_DESCRIPTORS)
                .max(current / 4)
                / 2,
        )
    }

    /// A budget of this many.
    #[must_use]
    pub fn with_remaining(left: u64) -> Self {
        Self { remaining: left }
    }

    /// Makes room for that many descriptors in the kernel's table of this process, as far as they are in
    /// the budget; `any` is an open descriptor. The kernel doubles the table where it is full, and waits
    /// for a grace period of RCU each time if the process has threads (`expand_fdtable` in fs/file.c):
    /// some 10 ms.
    pub fn make_room(&self, any: BorrowedFd<'_>, count: usize) {
        let last = self.remaining.min(count as u64) + RESERVED_DESCRIPTORS;
        let Ok(last) = i32::try_from(last) else {
            return;
        };
        // Beyond the limit it fails, and the table grows as it is needed.
        drop(rustix::io::fcntl_dupfd_cloexec(any, last));
    }

    fn acquire(&mut self) -> bool {
        let any = self.remaining > 0;
        self.remaining = self.remaining.saturating_sub(1);
        any
    }

    fn release(&mut self) {
        self.remaining = self.remaining.saturating_add(1);
    }
}

/// A file that is read repeatedly.
#[derive(Debug)]
pub enum ReusedFile {
    /// Not opened yet, or opened for each read because the budget is used up.
    NotOpen,
    /// Kept open.
    KeptOpen(OwnedFd),
    /// Not read again.
    GivenUp,
}

impl ReusedFile {
    /// Whether it is kept open.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::KeptOpen(_))
    }

    /// Whether it is not read again.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        matches!(self, Self::GivenUp)
    }

    /// Reads it from its start; opens it first where it is not kept open, and keeps it open where
    /// the budget allows.
    ///
    /// # Errors
    ///
    /// The kernel's error; ESRCH when the process behind a kept descriptor has ended.
    pub fn read<'b>(
        &mut self,
        budget: &mut DescriptorBudget,
        opened: impl FnOnce() -> rustix::io::Result<OwnedFd>,
        buffer: &'b mut [u8],
    ) -> rustix::io::Result<&'b [u8]> {
        if !matches!(self, Self::NotOpen) {
            return self.read_once(opened, buffer);
        }
        let file = opened()?;
        let text = pread_once(file.as_fd(), buffer)?;
        if budget.acquire() {
            *self = Self::KeptOpen(file);
        }
        Ok(text)
    }

    /// Reads it from its start; where it is not kept open, opens it for this time only.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_once<'b>(
        &self,
        opened: impl FnOnce() -> rustix::io::Result<OwnedFd>,
        buffer: &'b mut [u8],
    ) -> rustix::io::Result<&'b [u8]> {
        match self {
            Self::KeptOpen(file) => pread_once(file.as_fd(), buffer),
            Self::GivenUp => Err(rustix::io::Errno::ACCESS),
            Self::NotOpen => pread_once(opened()?.as_fd(), buffer),
        }
    }

    /// Closes it permanently.
    pub fn give_up(&mut self, budget: &mut DescriptorBudget) {
        if self.is_kept() {
            budget.release();
        }
        *self = Self::GivenUp;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_descriptors_is_made_at_once_within_the_limit() {
        let table_size = || -> u64 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
            line.unwrap().trim().parse().unwrap()
        };
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let budget = DescriptorBudget::from_limit();
        let wanted = table_size() + 1;
        assert!(
            budget.remaining >= wanted,
            "the limit of open files is too low"
        );
        budget.make_room(file.as_fd(), wanted as usize);
        assert!(table_size() >= wanted);
        // More than the limit allows.
        DescriptorBudget::with_remaining(u64::MAX / 2).make_room(file.as_fd(), usize::MAX);
    }

    #[test]
    fn file_beyond_descriptor_budget_is_reopened_for_each_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"seven").unwrap();
        let opened = || crate::probe::text::open_relative(rustix::fs::CWD, file.path());
        let mut budget = DescriptorBudget::with_remaining(1);
        let (mut first, mut second) = (ReusedFile::NotOpen, ReusedFile::NotOpen);
        let mut buffer = [0; 16];
        for _ in 0..2 {
            assert_eq!(
                first.read(&mut budget, opened, &mut buffer).unwrap(),
                b"seven"
            );
            assert_eq!(
                second.read(&mut budget, opened, &mut buffer).unwrap(),
                b"seven"
            );
        }
        assert!(first.is_kept() && !second.is_kept());
        first.give_up(&mut budget);
        second.read(&mut budget, opened, &mut buffer).unwrap();
        assert!(second.is_kept());
    }
}
