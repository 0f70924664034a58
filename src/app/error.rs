//! Errors that the services report to the state. Messages share them, because the state is cloned.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::process_action::{IoClassChoice, ProcessAction, SignalChoice};
use crate::bench::BenchError;
use crate::bench::framework::error::open_advice;
use crate::engine::OpenError;
use crate::files::error::FileError;
use crate::recording::RecordingReadError;
use crate::session::store::StoreError;
use crate::text;

/// Why a target cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It cannot be opened.
    #[error("{0}; {advice}", advice = open_advice(.0))]
    Open(#[from] OpenError),
    /// Its properties cannot be read.
    #[error("cannot inspect {path}: {source}")]
    Inspect {
        /// Path as the user typed it.
        path: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The demo examines nothing.
    #[error("{path} is not part of the demo: start diskscope without a command to measure it")]
    NotInDemo {
        /// Path as the user typed it.
        path: String,
    },
}

/// Why a benchmark cannot be forecast, and so not be started.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// The target cannot be measured.
    #[error(transparent)]
    Target(Arc<TargetError>),
    /// The parameters do not fit the target or each other.
    #[error(transparent)]
    Parameters(#[from] BenchError),
}

/// Why a benchmark yielded no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkError {
    /// Its thread could not be started.
    #[error("cannot start a thread for the benchmark: {0}")]
    Thread(io::Error),
    /// The run was refused, or failed before anything was measured.
    #[error("{source}; {advice}")]
    NotStarted {
        /// The error of the run.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// What to do.
        advice: String,
    },
    /// The demo measures nothing, and contains no run of the benchmark.
    #[error(
        "the demo measures nothing, and contains no run of {benchmark} on {target}; its runs: {recorded}"
    )]
    NotInDemo {
        /// Name of the benchmark.
        benchmark: &'static str,
        /// Name of the target.
        target: String,
        /// What it contains instead.
        recorded: String,
    },
    /// The run ended without a measurement.
    #[error("nothing was measured")]
    NothingMeasured,
}

/// Why the recording cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] RecordingReadError),
    /// It contains no snapshot.
    #[error("the recording contains no snapshot")]
    NoFrame,
}

/// Why saved sessions cannot be listed, read or exported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The demo changes no file.
    #[error("the demo writes nothing: start diskscope without a command for sessions of your own")]
    ReadOnlyDemo,
    /// There is no directory of sessions.
    #[error("neither XDG_STATE_HOME nor HOME is set: no session is saved; set one of them")]
    NoDirectory,
    /// A session, or their directory, cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A session cannot be written as JSON.
    #[error("cannot serialize the session: {0}")]
    Serialize(io::Error),
    /// The snapshot of a recording to be exported cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] FileError),
    /// No session was selected.
    #[error("there is no session to report")]
    NoSession,
    /// Every name for the new file is taken.
    #[error(
        "{} already contains {count} exports of this name: move some of them",
        directory.display()
    )]
    TooManyExports {
        /// The directory of the exports.
        directory: PathBuf,
        /// Number of names that were tried.
        count: u32,
    },
}

/// Why the open files of a process cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum OpenFilesError {
    /// The process does not exist any more.
    #[error("process {pid} has ended")]
    Ended {
        /// Its id.
        pid: u32,
    },
    /// The kernel refuses to list them.
    #[error("cannot list the files of process {pid}: {source}; {advice}", advice = owner_advice())]
    Refused {
        /// Process id.
        pid: u32,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Why an action was not applied to a process.
#[derive(Debug, thiserror::Error)]
pub enum ProcessActionError {
    /// The process does not exist any more; its id may belong to another one now.
    #[error("process {pid} has ended: {}", unapplied_text(*action))]
    Ended {
        /// Its id.
        pid: u32,
        /// The action.
        action: ProcessAction,
    },
    /// A system call takes the number for that of another process.
    #[error(
        "{}: /proc is of another PID namespace, and {pid} another process here; {advice}",
        unapplied_text(*action),
        advice = "start diskscope with the /proc of its own (nsenter -m, unshare --mount-proc)"
    )]
    OtherNumbers {
        /// Its id.
        pid: u32,
        /// The action.
        action: ProcessAction,
    },
    /// The signal could not be sent.
    #[error(
        "cannot send {signal} to process {pid}: {source}{advice}",
        advice = denied_advice(source)
    )]
    Signal {
        /// Process id.
        pid: u32,
        /// The signal.
        signal: SignalChoice,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The I/O class could not be set.
    #[error(
        "cannot set the I/O class of process {pid} to {class}: {source}{advice}",
        advice = denied_advice(source)
    )]
    IoClass {
        /// Process id.
        pid: u32,
        /// The class.
        class: IoClassChoice,
        /// The error of the kernel.
        source: io::Error,
    },
}

fn unapplied_text(action: ProcessAction) -> &'static str {
    match action {
        ProcessAction::SetIoClass(_) => "its I/O class was not changed",
        ProcessAction::SendSignal(_) => "no signal was sent",
    }
}

fn owner_advice() -> String {
    text::root_advice(
        ", or as its owner",
        "a container or a security module forbids it",
    )
}

/// Advice to append where the kernel denied permission; empty otherwise.
fn denied_advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("; {}", owner_advice()),
        _ => String::new(),
    }
}
