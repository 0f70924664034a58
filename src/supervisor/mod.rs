//! Returns the shell prompt although a drive does not respond.
//!
//! A thread that waits for a drive in the kernel (state D) cannot be killed, and a process ends
//! only when all of its threads have ended, so the shell would wait for the drive too. Therefore
//! the program splits before it accesses a drive: the *worker* process does all work, and its
//! parent, the *supervisor*, waits for it, forwards signals, and exits with its exit status. If the
//! worker is asked to end and cannot, the supervisor reports it and exits alone.
//!
//! Both share process group, terminal and descriptors, so that job control works as for one
//! process. The worker is killed when the supervisor dies.

mod helper;
mod parent;
mod system;
mod terminal;

use std::fs::File;
use std::io::{PipeWriter, Read, Seek, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, getppid, kill_process};

use self::terminal::SavedTerminal;

pub use self::helper::run_in_child;
pub use self::parent::{REPEATED_SIGNAL_WINDOW, ScreenUse};

/// Interval at which the worker checks whether its supervisor is stopped.
const SUPERVISOR_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Which process this is after [`split_process`].
#[derive(Debug)]
pub enum ProcessRole {
    /// The process that does the work; also where the program could not be split.
    Worker,
    /// The process that waited for the worker, which has ended or was abandoned.
    Supervisor(ExitCode),
}

/// The worker's end of the pipe to its supervisor; unset without one.
static SUPERVISOR: OnceLock<Mutex<PipeWriter>> = OnceLock::new();
/// Whether the end was requested.
static END_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Splits the program into supervisor and worker. Returns in both: in the supervisor when it is to
/// exit. Must be called while the process has one thread.
///
/// The supervisor restores the terminal, with the bytes of `leave_screen`, and calls `clean_up`, when the
/// worker ended before it could restore what it had changed, for example because the kernel killed it
/// when the memory ran out. It calls `report_stop` with the worker when job control has stopped the worker,
/// before it stops itself. Both have to return in bounded time. What the supervisor has to say goes to `print_line`,
/// which makes it safe for the terminal: it contains the name of the target.
#[must_use]
pub fn split_process(
    leave_screen: fn() -> Vec<u8>,
    report_stop: fn(Pid),
    print_line: fn(&str),
    clean_up: impl FnOnce(),
) -> ProcessRole {
    let Ok((messages, to_supervisor)) = std::io::pipe() else {
        return ProcessRole::Worker;
    };
    let Some(signals) = self::system::block_signals() else {
        return ProcessRole::Worker;
    };
    let terminal = SavedTerminal::save(leave_screen);
    let supervisor = getpid();
    match self::system::fork() {
        Err(_) => {
            signals.restore_mask();
            ProcessRole::Worker
        }
        Ok(None) => {
            signals.restore_mask();
            drop(messages);
            drop(terminal);
            become_worker(supervisor, to_supervisor);
            ProcessRole::Worker
        }
        Ok(Some(worker)) => {
            drop(to_supervisor);
            let reports = self::parent::SupervisorReports {
                report_stop,
                print_line,
            };
            let end = self::parent::supervise(worker, messages, &signals, terminal, reports);
            if end.needs_clean_up {
                clean_up();
            }
            if let Some(signal) = end.signal {
                self::system::end_by_signal(signal, &signals);
            }
            ProcessRole::Supervisor(ExitCode::from(end.status))
        }
    }
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
    // Without this thread a stopped supervisor does not stop the worker; everything else works.
    let _ = std::thread::Builder::new()
        .name("stop-watch".to_owned())
        .spawn(move || stop_with_supervisor(supervisor));
}

/// Stops this process whenever the supervisor is stopped (SIGSTOP cannot be caught): stopping the
/// program has to stop its load. The supervisor continues the worker when it is continued itself.
fn stop_with_supervisor(supervisor: Pid) {
    let path = format!("/proc/{}/stat", supervisor.as_raw_nonzero());
    let Ok(mut stat) = File::open(path) else {
        return;
    };
    let mut text = Vec::with_capacity(512);
    loop {
        std::thread::sleep(SUPERVISOR_POLL_INTERVAL);
        text.clear();
        if stat
            .rewind()
            .and_then(|()| stat.read_to_end(&mut text))
            .is_err()
        {
            return;
        }
        if self::system::process_state(&text) == Some(b'T') {
            // It cannot fail for this process itself.
            let _ = kill_process(getpid(), Signal::STOP);
        }
    }
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
pub fn report_screen(screen: ScreenUse) {
    send_to_supervisor(&format!("screen {}", screen.name()));
}

/// Reports that the program was asked to end: from now on the supervisor waits for a limited time
/// only.
pub fn report_ending() {
    if !END_REQUESTED.swap(true, Ordering::AcqRel) {
        send_to_supervisor("leaving");
    }
}

/// Reports that the result is printed and saved and only the exit of the process remains, which takes
/// as long as a thread waits in the kernel, for a device or a file system. This process closes the
/// terminal or pipe, because a reader at the other end waits for that.
pub fn report_delivered(exit: u8) {
    if SUPERVISOR.get().is_none() {
        return;
    }
    let _ = std::io::stdout().flush();
    match END_REQUESTED.load(Ordering::Acquire) {
        true => send_to_supervisor(&format!("delivered {exit}")),
        false => send_to_supervisor(&format!("finished {exit}")),
    }
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        // A failure here only makes a reader wait until the process ends.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
