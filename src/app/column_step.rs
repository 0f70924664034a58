//! Steps from one column to the next.

/// The visible ones of a list's columns.
#[derive(Debug)]
pub(super) struct VisibleColumns<C> {
    /// From left to right.
    pub(super) columns: Vec<C>,
    /// Index of the current column; `None` if there is none, or if it is hidden.
    pub(super) current_index: Option<usize>,
}

impl<C: Copy + PartialEq> VisibleColumns<C> {
    pub(super) fn new(all: &[C], current: Option<C>, is_visible: impl Fn(C) -> bool) -> Self {
        let columns: Vec<C> = all
            .iter()
            .copied()
            .filter(|column| is_visible(*column))
            .collect();
        Self {
            current_index: current.and_then(|current| columns.iter().position(|it| *it == current)),
            columns,
        }
    }
}
