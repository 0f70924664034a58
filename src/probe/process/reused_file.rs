//! Descriptors that are kept open, within the limit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, Result};

use crate::drive::memory;
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
        let free = current
            .saturating_sub(RESERVED_DESCRIPTORS)
            .max(current / 4);
        Self {
            remaining: free / 2,
        }
    }

    /// Makes room for that many descriptors in the kernel's table of this process, as far as they are in
    /// the budget; `any` is an open descriptor. The kernel doubles the table where it is full, and waits
    /// for a grace period of RCU each time if the process has threads (`expand_fdtable` in fs/file.c):
    /// some 10 ms.
    pub fn make_room(&self, any: BorrowedFd<'_>, count: usize) {
        let last = self.remaining.min(count as u64) + RESERVED_DESCRIPTORS;
        // Beyond the limit it fails, and the table grows as it is needed.
        let last = i32::try_from(last).unwrap_or(i32::MAX);
        drop(rustix::io::fcntl_dupfd_cloexec(any, last));
    }
}

/// A file that is read repeatedly.
#[derive(Debug, Default)]
pub enum ReusedFile {
    /// Not opened yet, or opened for each read because the budget is used up.
    #[default]
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

    /// Reads it from its start; opens it first where it is not kept open, and keeps it open where
    /// there is a budget that allows it.
    ///
    /// # Errors
    ///
    /// The kernel's error; ESRCH when the process behind a kept descriptor has ended.
    pub fn read<'b>(
        &mut self,
        budget: Option<&mut DescriptorBudget>,
        opened: impl FnOnce() -> Result<OwnedFd>,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8]> {
        match self {
            Self::KeptOpen(file) => pread_once(file.as_fd(), buffer),
            Self::GivenUp => Err(Errno::ACCESS),
            Self::NotOpen => {
                let file = opened()?;
                let text = pread_once(file.as_fd(), buffer)?;
                if let Some(budget) = budget.filter(|budget| budget.remaining > 0) {
                    budget.remaining -= 1;
                    *self = Self::KeptOpen(file);
                }
                Ok(text)
            }
        }
    }

    /// Closes it permanently.
    pub fn give_up(&mut self, budget: &mut DescriptorBudget) {
        if self.is_kept() {
            budget.remaining += 1;
        }
        *self = Self::GivenUp;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_beyond_descriptor_budget_is_reopened_for_each_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"seven").unwrap();
        let opened = || crate::probe::text::open_relative(rustix::fs::CWD, file.path());
        let mut budget = DescriptorBudget { remaining: 1 };
        let mut files = [ReusedFile::NotOpen, ReusedFile::NotOpen];
        let mut buffer = [0; 16];
        for _ in 0..2 {
            for file in &mut files {
                let text = file.read(Some(&mut budget), opened, &mut buffer);
                assert_eq!(text.unwrap(), b"seven");
            }
        }
        assert!(files[0].is_kept() && !files[1].is_kept());
        files[0].give_up(&mut budget);
        files[1]
            .read(Some(&mut budget), opened, &mut buffer)
            .unwrap();
        assert!(files[1].is_kept());
        budget.make_room(
            std::fs::File::open(file.path()).unwrap().as_fd(),
            usize::MAX,
        );
    }
}
