//! Lines and areas that several panes of the Live screen use.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::{unknown_value, wrap_text};

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

/// The lines of two columns of facts beside each other; one below the other where that is too wide.
/// Values that are too wide for their column are wrapped.
pub(super) fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    width: u16,
) -> Vec<Line<'static>> {
    let mut lines = left;
    if width < TWO_COLUMNS_MIN_WIDTH {
        lines.extend(right);
        return wrap_facts(lines, width);
    }
    let wide = usize::from(width / 2).min(MAX_COLUMN_WIDTH);
    let mut lines = wrap_facts(lines, wide as u16 - COLUMN_GAP);
    let right = wrap_facts(right, width - wide as u16);
    lines.resize(lines.len().max(right.len()), Line::default());
    for (line, beside) in lines.iter_mut().zip(right) {
        let gap = wide.saturating_sub(line.width());
        line.push_span(" ".repeat(gap));
        line.spans.extend(beside.spans);
    }
    lines
}

/// Cuts rows off the top of an area.
pub(super) fn take_top(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    let taken = Rect { height, ..*area };
    area.y += height;
    area.height -= height;
    taken
}

/// Lines of which facts that are too wide are wrapped, their values below each other.
pub(super) fn wrap_facts(lines: Vec<Line<'static>>, width: u16) -> Vec<Line<'static>> {
    let room = width.saturating_sub(FACT_NAME_WIDTH as u16);
    let wrap = |line: Line<'static>| -> Vec<Line<'static>> {
        let [name, value] = line.spans.as_slice() else {
            return vec![line];
        };
        if line.width() <= usize::from(width) || name.width() != FACT_NAME_WIDTH {
            return vec![line];
        }
        let values = wrap_text(&value.content, room).into_iter().enumerate();
        values
            .map(|(index, text)| {
                let name = match index {
                    0 => name.clone(),
                    _ => Span::raw(" ".repeat(FACT_NAME_WIDTH)),
                };
                Line::from(vec![name, Span::styled(text, value.style)])
            })
            .collect()
    };
    lines.into_iter().flat_map(wrap).collect()
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

/// Minimum width for facts in two columns.
const TWO_COLUMNS_MIN_WIDTH: u16 = 76;
/// Maximum width of the left one.
const MAX_COLUMN_WIDTH: usize = 48;
/// Columns between the two.
const COLUMN_GAP: u16 = 2;
/// Width of the labels of facts.
pub(super) const FACT_NAME_WIDTH: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Theme;

    #[test]
    fn wide_fact_continues_below_its_value() {
        let line = fact_line(
            "options",
            Some("rw,relatime discard".to_owned()),
            Theme::FULL,
        );
        let texts = |width| -> Vec<String> {
            let lines = wrap_facts(vec![line.clone()], width);
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts(40), ["options           rw,relatime discard"]);
        assert_eq!(
            texts(30),
            ["options           rw,relatime", "                  discard"]
        );
    }

    #[test]
    fn wide_fact_is_not_cut_in_either_column() {
        let devices = || {
            vec![fact_line(
                "devices",
                Some("vda: r 0 B/s, w 36.0 MB/s".into()),
                Theme::FULL,
            )]
        };
        for (left, right, width) in [
            (Vec::new(), devices(), 78),
            (devices(), Vec::new(), 78),
            (devices(), Vec::new(), 30),
        ] {
            let lines = beside(left, right, width);
            let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert!(
                lines.iter().all(|line| line.width() <= usize::from(width)),
                "{text:?}"
            );
            assert!(text.concat().contains("MB/s"), "{text:?}");
        }
    }

    #[test]
    fn facts_stand_beside_each_other_where_there_is_room() {
        let facts = |names: &[&'static str]| names.iter().copied().map(Line::raw).collect();
        let texts = |width| -> Vec<String> {
            let lines = beside(facts(&["a"]), facts(&["b", "c"]), width);
            let text = |line: &Line<'_>| line.to_string().trim_end().to_owned();
            lines.iter().map(text).collect()
        };
        assert_eq!(texts(40), ["a", "b", "c"]);
        let left = 38;
        assert_eq!(
            texts(76),
            [format!("{:left$}b", "a"), format!("{:left$}c", "")]
        );
    }
}
