//! Returns the shell prompt although a drive does not respond.
//!
//! A thread that waits for a drive in the kernel (state D) cannot be killed, and a process ends
//! only when all of its threads have ended, so the shell would wait for the drive too. Therefore
//! the program splits before it accesses a drive: the *worker* process does all work, and its
//! parent, the *supervisor*, waits for it, forwards signals, and exits with its exit status. If the
//! worker is asked to end and cannot, the supervisor names it and exits alone.
//!
//! Both share process group, terminal and descriptors, so that job control works as for one
//! process. The worker is killed when the supervisor dies.

mod system;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process, waitpid};

use self::system::{BlockedSignals, SavedTerminal};

/// How long a worker that was asked to end may take before it is abandoned.
const EXIT_TIMEOUT: Duration = Duration::from_millis(700);
/// How long a worker whose result is printed and saved may take to end.
const DELIVERED_TIMEOUT: Duration = Duration::from_millis(800);
/// The first thread, which saves and prints, hangs when it is in state D for this long.
const HANG_THRESHOLD: Duration = Duration::from_millis(150);
/// How long the end of a killed worker is waited for: it takes a while to give up its memory and files.
const KILL_TIMEOUT: Duration = Duration::from_millis(100);
/// Poll interval while the end of the worker is awaited.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same before. A signal ends the wait, unless it came just before the wait began.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// Exit status of an interrupted program.
const INTERRUPTED_STATUS: i32 = 130;

/// How the worker ended.
#[derive(Debug, Clone, Copy)]
pub struct WorkerEnd {
    /// Whether it may have left settings changed: it did not report that its result is delivered.
    pub needs_clean_up: bool,
    status: u8,
    signal: Option<Signal>,
}

impl WorkerEnd {
    /// The exit status for this process. Does not return where a signal ended the worker: that signal ends
    /// this process too, so that the shell sees it.
    #[must_use]
    pub fn pass_on(self) -> ExitCode {
        if let Some(signal) = self.signal {
            system::end_by_signal(signal);
        }
        ExitCode::from(self.status)
    }
}

/// The worker's end of the pipe to its supervisor; unset without one.
static SUPERVISOR: OnceLock<Mutex<PipeWriter>> = OnceLock::new();

/// Splits the program into supervisor and worker. Returns in both: `None` in the worker, and also where the
/// program could not be split; in the supervisor when it is to exit. Must be called while the process has one
/// thread.
///
/// Where the worker ended before it could restore the terminal, the supervisor does, with the bytes of
/// `leave_screen`. What it has to say goes to `print_line`, which makes it safe for the terminal: it contains
/// the name of the target.
#[must_use]
pub fn split_process(leave_screen: fn() -> Vec<u8>, print_line: fn(&str)) -> Option<WorkerEnd> {
    let (messages, to_supervisor) = std::io::pipe().ok()?;
    let terminal = SavedTerminal::save(leave_screen);
    let supervisor = getpid();
    let blocked = BlockedSignals::new();
    let Some(worker) = system::fork().ok()? else {
        drop(blocked);
        become_worker(supervisor, to_supervisor);
        return None;
    };
    drop(to_supervisor);
    system::forward_signals(worker);
    drop(blocked);
    // Without this a read could wait for the worker; then only messages are late.
    let _ = rustix::io::ioctl_fionbio(&messages, true);
    let supervisor = Supervisor {
        worker,
        messages: BufReader::new(messages),
        terminal,
        print_line,
        state: WorkerState::default(),
    };
    Some(supervisor.wait_for_worker())
}

fn become_worker(supervisor: Pid, to_supervisor: PipeWriter) {
    // Without this, a kill -9 of the process that the shell knows would leave the load running.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(supervisor) {
        // The supervisor died before the signal was set.
        std::process::exit(1);
    }
    // Set here for the first time: the process splits only once.
    let _ = SUPERVISOR.set(Mutex::new(to_supervisor));
}

fn send_to_supervisor(message: &str) {
    if let Some(supervisor) = SUPERVISOR.get() {
        let mut pipe = supervisor.lock().unwrap_or_else(PoisonError::into_inner);
        // If the supervisor has died, the kernel has killed this process too.
        let _ = pipe.write_all(format!("{}\n", message.replace('\n', " ")).as_bytes());
    }
}

