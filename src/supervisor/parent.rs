//! The supervisor's loop.

use std::fs;
use std::io::{PipeReader, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};

use crate::supervisor::system;
use crate::supervisor::system::SignalDescriptor;
use crate::supervisor::terminal::SavedTerminal;

/// A second signal within this time is a duplicate of the first: a terminal sends it to both
/// processes, timeout(1) to the process and to its group.
pub const REPEATED_SIGNAL_WINDOW: Duration = Duration::from_millis(300);

/// How long a worker that was asked to end may take before it is abandoned.
const EXIT_TIMEOUT: Duration = Duration::from_millis(700);
/// How long a worker that ended by itself may take to exit while threads of it are in state D.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);
/// The first thread, which saves and prints, hangs when it is in state D for this long.
const HANG_THRESHOLD: Duration = Duration::from_millis(150);
/// Within this time after a stop of this process, the worker may stop itself because of it.
const RECENT_STOP_WINDOW: Duration = Duration::from_secs(1);
/// How long the end of a killed worker is waited for when the user asked twice: it takes a while to
/// give up its memory and files. One that was late waits for a device, which has taken long already.
const KILL_TIMEOUT: Duration = Duration::from_millis(100);
/// While a worker is late, a longer time between two polls was a stop of this process (Ctrl-Z, SIGSTOP, the
/// freezer), and of the worker with it.
const MIN_STOP_TIME: Duration = Duration::from_secs(1);
/// Poll interval for a late worker.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Exit status of an interrupted program.
const INTERRUPTED_STATUS: u8 = 130;
/// Bytes of a `struct signalfd_siginfo`.
const SIGNALFD_INFO_BYTES: usize = 128;

/// What the worker uses the terminal for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenUse {
    /// Lines of text at most.
    None,
    /// The interface: raw mode and the alternate screen.
    SetUp,
}

impl ScreenUse {
    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SetUp => "set-up",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::SetUp]
            .into_iter()
            .find(|screen| screen.name() == name)
    }
}

/// State of the supervisor: messages from the worker and requests to it.
struct Supervisor<'a> {
    worker: Pid,
    messages: Option<PipeReader>,
    signals: &'a SignalDescriptor,
    /// Part of a message.
    partial_message: Vec<u8>,
    target: Option<String>,
    /// The terminal as it was before the worker started, if there is one.
    terminal: Option<SavedTerminal>,
    screen: ScreenUse,
    timers: WorkerTimers,
    /// Exit status of a worker whose result is printed and saved.
    delivered_status: Option<u8>,
    /// Whether the user requested the end a second time.
    asked_twice: bool,
    /// When this process was last continued after a stop.
    continued_at: Option<Instant>,
    reports: SupervisorReports,
}

/// How the supervisor tells the user something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SupervisorReports {
    /// Tells what the stopped worker has changed.
    pub(crate) report_stop: fn(Pid),
    /// Prints one line, which may contain names from outside.
    pub(crate) print_line: fn(&str),
}

/// Since when the worker's end is waited for, and what it waits for itself. The time in which both processes
/// were stopped does not count.
#[derive(Debug)]
struct WorkerTimers {
    end_requested_at: Option<Instant>,
    /// When the worker reported its regular end, which nobody had requested.
    finished_at: Option<Instant>,
    /// Time since which the worker's first thread is in state D.
    blocked_since: Option<Instant>,
    /// The last poll, if the worker was polled from then on: before, this process waits for an event
    /// without a limit.
    polled_at: Option<Instant>,
}

impl WorkerTimers {
    fn new() -> Self {
        Self {
            end_requested_at: None,
            finished_at: None,
            blocked_since: None,
            polled_at: None,
        }
    }

    /// Whether the worker is polled: its end is waited for.
    fn is_running(&self) -> bool {
        self.end_requested_at.is_some() || self.finished_at.is_some()
    }

