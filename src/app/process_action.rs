//! Actions on processes: I/O classes and signals.

use std::fmt;

use crate::files::safe_text::SafeText;

/// An action on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessAction {
    /// Set this I/O class and level.
    SetIoClass(IoClassChoice),
    /// Send this signal.
    SendSignal(SignalChoice),
}

/// I/O classes to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoClassChoice {
    /// Served only when no other process has requests.
    Idle,
    /// The default class with a level of 0, the highest priority, to 7.
    BestEffort(u8),
    /// Served before all other classes.
    Realtime,
}

/// Level within the realtime class: the middle of 0 to 7.
pub const REALTIME_LEVEL: u8 = 4;

/// Signals to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalChoice {
    /// SIGTERM.
    Terminate,
    /// SIGINT, as sent by Ctrl-C.
    Interrupt,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
    /// SIGKILL.
    Kill,
}

impl fmt::Display for IoClassChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::BestEffort(level) => write!(f, "best-effort {level}"),
            Self::Realtime => write!(f, "realtime {REALTIME_LEVEL}"),
        }
    }
}

impl fmt::Display for SignalChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::Stop => "SIGSTOP",
            Self::Continue => "SIGCONT",
            Self::Kill => "SIGKILL",
        })
    }
}

/// What an action did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessActionOutcome {
    /// The signal was sent.
    SignalSent {
        /// Process id.
        pid: u32,
        /// The signal.
        signal: SignalChoice,
    },
    /// The I/O class was set.
    IoClassSet {
        /// Process id.
        pid: u32,
        /// The class.
        class: IoClassChoice,
        /// Number of its threads that have it now.
        thread_count: u32,
    },
}

impl fmt::Display for ProcessActionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SignalSent { pid, signal } => write!(f, "sent {signal} to process {pid}"),
            Self::IoClassSet {
                pid,
                class,
                thread_count,
            } => write!(
                f,
                "set the I/O class of process {pid} to {class} ({thread_count} threads)"
            ),
        }
    }
}

impl ProcessAction {
    /// The I/O classes, in the order of their keys.
    pub const IO_CLASS_CHOICES: [Self; 5] = [
        Self::SetIoClass(IoClassChoice::Idle),
        Self::SetIoClass(IoClassChoice::BestEffort(7)),
        Self::SetIoClass(IoClassChoice::BestEffort(4)),
        Self::SetIoClass(IoClassChoice::BestEffort(0)),
        Self::SetIoClass(IoClassChoice::Realtime),
    ];
    /// The signals, in the order of their keys.
    pub const SIGNAL_CHOICES: [Self; 5] = [
        Self::SendSignal(SignalChoice::Terminate),
        Self::SendSignal(SignalChoice::Interrupt),
        Self::SendSignal(SignalChoice::Stop),
        Self::SendSignal(SignalChoice::Continue),
        Self::SendSignal(SignalChoice::Kill),
    ];

    /// Label in the list.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::SetIoClass(IoClassChoice::Idle) => {
                "idle: served when no other process has requests"
            }
            Self::SetIoClass(IoClassChoice::BestEffort(0)) => {
                "best-effort 0: highest priority of the default class"
            }
            Self::SetIoClass(IoClassChoice::BestEffort(7)) => {
                "best-effort 7: lowest priority of the default class"
            }
            Self::SetIoClass(IoClassChoice::BestEffort(_)) => "best-effort 4: default priority",
            Self::SetIoClass(IoClassChoice::Realtime) => {
                "realtime: served before all other classes"
            }
            Self::SendSignal(SignalChoice::Terminate) => "SIGTERM: terminate",
            Self::SendSignal(SignalChoice::Interrupt) => "SIGINT: interrupt, as Ctrl-C does",
            Self::SendSignal(SignalChoice::Stop) => "SIGSTOP: stop",
            Self::SendSignal(SignalChoice::Continue) => "SIGCONT: continue",
            Self::SendSignal(SignalChoice::Kill) => "SIGKILL: kill at once; unsaved data is lost",
        }
    }
}

/// The process that an action applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start time in ticks since boot: process ids are reused.
    pub start_ticks: u64,
}

/// A process with what a user recognizes it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTarget {
    /// The process.
    pub id: ProcessId,
    /// Its owner, where known.
    pub user: Option<SafeText>,
    /// Its command line.
    pub command: SafeText,
}

impl ProcessAction {
    /// Whether it cannot be undone: then only `y` confirms it.
    #[must_use]
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::SendSignal(SignalChoice::Kill))
    }
}