/// Reports the target in use to the supervisor, which names it if it abandons this process.
pub fn report_target(target: &str) {
    send_to_supervisor(&format!("target {target}"));
}

/// Reports whether the terminal is set up for the interface. The supervisor restores it when this process
/// ends before it could.
pub fn report_screen(is_set_up: bool) {
    send_to_supervisor(&format!("screen {is_set_up}"));
}

/// Reports that the program was asked to end: from now on the supervisor waits for a limited time
/// only.
pub fn report_ending() {
    send_to_supervisor("ending");
}

/// Reports that the result is printed and saved and only the exit of the process remains, which takes
/// as long as a thread waits in the kernel, for a device or a file system. This process closes the
/// terminal or pipe, because a reader at the other end waits for that.
pub fn report_delivered(exit: u8) {
    if SUPERVISOR.get().is_none() {
        return;
    }
    let _ = std::io::stdout().flush();
    send_to_supervisor(&format!("delivered {exit}"));
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        // A failure here only makes a reader wait until the process ends.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// The process that waits.
struct Supervisor {
    worker: Pid,
    messages: BufReader<PipeReader>,
    /// The terminal as it was before the worker started, if there is one.
    terminal: Option<SavedTerminal>,
    print_line: fn(&str),
    state: WorkerState,
}

/// What is known of the worker.
#[derive(Default)]
struct WorkerState {
    /// Part of a message.
    message: Vec<u8>,
    /// Whether its end of the pipe is closed, which it is when it ends.
    is_disconnected: bool,
    target: Option<String>,
    /// Whether it has set up the terminal for the interface.
    has_screen: bool,
    /// Since when its end is awaited.
    ending_since: Option<Instant>,
    /// Since when its first thread is in state D.
    blocked_since: Option<Instant>,
    /// Its exit status, if its result is printed and saved.
    delivered_status: Option<i32>,
}

impl WorkerState {
    fn handle_message(&mut self, message: &str) {
        let (word, value) = message.split_once(' ').unwrap_or((message, ""));
        match word {
            "target" => self.target = Some(value.to_owned()),
            "screen" => self.has_screen = value == "true",
            "delivered" => self.delivered_status = value.parse().ok(),
            _ => {}
        }
        if matches!(word, "ending" | "delivered") {
            self.start_ending();
        }
    }

    fn start_ending(&mut self) {
        self.ending_since.get_or_insert_with(Instant::now);
    }
}

impl Supervisor {
    /// Waits for the worker or abandons it.
    fn wait_for_worker(mut self) -> WorkerEnd {
        loop {
            self.wait_for_event();
            self.read_messages();
            if system::take_end_request() {
                self.state.start_ending();
            }
            if let Some(end) = self.reap_worker() {
                self.read_messages();
                self.restore_terminal();
                return end;
            }
            if self.is_late() {
                return self.abandon_worker();
            }
        }
    }

    fn wait_for_event(&self) {
        let is_ending = self.state.ending_since.is_some() || self.state.is_disconnected;
        let limit = if is_ending {
            POLL_INTERVAL
        } else {
            IDLE_INTERVAL
        };
        let mut source = [PollFd::new(self.messages.get_ref(), PollFlags::IN)];
        let sources = usize::from(!self.state.is_disconnected);
        // A signal ends the wait.
        let _ = poll(
            &mut source[..sources],
            Timespec::try_from(limit).ok().as_ref(),
        );
    }

    fn read_messages(&mut self) {
        let state = &mut self.state;
        // The error is that there is nothing to be read.
        while let Ok(count) = self.messages.read_until(b'\n', &mut state.message) {
            if count == 0 {
                state.is_disconnected = true;
                return;
            }
            let message = std::mem::take(&mut state.message);
            state.handle_message(String::from_utf8_lossy(&message).trim_end());
        }
    }

    /// How the worker ended, if it has. Stops this process if the terminal stopped the worker.
    fn reap_worker(&self) -> Option<WorkerEnd> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        let status = match waitpid(Some(self.worker), options) {
            Ok(ended) => ended?.1,
            Err(rustix::io::Errno::INTR) => return None,
            // Another process has reaped it: there is nothing to wait for.
            Err(_) => return Some(self.end(1, None)),
        };
        if let Some(number) = status.terminating_signal() {
            return Some(self.end(128 + number, Signal::from_named_raw(number)));
        }
        if let Some(code) = status.exit_status() {
            return Some(self.end(code, None));
        }
        let stops = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        let is_stop = |signal| stops.contains(&signal);
        // The shell may have continued both in the meantime.
        if status.stopping_signal().is_some_and(is_stop) && self.first_thread_state() == Some(b'T')
        {
            let _ = kill_process(getpid(), Signal::STOP);
        }
        None
    }

    fn end(&self, status: i32, signal: Option<Signal>) -> WorkerEnd {
        WorkerEnd {
            needs_clean_up: self.state.delivered_status.is_none(),
            status: u8::try_from(status).unwrap_or(1),
            signal,
        }
    }

    /// Whether the worker has exceeded its time to end.
    fn is_late(&mut self) -> bool {
        let Some(since) = self.state.ending_since else {
            return false;
        };
        let elapsed = since.elapsed();
        if self.state.delivered_status.is_some() {
            return elapsed >= DELIVERED_TIMEOUT;
        }
        // The first thread saves and prints. As long as no device blocks it, it makes progress, or
        // waits for the reader of its output. A thread that has ended waits for the others.
        if !matches!(self.first_thread_state(), Some(b'D' | b'Z')) {
            self.state.blocked_since = None;
            return false;
        }
        let blocked_since = *self.state.blocked_since.get_or_insert_with(Instant::now);
        elapsed >= EXIT_TIMEOUT && blocked_since.elapsed() >= HANG_THRESHOLD
    }

    fn first_thread_state(&self) -> Option<u8> {
        let worker = self.worker.as_raw_nonzero();
        process_state(&fs::read(format!("/proc/{worker}/task/{worker}/stat")).ok()?)
    }

    /// Restores the terminal if the worker did not: it draws nothing any more.
    fn restore_terminal(&self) {
        if let (Some(terminal), true) = (&self.terminal, self.state.has_screen) {
            terminal.restore();
        }
    }

    /// Kills the worker and names it if it remains.
    fn abandon_worker(&self) -> WorkerEnd {
        // Its remaining threads end as soon as the kernel releases them.
        let _ = kill_process(self.worker, Signal::KILL);
        let deadline = Instant::now() + KILL_TIMEOUT;
        let mut is_gone = false;
        while !is_gone && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
            // An error says that somebody else has reaped it.
            is_gone = !matches!(waitpid(Some(self.worker), WaitOptions::NOHANG), Ok(None));
        }
        // Only now no thread of it draws any more.
        self.restore_terminal();
        if self.state.delivered_status.is_none() && self.state.target.is_some() {
            (self.print_line)(
                "diskscope: ended before the result was saved: the journal of the session contains the results up to a second before, if there was room for them (diskscope show)",
            );
        }
        if !is_gone {
            let pid = self.worker.as_raw_nonzero();
            let target = self.state.target.as_deref().unwrap_or("a file or device");
            (self.print_line)(&format!(
                "diskscope: process {pid} continues to run: it waits in the kernel for {target} and keeps it open, exclusively if it was to be written; it ends when that responds"
            ));
        }
        self.end(
            self.state.delivered_status.unwrap_or(INTERRUPTED_STATUS),
            None,
        )
    }
}

/// The state letter of a /proc/PID/stat (proc_pid_stat(5)): it follows the name in parentheses,
/// which may hold any character.
fn process_state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_state_with_parentheses_in_name_is_found() {
        assert_eq!(process_state(b"12 (a) R (b) D 1 2"), Some(b'D'));
        assert_eq!(process_state(b"12 (sh) T 1"), Some(b'T'));
        assert_eq!(process_state(b"12 (sh)"), None);
        assert_eq!(process_state(b""), None);
    }
}
