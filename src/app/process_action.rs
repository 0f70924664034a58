//! Actions on processes: I/O classes and signals.

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
            Self::SetIoClass(IoClassChoice::Idle) => "idle: when nobody else wants the disk",
            Self::SetIoClass(IoClassChoice::BestEffort(0)) => {
                "best effort 0: the most urgent ordinary one"
            }
            Self::SetIoClass(IoClassChoice::BestEffort(7)) => {
                "best effort 7: the least urgent ordinary one"
            }
            Self::SetIoClass(IoClassChoice::BestEffort(_)) => "best effort 4: the usual one",
            Self::SetIoClass(IoClassChoice::Realtime) => "realtime: before everybody else",
            Self::SendSignal(SignalChoice::Terminate) => "TERM: asks it to end",
            Self::SendSignal(SignalChoice::Interrupt) => "INT: as Ctrl-C does",
            Self::SendSignal(SignalChoice::Stop) => "STOP: holds it",
            Self::SendSignal(SignalChoice::Continue) => "CONT: lets it go on",
            Self::SendSignal(SignalChoice::Kill) => "KILL: ends it at once, nothing is saved",
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
