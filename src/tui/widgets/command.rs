//! Commands that can be copied.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::files::shell::{ascii_command, quoted_parts};
use crate::tui::theme::Theme;
use crate::tui::widgets::text::wrap_text;

/// Columns before each line of a command.
const INDENT: &str = "  ";

/// Operators behind which a line break is none for a shell (POSIX, 2.10.2).
const OPERATORS: [&str; 2] = ["&& ", "| "];

/// The command in lines of at most `width` columns, behind whose ends a shell reads on. Where a part of it
/// is too wide for a line, a sentence names `printed_by`, the command of this program that
/// prints it.
#[must_use]
pub fn command_lines(
    command: &str,
    printed_by: &str,
    width: u16,
    style: Style,
    theme: Theme,
) -> Vec<Line<'static>> {
    let command = match theme.ascii {
        true => ascii_command(command),
        false => command.to_owned(),
    };
    let room = width.saturating_sub(INDENT.len() as u16);
    let lines = fold_command(&command, usize::from(room)).unwrap_or_else(|| {
        let sentence = format!("(a command too wide for this screen: {printed_by} prints it)");
        wrap_text(&sentence, room)
    });
    let indented = |line: String| Line::from(vec![Span::raw(INDENT), Span::styled(line, style)]);
    lines.into_iter().map(indented).collect()
}

/// Folds a command line into lines of at most `width` columns behind its operators `&&` and `|`, where a
/// shell reads on by itself. A backslash at the end of a line would not do: terminals copy the blanks
/// behind it. `None` where a part is wider than a line.
fn fold_command(command: &str, width: usize) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    for (is_quoted, text) in quoted_parts(command) {
        for piece in text.split_inclusive(' ') {
            if let Some(part) = parts.last_mut() {
                part.push_str(piece);
            }
            if !is_quoted && OPERATORS.contains(&piece) {
                parts.push(String::new());
            }
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.width() + part.trim_end().width() <= width => line.push_str(&part),
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part),
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| line.trim_end().into()).collect();
    lines
        .iter()
        .all(|line| line.width() <= width)
        .then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, width: u16, theme: Theme) -> Vec<String> {
        let lines = command_lines(command, "diskscope why", width, Style::default(), theme);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn command_is_folded_or_not_shown() {
        let shown = |command, width| shown(command, width, Theme::FULL);
        let command = "du -xh /srv/projects/archive/replica | sort -h";
        assert_eq!(shown(command, 80), [format!("  {command}")]);
        assert_eq!(
            shown(command, 42),
            ["  du -xh /srv/projects/archive/replica |", "    sort -h"]
        );
        assert_eq!(
            shown(command, 32),
            [
                "  (a command too wide for this",
                "  screen: diskscope why prints",
                "  it)"
            ]
        );
    }

    #[test]
    fn command_in_ascii_names_the_same_file() {
        let theme = Theme {
            ascii: true,
            ..Theme::FULL
        };
        assert_eq!(
            shown("du '/gr\u{f6}\u{df}e'", 80, theme),
            [r"  du $'/gr\303\266\303\237e'"]
        );
    }
}
