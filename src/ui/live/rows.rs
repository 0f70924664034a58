//! Lines and areas that several panes of the Live screen use.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::text::unknown_value;

/// A label and its value; `None` is n/a.
pub(super) fn fact_line(name: &str, value: Option<String>, theme: Theme) -> Line<'static> {
    let name = Span::styled(
        format!("{name:FACT_NAME_WIDTH$}"),
        theme.role_style(StyleRole::Faint),
    );
    Line::from(vec![
        name,
        value.map_or_else(|| unknown_value(theme), Span::raw),
    ])
}

pub(super) fn take_bottom(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    area.height -= height;
    Rect {
        y: area.y + area.height,
        height,
        ..*area
    }
}

/// Width of the labels of facts.
pub(super) const FACT_NAME_WIDTH: usize = 18;