    /// Excludes the time since the last poll where this process was stopped in it.
    fn exclude_stop(&mut self, now: Instant) {
        let next = self.is_running().then_some(now);
        let Some(before) = std::mem::replace(&mut self.polled_at, next) else {
            return;
        };
        let elapsed = now.duration_since(before);
        if elapsed < MIN_STOP_TIME {
            return;
        }
        let timers = [
            &mut self.end_requested_at,
            &mut self.finished_at,
            &mut self.blocked_since,
        ];
        for since in timers.into_iter().flatten() {
            *since = (*since + elapsed).min(now);
        }
    }
}

/// How the worker ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerEnd {
    /// The exit status for the program.
    pub(crate) status: u8,
    /// The signal that ended the worker.
    pub(crate) signal: Option<Signal>,
    /// Whether it may have left settings changed: it had no time to restore them, and it is gone, so
    /// that nothing holds them.
    pub(crate) needs_clean_up: bool,
}

/// Waits for the worker or abandons it.
pub(crate) fn supervise(
    worker: Pid,
    messages: PipeReader,
    signals: &SignalDescriptor,
    terminal: Option<SavedTerminal>,
    reports: SupervisorReports,
) -> WorkerEnd {
    let mut supervisor = Supervisor {
        worker,
        messages: Some(messages),
        signals,
        partial_message: Vec::new(),
        target: None,
        terminal,
        screen: ScreenUse::None,
        timers: WorkerTimers::new(),
        delivered_status: None,
        asked_twice: false,
        continued_at: None,
        reports,
    };
    loop {
        supervisor.wait_for_event();
        supervisor.read_messages();
        supervisor.read_signals();
        if let Some(end) = supervisor.reap_worker() {
            supervisor.restore_terminal();
            return end;
        }
        // After the calls that can stop this process.
        supervisor.timers.exclude_stop(Instant::now());
        if supervisor.is_late() {
            return supervisor.abandon_worker();
        }
    }
}

