//! Lets the prompt come back although a drive does not answer.
//!
//! A thread that waits for a drive in the kernel (state D) cannot be killed, and a process ends only
//! when all of its threads have ended: the shell would wait for the drive too. So the program
//! splits before it touches a drive: the *worker* process does everything, and its parent, the
//! *supervisor*, waits for it, passes signals on, and ends with its exit status. When the worker
//! has been asked to end and cannot, the supervisor names it and ends alone.
//!
//! The two share process group, terminal and descriptors, so that job control works as for one
//! process. The worker is killed when the supervisor dies.

pub mod descriptors;
mod helper;
mod parent;
mod system;

use std::fs::File;
use std::io::{PipeWriter, Read, Seek, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, getppid, kill_process};

pub use self::helper::{HelperOutcome, run_in_child};

/// A second signal within this time is the same wish by another way: a terminal sends it to both
/// processes, timeout(1) to the process and to its group.
pub const REPEATED_SIGNAL_WINDOW: Duration = Duration::from_millis(300);
/// How often the worker looks whether its supervisor was stopped.
const SUPERVISOR_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Which process this is after [`split`].
#[derive(Debug)]
pub enum ProcessRole {
    /// The one that does the work; also where the program could not be split.
    Worker,
    /// The one that waited for the worker, which has ended or is left behind.
    Supervisor(ExitCode),
}

/// The worker's end of the pipe to its supervisor; unset without one.
static SUPERVISOR: OnceLock<Mutex<PipeWriter>> = OnceLock::new();
/// Whether [`leaving`] was called.
static END_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Splits the program into supervisor and worker. Returns in both: in the supervisor when it is to
/// end. Must be called while the process has one thread.
#[must_use]
pub fn split_process() -> ProcessRole {
    let Ok((messages, to_supervisor)) = std::io::pipe() else {
        return ProcessRole::Worker;
    };
    let Some(signals) = self::system::block_signals() else {
        return ProcessRole::Worker;
    };
    let supervisor = getpid();
    match self::system::fork() {
        Err(_) => {
            signals.restore_mask();
            ProcessRole::Worker
        }
        Ok(None) => {
            signals.restore_mask();
            drop(messages);
            become_worker(supervisor, to_supervisor);
            ProcessRole::Worker
        }
        Ok(Some(worker)) => {
            drop(to_supervisor);
            ProcessRole::Supervisor(self::parent::supervise(worker, messages, &signals))
        }
    }
}

fn become_worker(supervisor: Pid, to_supervisor: PipeWriter) {
    // Without this a kill -9 of the program as the shell knows it would leave the load running.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(supervisor) {
        // It died before that was set.
        std::process::exit(1);
    }
    // Set here for the first time: `split` is called once.
    let _ = SUPERVISOR.set(Mutex::new(to_supervisor));
    // Without the thread a stopped supervisor does not stop the worker; nothing else is lost.
    let _ = std::thread::Builder::new()
        .name("stop-watch".to_owned())
        .spawn(move || stop_with_supervisor(supervisor));
}

/// Stops this process whenever the supervisor is stopped (SIGSTOP, which nobody can catch): who
/// stops the program means its load. The supervisor continues the worker when it goes on itself.
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
        // A supervisor that is gone has taken this process with it.
        let _ = pipe.write_all(format!("{}\n", message.replace('\n', " ")).as_bytes());
    }
}

/// Says which target is used from now on: named if this process is left behind.
pub fn report_target(target: &str) {
    send_to_supervisor(&format!("target {target}"));
}

/// Says that the program has been asked to end: from now on the supervisor waits for a bounded
/// time only.
pub fn report_ending() {
    if !END_REQUESTED.swap(true, Ordering::AcqRel) {
        send_to_supervisor("leaving");
    }
}

/// Says that the result is printed and saved and that nothing follows but the end of the process.
/// Where the end was asked for, this process lets go of the terminal or pipe, which whoever reads
/// the other end waits for.
pub fn report_delivered(exit: u8) {
    if !END_REQUESTED.load(Ordering::Acquire) || SUPERVISOR.get().is_none() {
        return;
    }
    let _ = std::io::stdout().flush();
    send_to_supervisor(&format!("delivered {exit}"));
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        // What fails here only keeps a reader waiting until the process ends.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
