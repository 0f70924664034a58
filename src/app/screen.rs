//! The screens.

/// A screen with a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Devices and processes.
    Live,
    /// Benchmarks.
    Bench,
    /// Single requests.
    Requests,
    /// Saved sessions.
    Sessions,
    /// Why somebody waits for I/O.
    Why,
}

impl Screen {
    /// Every screen with the key and the label of its tab, from left to right.
    pub const TABS: [(Self, char, &'static str); 5] = [
        (Self::Live, '1', "Live"),
        (Self::Bench, '2', "Bench"),
        (Self::Requests, '3', "Requests"),
        (Self::Sessions, '4', "Sessions"),
        (Self::Why, '5', "Why"),
    ];
}
