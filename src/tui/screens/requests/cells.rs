//! Cells that several lists of the Requests screen use.

use ratatui::text::Line;

use crate::tui::theme::{StyleRole, Theme};
use crate::units;

/// A time, or a dash where it is unknown.
pub(super) fn time_cell(nanoseconds: Option<f64>, theme: Theme) -> Line<'static> {
    match nanoseconds {
        Some(value) => Line::raw(units::format_latency(value)),
        None => Line::styled("-", theme.role_style(StyleRole::Faint)),
    }
}

/// The role of an operation.
pub(super) fn operation_role(operation: crate::trace::requests::RequestOperation) -> StyleRole {
    use crate::trace::requests::RequestOperation;
    match operation {
        RequestOperation::Read => StyleRole::Read,
        RequestOperation::Write | RequestOperation::Discard => StyleRole::Write,
        RequestOperation::Flush | RequestOperation::Zone | RequestOperation::Other => {
            StyleRole::Plain
        }
    }
}
