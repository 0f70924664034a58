//! Commands that can be copied.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::files::shell::{ascii_command, fold_command};
use crate::ui::theme::Theme;
use crate::ui::widgets::text::wrap_text;

/// Columns before each line of a command.
const INDENT: &str = "  ";

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
            [r#"  du '/gr'"$(printf '\303\266\303\237')"'e'"#]
        );
    }
}
