//! Work at the start of a command that may never end, because a file system does not answer: done by
//! a process of its own, for a bounded time.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::files::printable::printable_str;
use crate::supervisor::system;

/// Most that a helper process may print.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// What a helper process said, and whether it has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct HelperOutcome {
    /// Its lines.
    pub lines: Vec<String>,
    /// The process, when it was late and has been killed. In state D it ends when what it waits for
    /// answers.
    pub killed_helper: Option<Pid>,
}

/// Has a child process do some work, waits for it at most `limit`, and yields the lines that it
/// yields. Where no process can be made the work is done by this one. Must be called while the
/// process has one thread.
pub fn run_in_child(limit: Duration, work: impl FnOnce() -> Vec<String>) -> HelperOutcome {
    let Ok((messages, to_parent)) = std::io::pipe() else {
        return run_here(work);
    };
    match system::fork() {
        Err(_) => run_here(work),
        Ok(None) => {
            drop(messages);
            let lines = match replace_descriptors(to_parent) {
                Ok(()) => escaped(work()),
                Err(_) => Vec::new(),
            };
            for line in lines {
                // A parent that does not listen any more has ended.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            std::process::exit(0);
        }
        Ok(Some(child)) => {
            drop(to_parent);
            wait_for_child(child, messages, limit)
        }
    }
}

/// The lines without control characters. This is done before they go through the pipe: a line break
/// in a name would be taken for the end of a line there.
fn escaped(lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines
        .map(|line| printable_str(&line).into_owned())
        .collect()
}

fn run_here(work: impl FnOnce() -> Vec<String>) -> HelperOutcome {
    HelperOutcome {
        lines: escaped(work()),
        killed_helper: None,
    }
}

/// In the child: the pipe instead of all descriptors, so that nobody who reads the output of the
/// program waits for the end of this process; and the end of the parent ends it.
fn replace_descriptors(to_parent: PipeWriter) -> std::io::Result<()> {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    rustix::stdio::dup2_stdin(&to_parent)?;
    rustix::stdio::dup2_stdout(&to_parent)?;
    rustix::stdio::dup2_stderr(&to_parent)?;
    drop(to_parent);
    system::close_all_but_standard();
    Ok(())
}

fn wait_for_child(child: Pid, messages: PipeReader, limit: Duration) -> HelperOutcome {
    let text = read_until_deadline(messages, Instant::now() + limit);
    let (text, is_over) = match text {
        Ok(text) => (text, true),
        Err(text) => (text, false),
    };
    if is_over {
        // It has closed its descriptors by ending; an error says that somebody else has reaped it.
        let _ = waitpid(Some(child), WaitOptions::empty());
    } else {
        let _ = kill_process(child, Signal::KILL);
        let _ = waitpid(Some(child), WaitOptions::NOHANG);
    }
    let text = String::from_utf8_lossy(&text);
    HelperOutcome {
        lines: text.lines().map(str::to_owned).collect(),
        killed_helper: (!is_over).then_some(child),
    }
}

/// All that comes; an error with what came until the deadline.
fn read_until_deadline(messages: PipeReader, deadline: Instant) -> Result<Vec<u8>, Vec<u8>> {
    let mut text = Vec::new();
    let mut messages = messages.take(MAX_OUTPUT_BYTES);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(limit) = Timespec::try_from(left) else {
            return Err(text);
        };
        let ready = {
            let mut source = [PollFd::new(messages.get_ref(), PollFlags::IN)];
            poll(&mut source, Some(&limit))
        };
        match ready {
            Ok(0) => return Err(text),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Err(text),
            Ok(_) => {}
        }
        let mut buffer = [0; 4096];
        match messages.read(&mut buffer) {
            Ok(0) if messages.limit() == 0 => return Err(text),
            Ok(0) => return Ok(text),
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_helper_are_escaped_before_they_are_sent() {
        let done = run_here(|| vec!["one\ntwo".to_owned(), "\x1b[2J".to_owned()]);
        assert_eq!(done.lines, ["one\\ntwo", "\\x1b[2J"]);
        assert_eq!(escaped(done.lines.clone()), done.lines);
    }
}
