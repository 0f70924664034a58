//! The list of services, containers and other control groups.

use std::cmp::Ordering;

use crate::app::text::EditableText;
use crate::app::viewport::step_cursor;
use crate::columns::{self, Column};
use crate::files::safe_text::SafeText;
use crate::snapshot::view::{Snapshot, UnitView};
use crate::stats::sorting::SortList as _;
use crate::tui::keys::KeyCommand;

/// A column by which units can be sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnitColumn {
    /// Bytes read and written per second.
    #[default]
    Bytes,
    /// Reads and writes per second.
    Ios,
    /// Fraction of time in which a task waited for I/O.
    Pressure,
    /// Use of its limits.
    Limit,
    /// Name.
    Name,
}

impl UnitColumn {
    const ALL: [Self; 5] = [
        Self::Bytes,
        Self::Ios,
        Self::Pressure,
        Self::Limit,
        Self::Name,
    ];

    fn step(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        let index = Self::ALL.iter().position(|it| *it == self).unwrap_or(0);
        let step = if forward { 1 } else { count - 1 };
        Self::ALL[(index + step) % count]
    }

    /// The columns of the table that it stands for.
    #[must_use]
    pub fn columns(self) -> Vec<&'static Column<UnitView>> {
        let keys: &[&str] = match self {
            Self::Bytes => &["read_bytes_per_s", "write_bytes_per_s"],
            Self::Ios => &["read_ios_per_s", "write_ios_per_s"],
            Self::Pressure => &["pressure_some"],
            Self::Limit => &["limit_usage"],
            Self::Name => &["name"],
        };
        keys.iter().filter_map(|key| columns::column(key)).collect()
    }

    /// The number that it sorts by: the sum of its columns; `None` for the name.
    fn value(self, unit: &UnitView) -> Option<f64> {
        let columns = self.columns().into_iter();
        columns.map(|column| column.number(unit)).sum()
    }

    /// The largest first, unknown values last; of equal ones the innermost, then alphabetically.
    fn compare(self, left: &UnitView, right: &UnitView) -> Ordering {
        let by_value = match (self.value(left), self.value(right)) {
            (Some(left), Some(right)) => right.total_cmp(&left),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        // A slice counts what its only busy service does: the service is the answer.
        let depth = |unit: &UnitView| unit.path.matches('/').count();
        by_value
            .then_with(|| depth(right).cmp(&depth(left)))
            .then_with(|| left.path.cmp(&right.path))
    }
}

/// State of the list.
#[derive(Debug, Clone, Default)]
pub struct UnitList {
    /// Column that it is sorted by.
    pub column: UnitColumn,
    /// Smallest first.
    pub reversed: bool,
    /// Text that a unit must contain.
    pub filter: EditableText,
    /// Path of the selected unit; `None` selects the first line.
    selected: Option<SafeText>,
}

impl UnitList {
    /// The units to list, in order; `None` where none were sampled.
    #[must_use]
    pub fn rows<'s>(&self, snapshot: Option<&'s Snapshot>) -> Option<Vec<&'s UnitView>> {
        let units = snapshot?.units.as_ref()?;
        let filter = self.filter.as_string().to_lowercase();
        let is_listed = |unit: &&UnitView| {
            [&unit.name, &unit.path]
                .iter()
                .any(|text| text.to_lowercase().contains(&filter))
        };
        let mut rows: Vec<&UnitView> = units.iter().filter(is_listed).collect();
        rows.sort_list_by(|left, right| self.column.compare(left, right));
        if self.reversed {
            rows.reverse();
        }
        Some(rows)
    }

    /// Index of the selected line.
    #[must_use]
    pub fn selected_index(&self, rows: &[&UnitView]) -> Option<usize> {
        let selected = self.selected.as_ref();
        let index = rows.iter().position(|unit| Some(&unit.path) == selected);
        index.or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// The selected unit.
    #[must_use]
    pub fn selected<'s>(&self, snapshot: Option<&'s Snapshot>) -> Option<&'s UnitView> {
        let rows = self.rows(snapshot)?;
        Some(rows[self.selected_index(&rows)?])
    }

    /// Sorts or selects; `false` for other commands.
    pub fn handle_command(&mut self, command: KeyCommand, snapshot: Option<&Snapshot>) -> bool {
        match command {
            KeyCommand::Next => self.column = self.column.step(true),
            KeyCommand::Previous => self.column = self.column.step(false),
            KeyCommand::ReverseSort => self.reversed = !self.reversed,
            KeyCommand::Up
            | KeyCommand::Down
            | KeyCommand::PageUp
            | KeyCommand::PageDown
            | KeyCommand::GoToFirst
            | KeyCommand::GoToLast => {
                let rows = self.rows(snapshot).unwrap_or_default();
                let moved = self
                    .selected_index(&rows)
                    .map(|index| rows[step_cursor(index, rows.len(), command)].path.clone());
                self.selected = moved;
            }
            _ => return false,
        }
        true
    }
}
