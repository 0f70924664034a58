//! What is looked at more closely on the Live screen, instead of its lists.

use crate::model::files::{DeletedView, FileView};

/// What stands in the place of the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pane {
    /// Nothing: the lists.
    #[default]
    Lists,
    /// The selected device: history, identity, stack, file systems, advice.
    Device,
    /// The selected process.
    Process,
    /// What the selected process has open; `None` until it was listed.
    Files(Option<Result<Vec<FileView>, String>>),
    /// Deleted files that hold space; `None` until they were looked for.
    Deleted(Option<Vec<DeletedView>>),
    /// Memory, pressure and the files that grow.
    Memory,
}

/// What shall be done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Another I/O class and level.
    Class(Class),
    /// A signal.
    Signal(Signal),
}

/// I/O classes to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Only when nobody else wants anything.
    Idle,
    /// The ordinary class with a level of 0, the most urgent, to 7.
    BestEffort(u8),
    /// Before all others.
    Realtime,
}

/// Signals to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Please end.
    Terminate,
    /// As Ctrl-C.
    Interrupt,
    /// Stop for now.
    Stop,
    /// Go on.
    Continue,
    /// End at once.
    Kill,
}

impl Deed {
    /// The I/O classes, in the order of their keys.
    pub const CLASSES: [Self; 5] = [
        Self::Class(Class::Idle),
        Self::Class(Class::BestEffort(7)),
        Self::Class(Class::BestEffort(4)),
        Self::Class(Class::BestEffort(0)),
        Self::Class(Class::Realtime),
    ];
    /// The signals, in the order of their keys.
    pub const SIGNALS: [Self; 5] = [
        Self::Signal(Signal::Terminate),
        Self::Signal(Signal::Interrupt),
        Self::Signal(Signal::Stop),
        Self::Signal(Signal::Continue),
        Self::Signal(Signal::Kill),
    ];

    /// What it is, in a list.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Class(Class::Idle) => "idle: when nobody else wants the disk",
            Self::Class(Class::BestEffort(0)) => "best effort 0: the most urgent ordinary one",
            Self::Class(Class::BestEffort(7)) => "best effort 7: the least urgent ordinary one",
            Self::Class(Class::BestEffort(_)) => "best effort 4: the usual one",
            Self::Class(Class::Realtime) => "realtime: before everybody else",
            Self::Signal(Signal::Terminate) => "TERM: asks it to end",
            Self::Signal(Signal::Interrupt) => "INT: as Ctrl-C does",
            Self::Signal(Signal::Stop) => "STOP: holds it",
            Self::Signal(Signal::Continue) => "CONT: lets it go on",
            Self::Signal(Signal::Kill) => "KILL: ends it at once, nothing is saved",
        }
    }
}

/// The process that something shall be done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Victim {
    /// Process id.
    pub pid: u32,
    /// When it began, in ticks since boot: the number alone is given anew.
    pub start_ticks: u64,
}
