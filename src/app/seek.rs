//! Seeking in a recording.

/// A seek in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// By this many snapshots, negative backwards.
    Forward(isize),
    /// To the first view.
    First,
    /// To the last view.
    Last,
    /// To the view with the highest throughput of the drives.
    Busiest,
    /// To this view, from 0.
    Frame(usize),
    /// To the last view that is not later than this time in milliseconds since 1970.
    Time(u64),
    /// Start or stop playing.
    Play(bool),
}
