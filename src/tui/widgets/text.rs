//! Text that fits a given width.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::app::text::EditableText;
use crate::tui::theme::{StyleRole, Theme};

/// A text at the right end of a row. Only the text has the style: that of a line would also apply to
/// what is on the rest of the row.
#[must_use]
pub fn right_aligned(text: impl Into<Cow<'static, str>>, style: Style) -> Line<'static> {
    Line::from(Span::styled(text, style)).right_aligned()
}

/// The text, truncated at its end where it is wider than `width` columns.
#[must_use]
pub fn cut_end(text: &str, width: u16, theme: Theme) -> String {
    let width = usize::from(width);
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let mut kept: String = fitting_chars(text.chars(), room).collect();
    // Some characters are wider in combination: a heart with the sign that makes it an emoji.
    while kept.width() > room {
        kept.pop();
    }
    if width > 0 {
        kept.push(theme.glyphs().ellipsis);
    }
    kept
}

/// The text, truncated at its start where it is wider than `width` columns: the end of a path is
/// its file name.
#[must_use]
pub fn cut_start(text: &str, width: u16, theme: Theme) -> String {
    let width = usize::from(width);
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let count = fitting_chars(text.chars().rev(), room).count();
    let begin = text.chars().count() - count;
    let mut kept: String = text.chars().skip(begin).collect();
    while kept.width() > room {
        kept.remove(0);
    }
    if width > 0 {
        kept.insert(0, theme.glyphs().ellipsis);
    }
    kept
}

/// As many of these characters as fit, each measured alone.
fn fitting_chars(letters: impl Iterator<Item = char>, room: usize) -> impl Iterator<Item = char> {
    let mut used = 0;
    letters.take_while(move |letter| {
        used += letter.width().unwrap_or(0);
        used <= room
    })
}

/// A whole number with grouped thousands: `12 345`.
#[must_use]
pub fn grouped_thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    if number <= -0.5 {
        text.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The placeholder for an unknown value.
#[must_use]
pub fn unknown_value(theme: Theme) -> Span<'static> {
    Span::styled("n/a", theme.role_style(StyleRole::Faint))
}

/// A prompt with the text that is typed behind it, in `width` columns.
#[must_use]
pub fn prompted_input_line(
    prompt: &'static str,
    text: &EditableText,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let room = width.saturating_sub(prompt.len() as u16);
    let style = theme.role_style(StyleRole::Plain);
    let mut line = Line::from(Span::styled(prompt, theme.role_style(StyleRole::Title)));
    line.extend(input_line(text, room, theme, style));
    line
}

/// An editable text with its cursor, scrolled to the end where text is inserted. A selected text
/// has no cursor.
#[must_use]
pub fn input_line(text: &EditableText, width: u16, theme: Theme, style: Style) -> Line<'static> {
    if text.is_selected() {
        let shown = cut_start(&text.as_string(), width, theme);
        return Line::styled(shown, theme.role_style(StyleRole::Selected));
    }
    let before = text.before_cursor();
    let full_text = text.as_string();
    let mut after = full_text[before.len()..].chars();
    let under = after.next().unwrap_or(' ').to_string();
    let rest: String = after.collect();
    let room = width.saturating_sub(1);
    let shown = cut_start(&before, room, theme);
    let left = room.saturating_sub(u16::try_from(shown.width()).unwrap_or(u16::MAX));
    Line::from(vec![
        Span::styled(shown, style),
        Span::styled(under, theme.role_style(StyleRole::Selected)),
        Span::styled(cut_end(&rest, left, theme), style),
    ])
}

/// The text wrapped into lines of at most `width` columns.
#[must_use]
pub fn wrap_text(text: &str, width: u16) -> Vec<String> {
    crate::text::wrap_text(text, usize::from(width))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (1000.0, "1 000"),
            (1_234_567.4, "1 234 567"),
            (-4321.0, "-4 321"),
        ] {
            assert_eq!(grouped_thousands(number), text);
        }
    }

    #[test]
    fn cut_start_keeps_end_of_path() {
        assert_eq!(cut_start("/srv/img/vm7.raw", 8, Theme::FULL), "…vm7.raw");
        assert_eq!(cut_end("/srv/img/vm7.raw", 8, Theme::FULL), "/srv/im…");
        for cut in [cut_end, cut_start] {
            let hearts = cut(&"\u{2764}\u{fe0f}".repeat(9), 8, Theme::FULL);
            assert!(hearts.width() <= 8, "{hearts:?}");
        }
    }

    proptest! {
        #[test]
        fn cut_text_fits_the_width(text in "\\PC*", width in 0..40_u16) {
            prop_assert!(cut_end(&text, width, Theme::FULL).width() <= usize::from(width));
            prop_assert!(cut_start(&text, width, Theme::FULL).width() <= usize::from(width));
        }
    }
}
