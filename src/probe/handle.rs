//! Descriptors that are kept open, as many as the limit allows.

use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::text::pread_once;

/// Descriptors left to the rest of the program.
const RESERVED: u64 = 512;

/// How many more descriptors may be kept open.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Raises this process's soft limit of open files to the hard one (getrlimit(2)), and takes
    /// what is left beyond a reserve, at most half of it.
    #[must_use]
    pub fn from_limit() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        let current = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit.maximum,
            Err(_) => limit.current,
        };
        let current = current.unwrap_or(u64::from(u32::MAX));
        Self::of(current.saturating_sub(RESERVED).max(current / 4) / 2)
    }

    /// So many.
    #[must_use]
    pub fn of(left: u64) -> Self {
        Self { left }
    }

    fn take(&mut self) -> bool {
        let any = self.left > 0;
        self.left = self.left.saturating_sub(1);
        any
    }

    fn give_back(&mut self) {
        self.left = self.left.saturating_add(1);
    }
}

/// A file that is read again and again.
#[derive(Debug)]
pub enum Handle {
    /// Not opened yet, or opened anew each time because the budget is spent.
    NotOpen,
    /// Kept open.
    Kept(OwnedFd),
    /// Not to be tried again.
    Refused,
}

impl Handle {
    /// Whether it is kept open.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }

    /// Whether it is not to be tried again.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused)
    }

    /// Reads it from its beginning; opens it first where it is not kept open, and keeps it open
    /// where the budget allows.
    ///
    /// # Errors
    /// What the kernel said; ESRCH when the process behind a kept descriptor has ended.
    pub fn read<'b>(
        &mut self,
        budget: &mut Budget,
        opened: impl FnOnce() -> rustix::io::Result<OwnedFd>,
        buffer: &'b mut [u8],
    ) -> rustix::io::Result<&'b [u8]> {
        match self {
            Self::Kept(file) => pread_once(file.as_fd(), buffer),
            Self::Refused => Err(rustix::io::Errno::ACCESS),
            Self::NotOpen => {
                let file = opened()?;
                let text = pread_once(file.as_fd(), buffer)?;
                if budget.take() {
                    *self = Self::Kept(file);
                }
                Ok(text)
            }
        }
    }

    /// Closes it for good.
    pub fn refuse(&mut self, budget: &mut Budget) {
        if self.is_kept() {
            budget.give_back();
        }
        *self = Self::Refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_budget_files_are_opened_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"seven").unwrap();
        let opened = || super::super::text::open(rustix::fs::CWD, file.path());
        let mut budget = Budget::of(1);
        let (mut first, mut second) = (Handle::NotOpen, Handle::NotOpen);
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
        first.refuse(&mut budget);
        second.read(&mut budget, opened, &mut buffer).unwrap();
        assert!(second.is_kept());
    }
}
