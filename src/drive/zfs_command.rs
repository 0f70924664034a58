//! Calls zfs(8) and zpool(8): only their library knows the ioctls that tell properties and the progress of a
//! scan. They hang while a pool is suspended, so that nothing waits for them without a time limit.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

/// Where both are installed. A path that the environment names would be run by root.
const DIRECTORIES: [&str; 6] = [
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/bin",
    "/bin",
    "/run/current-system/sw/bin",
];
/// More of an answer is not read.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Time between two looks at a call that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A call that took too long and was ended.
static UNANSWERED: Mutex<Option<Child>> = Mutex::new(None);

fn lock_unanswered() -> MutexGuard<'static, Option<Child>> {
    UNANSWERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program of that name, if it is installed.
pub(crate) fn installed_program(name: &str) -> Option<PathBuf> {
    let mut paths = DIRECTORIES.iter().map(|it| Path::new(it).join(name));
    paths.find(|path| path.exists())
}

/// A program while it runs.
#[derive(Debug)]
pub(crate) struct ZfsCommand {
    child: Option<Child>,
    output: ChildStdout,
    answer: Vec<u8>,
}

impl ZfsCommand {
    /// Starts a program, without a shell.
    ///
    /// # Errors
    /// If it cannot be started, or an earlier one that was ended is still there.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> io::Result<Self> {
        if Self::is_one_unanswered() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("LC_ALL", "C")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        fcntl_setfl(&output, OFlags::NONBLOCK)?;
        Ok(Self {
            child: Some(child),
            output,
            answer: Vec::new(),
        })
    }

    /// What it has printed, once it has ended; nothing where it failed.
    pub(crate) fn answer(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 4096];
        // The answer ends with its output. What is beyond the limit is read and dropped.
        loop {
            match self.output.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) if self.answer.len() < MAX_ANSWER_BYTES => {
                    self.answer.extend(&buffer[..length]);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It may print more before it ends.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Vec::new()),
            }
        }
        match self.child.as_mut()?.try_wait() {
            Ok(Some(status)) if status.success() => Some(std::mem::take(&mut self.answer)),
            Ok(None) => None,
            Ok(Some(_)) | Err(_) => Some(Vec::new()),
        }
    }

    /// Whether an earlier call was ended and is still there: another one would wait for the same.
    fn is_one_unanswered() -> bool {
        let mut unanswered = lock_unanswered();
        // Also removes it from the table of processes.
        let is_there = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        let waits = unanswered.as_mut().is_some_and(is_there);
        if !waits {
            *unanswered = None;
        }
        waits
    }

    /// What it prints within a time; nothing where it takes longer: it is ended then.
    pub(crate) fn answer_within(mut self, limit: Duration) -> Vec<u8> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.answer() {
                return answer;
            }
            if begun.elapsed() >= limit {
                return Vec::new();
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// It may be in uninterruptible sleep: it is ended, and not waited for.
impl Drop for ZfsCommand {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take()
            && matches!(child.try_wait(), Ok(None))
        {
            let _ = child.kill();
            *lock_unanswered() = Some(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_that_fails_or_takes_too_long_has_no_answer() {
        let answer = |script: &str, limit| {
            let call = ZfsCommand::start(Path::new("/bin/sh"), &["-c", script]).unwrap();
            call.answer_within(Duration::from_millis(limit))
        };
        assert_eq!(answer("echo tank", 20_000), b"tank\n");
        assert_eq!(answer("echo tank; exit 1", 20_000), b"");
        let slow = "for word in a b c; do echo $word; sleep 0.02; done";
        assert_eq!(answer(slow, 20_000), b"a\nb\nc\n");
        let begun = Instant::now();
        assert_eq!(answer("echo tank; exec sleep 30", 50), b"");
        while ZfsCommand::is_one_unanswered() {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