impl Supervisor<'_> {
    /// Waits for an event.
    fn wait_for_event(&self) {
        let limit = self.timers.is_running().then(|| Timespec {
            tv_sec: 0,
            tv_nsec: POLL_INTERVAL.subsec_nanos().into(),
        });
        let mut sources = vec![PollFd::new(&self.signals.file, PollFlags::IN)];
        if let Some(messages) = &self.messages {
            sources.push(PollFd::new(messages, PollFlags::IN));
        }
        // An interrupted wait is handled like a finished one.
        let _ = poll(&mut sources, limit.as_ref());
    }

    fn read_messages(&mut self) {
        let Some(messages) = &mut self.messages else {
            return;
        };
        let ready = {
            let mut source = [PollFd::new(&*messages, PollFlags::IN)];
            poll(&mut source, Some(&Timespec::default())).is_ok_and(|count| count > 0)
        };
        if !ready {
            return;
        }
        let mut buffer = [0; 4096];
        match messages.read(&mut buffer) {
            Ok(count) if count > 0 => self.partial_message.extend_from_slice(&buffer[..count]),
            _ => self.messages = None,
        }
        while let Some(end) = self.partial_message.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial_message.drain(..=end).collect();
            self.handle_message(String::from_utf8_lossy(&line[..end]).as_ref());
        }
    }

    fn handle_message(&mut self, message: &str) {
        match message.split_once(' ') {
            Some(("target", name)) => self.target = Some(name.to_owned()),
            Some(("screen", name)) => {
                self.screen = ScreenUse::from_name(name).unwrap_or(self.screen);
            }
            Some(("delivered", code)) => self.delivered_status = code.parse().ok(),
            Some(("finished", code)) => {
                self.delivered_status = code.parse().ok();
                self.timers.finished_at = Some(Instant::now());
            }
            _ if message == "leaving" => self.start_ending(),
            _ => {}
        }
    }

    fn start_ending(&mut self) {
        self.timers
            .end_requested_at
            .get_or_insert_with(Instant::now);
    }

    fn read_signals(&mut self) {
        let mut file = &self.signals.file;
        let mut bytes = [0; SIGNALFD_INFO_BYTES];
        while file
            .read(&mut bytes)
            .is_ok_and(|count| count == SIGNALFD_INFO_BYTES)
        {
            let number = i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            for signal in system::FORWARDED_SIGNALS {
                if signal.as_raw() == number {
                    self.forward_signal(signal);
                }
            }
        }
    }

    /// Forwards a signal to the worker, which may have received it too: a terminal sends it to
    /// both.
    fn forward_signal(&mut self, signal: Signal) {
        if signal == Signal::CONT {
            self.continued_at = Some(Instant::now());
        } else if signal != Signal::TSTP {
            let again = |since: Instant| since.elapsed() > REPEATED_SIGNAL_WINDOW;
            self.asked_twice |= self.timers.end_requested_at.is_some_and(again);
            self.start_ending();
        }
        // A worker that has just ended is reaped next.
        let _ = kill_process(self.worker, signal);
    }

    /// How the worker ended, if it has. Stops this process if the terminal stopped the worker.
    fn reap_worker(&mut self) -> Option<WorkerEnd> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        let (_, status) = match waitpid(Some(self.worker), options) {
            Ok(Some(ended)) => ended,
            Ok(None) | Err(rustix::io::Errno::INTR) => return None,
            // Another process has reaped it: there is nothing to wait for.
            Err(_) => {
                return Some(WorkerEnd {
                    status: self.delivered_status.unwrap_or(1),
                    signal: None,
                    needs_clean_up: false,
                });
            }
        };
        // What it wrote just before its end.
        self.read_messages();
        self.worker_end(status)
    }

    fn worker_end(&self, status: WaitStatus) -> Option<WorkerEnd> {
        if let Some(code) = status.exit_status() {
            return Some(WorkerEnd {
                status: u8::try_from(code).unwrap_or(1),
                signal: None,
                // A second signal ends it at once.
                needs_clean_up: self.timers.end_requested_at.is_some(),
            });
        }
        if let Some(number) = status.terminating_signal() {
            return Some(WorkerEnd {
                status: u8::try_from(128 + number).unwrap_or(1),
                signal: Signal::from_named_raw(number),
                needs_clean_up: true,
            });
        }
        let just_continued = self
            .continued_at
            .is_some_and(|at| at.elapsed() < RECENT_STOP_WINDOW);
        match status.stopping_signal() {
            Some(libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
                // The shell prompts as soon as this process is stopped.
                (self.reports.report_stop)(self.worker);
                // Continued by the shell together with the worker, which may have happened already.
                if self.first_thread_state() == Some(b'T') {
                    let _ = kill_process(getpid(), Signal::STOP);
                }
            }
            // It has stopped because this process was stopped, which is over.
            Some(libc::SIGSTOP) if just_continued => {
                let _ = kill_process(self.worker, Signal::CONT);
            }
            _ => {}
        }
        None
    }

    /// Whether the worker has exceeded its time to end.
    fn is_late(&mut self) -> bool {
        if let Some(finished) = self.timers.finished_at
            && finished.elapsed() >= FINISH_TIMEOUT
            && self.blocked_threads() > 0
        {
            return true;
        }
        let Some(since) = self.timers.end_requested_at else {
            return false;
        };
        if self.asked_twice {
            return true;
        }
        if self.delivered_status.is_some() {
            return since.elapsed() >= EXIT_TIMEOUT;
        }
        // The first thread saves and prints. As long as no device blocks it, it makes progress, or
        // waits for the reader of its output.
        // A thread that has ended waits for the others.
        if !matches!(self.first_thread_state(), Some(b'D' | b'Z')) {
            self.timers.blocked_since = None;
            return false;
        }
        let hangs = self
            .timers
            .blocked_since
            .get_or_insert_with(Instant::now)
            .elapsed();
        since.elapsed() >= EXIT_TIMEOUT && hangs >= HANG_THRESHOLD
    }

    fn first_thread_state(&self) -> Option<u8> {
        let worker = self.worker.as_raw_nonzero();
        let stat = fs::read(format!("/proc/{worker}/task/{worker}/stat")).ok()?;
        system::process_state(&stat)
    }

    /// Restores the terminal if the worker did not: it draws nothing any more.
    fn restore_terminal(&self) {
        if let (Some(terminal), ScreenUse::SetUp) = (&self.terminal, self.screen) {
            terminal.restore();
        }
    }

    /// Kills the worker and reports what remains of it.
    fn abandon_worker(&self) -> WorkerEnd {
        // Its remaining threads end as soon as the kernel releases them.
        let _ = kill_process(self.worker, Signal::KILL);
        let is_gone = self.reap_killed_worker();
        // Only now no thread of it draws any more.
        self.restore_terminal();
        let mut lines = Vec::new();
        if self.delivered_status.is_none() && self.target.is_some() {
            lines.push(
                "diskscope: ended before the result was saved: the journal of the session contains the results up to a second before, if there was room for them (diskscope show)"
                    .to_owned(),
            );
        }
        if !is_gone {
            lines.push(self.abandoned_message());
        }
        for line in lines {
            (self.reports.print_line)(&line);
        }
        WorkerEnd {
            status: self.delivered_status.unwrap_or(INTERRUPTED_STATUS),
            signal: None,
            // A worker that stays behind still holds what it changed.
            needs_clean_up: is_gone,
        }
    }

    /// Waits for a bounded time for the end of a worker that was killed; false if it stays behind.
    fn reap_killed_worker(&self) -> bool {
        let limit = match self.asked_twice {
            true => KILL_TIMEOUT,
            false => POLL_INTERVAL,
        };
        let deadline = Instant::now() + limit;
        loop {
            std::thread::sleep(POLL_INTERVAL);
            // An error says that somebody else has reaped it.
            match waitpid(Some(self.worker), WaitOptions::NOHANG) {
                Ok(None) if Instant::now() < deadline => {}
                Ok(None) => return false,
                _ => return true,
            }
        }
    }

    fn abandoned_message(&self) -> String {
        let pid = self.worker.as_raw_nonzero();
        let waits = match self.blocked_threads() {
            0 => "is still in the kernel".to_owned(),
            1 => "waits in the kernel (1 thread in state D)".to_owned(),
            count => format!("waits in the kernel ({count} threads in state D)"),
        };
        match &self.target {
            Some(target) => format!(
                "diskscope: process {pid} continues to run: it {waits} for {target} and keeps it open, exclusively if it was to be written; it ends when {target} responds"
            ),
            None => format!(
                "diskscope: process {pid} continues to run: it {waits} for a file or device and keeps it open; it ends when that responds"
            ),
        }
    }

    /// Threads of the worker in uninterruptible sleep.
    fn blocked_threads(&self) -> usize {
        let directory = format!("/proc/{}/task", self.worker.as_raw_nonzero());
        let tasks = fs::read_dir(directory).into_iter().flatten().flatten();
        let states = tasks.filter_map(|task| fs::read(task.path().join("stat")).ok());
        states
            .filter(|stat| system::process_state(stat) == Some(b'D'))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_program_was_stopped_is_not_that_of_the_worker() {
        let start = Instant::now();
        let mut timers = WorkerTimers::new();
        timers.end_requested_at = Some(start);
        let mut now = start;
        for _ in 0..100 {
            now += POLL_INTERVAL;
            timers.exclude_stop(now);
        }
        assert_eq!(timers.end_requested_at, Some(start));
        timers.exclude_stop(now + 11 * MIN_STOP_TIME);
        let expected = Some(start + 11 * MIN_STOP_TIME);
        assert_eq!(timers.end_requested_at, expected);
        assert_eq!((timers.finished_at, timers.blocked_since), (None, None));
    }
    #[test]
    fn time_before_the_end_was_requested_is_no_stop() {
        let requested = Instant::now() + 3600 * MIN_STOP_TIME;
        let mut timers = WorkerTimers::new();
        timers.exclude_stop(Instant::now());
        timers.end_requested_at = Some(requested);
        timers.exclude_stop(requested);
        timers.exclude_stop(requested + POLL_INTERVAL);
        assert_eq!(timers.end_requested_at, Some(requested));
    }
}
