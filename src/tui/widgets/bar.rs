//! Bars and sparklines of one line.

use ratatui::text::Span;

use crate::tui::theme::{StyleRole, Theme};

/// A bar filled to a fraction (0 to 1) of `width` columns, at a resolution of half a column.
#[must_use]
pub fn bar(share: f64, width: u16, role: StyleRole, theme: Theme) -> [Span<'static>; 2] {
    let glyphs = theme.glyphs();
    let halves = (share.clamp(0.0, 1.0) * f64::from(width) * 2.0).round() as usize;
    let width = usize::from(width);
    let full = (halves / 2).min(width);
    let mut filled: String = std::iter::repeat_n(glyphs.bar, full).collect();
    if !halves.is_multiple_of(2) && full < width {
        filled.push(glyphs.half_bar);
    }
    let groove = width - filled.chars().count();
    let groove = glyphs.empty_bar.to_string().repeat(groove);
    [
        Span::styled(filled, theme.role_style(role)),
        Span::styled(groove, theme.role_style(StyleRole::Faint)),
    ]
}

/// The character for a fraction (0 to 1) of a column's height.
#[must_use]
pub fn level_glyph(share: f64, theme: Theme) -> char {
    let step = (share.clamp(0.0, 1.0) * 8.0).ceil() as usize;
    theme.glyphs().bar_levels[step.clamp(1, 8) - 1]
}

/// One column per value, as high as its fraction of the maximum; blank where it is unknown.
#[must_use]
pub fn sparkline(values: &[Option<f64>], theme: Theme) -> String {
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    values
        .iter()
        .map(|value| match value {
            None => ' ',
            Some(_) if largest <= 0.0 => level_glyph(0.0, theme),
            // A step less than the full height separates the lines.
            Some(value) => level_glyph(value / largest * 7.0 / 8.0, theme),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(share: f64) -> String {
        bar(share, 4, StyleRole::Success, Theme::FULL)
            .iter()
            .map(|span| span.content.as_ref())
            .collect()
    }

    #[test]
    fn bar_has_constant_width_at_every_fraction() {
        for percent in 0..=110 {
            let text = drawn(f64::from(percent) / 100.0);
            assert_eq!(text.chars().count(), 4, "{text}");
        }
        assert_eq!(drawn(0.5), "━━──");
        assert_eq!(drawn(0.4), "━╸──");
        assert_eq!(drawn(1.0), "━━━━");
        assert_eq!(drawn(f64::NAN), "────");
    }

    #[test]
    fn sparkline_is_blank_for_unknown_values() {
        let values = [None, Some(0.0), Some(4.0), Some(8.0)];
        assert_eq!(sparkline(&values, Theme::FULL), " ▁▄▇");
        assert_eq!(sparkline(&[Some(0.0); 2], Theme::FULL), "▁▁");
    }
}
