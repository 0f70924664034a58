//! Colours and characters by role.

mod palette;

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;

use crate::session::document::Severity;

pub use self::palette::{Background, ColourDepth, Palette, ThemeName};

/// The role of an element on the screen; each has one style everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StyleRole {
    /// Ordinary text.
    Plain,
    /// Secondary text: headings of columns, units, unknown values.
    Faint,
    /// The title of a pane.
    Title,
    /// What is selected.
    Selected,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// A warning, or waiting.
    Warning,
    /// An error.
    Error,
    /// Success, or completion.
    Success,
}

impl From<Severity> for StyleRole {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Plain,
            Severity::Warning => Self::Warning,
            Severity::Invalid => Self::Error,
        }
    }
}

/// Characters for drawing.
#[derive(Debug)]
pub struct GlyphSet {
    /// Levels of a column from low to full, eight of them.
    pub bar_levels: [char; 8],
    /// Few, some, many, most.
    pub density_shades: [char; 4],
    /// The same for a second series, distinguishable without colours.
    pub second_density_shades: [char; 4],
    /// The first curve of a chart in its legend.
    pub first_series: char,
    /// Marks of the second, third ... curve of a chart; the first has the finest marks.
    pub line_series: [char; 3],
    /// The same for bars.
    pub bar_series: [char; 3],
    /// The filled part of a bar.
    pub bar: char,
    /// Half a column of a filled bar.
    pub half_bar: char,
    /// The empty part of a bar.
    pub empty_bar: char,
    /// A horizontal line.
    pub horizontal: char,
    /// A vertical line.
    pub vertical: char,
    /// Tick mark of a vertical axis.
    pub tick_left: char,
    /// Tick mark of a horizontal axis.
    pub tick_below: char,
    /// Where the axes meet.
    pub corner: char,
    /// Separates source and destination.
    pub arrow: &'static str,
    /// Marks truncated text.
    pub ellipsis: char,
    /// Prefix of a child of the line above.
    pub branch: &'static str,
    /// Ascending order, next to the heading of a column; in ASCII as ps(1) writes it, since a letter
    /// would be read as part of the heading.
    pub ascending: char,
    /// Descending order.
    pub descending: char,
    /// Prefix of the selection.
    pub pointer: char,
    /// Prefix of a success.
    pub check_mark: char,
    /// Separates two facts.
    pub separator: char,
}

static UNICODE: GlyphSet = GlyphSet {
    bar_levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    density_shades: ['░', '▒', '▓', '█'],
    second_density_shades: ['·', '+', 'x', '#'],
    first_series: '⠶',
    line_series: ['•', 'x', '+'],
    bar_series: ['▒', '░', '▓'],
    bar: '━',
    half_bar: '╸',
    empty_bar: '─',
    horizontal: '─',
    vertical: '│',
    tick_left: '┤',
    tick_below: '┬',
    corner: '└',
    arrow: "→",
    ellipsis: '…',
    branch: "└ ",
    ascending: '▲',
    descending: '▼',
    pointer: '▸',
    check_mark: '✓',
    separator: '·',
};

static ASCII: GlyphSet = GlyphSet {
    bar_levels: ['_', '.', ',', ':', '-', '=', '+', '#'],
    density_shades: ['.', ':', '=', '#'],
    second_density_shades: ['o', 'w', 'x', 'W'],
    first_series: '*',
    line_series: ['o', 'x', '+'],
    bar_series: ['o', 'x', '.'],
    bar: '#',
    half_bar: '=',
    empty_bar: '.',
    horizontal: '-',
    vertical: '|',
    tick_left: '+',
    tick_below: '+',
    corner: '+',
    arrow: "->",
    ellipsis: '~',
    branch: "` ",
    ascending: '+',
    descending: '-',
    pointer: '>',
    check_mark: '*',
    separator: '-',
};

/// The theme: with or without colour, with or without non-ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// ASCII only.
    pub ascii: bool,
    /// Use colours; otherwise bold, underline and reverse replace them.
    pub colour: bool,
    /// The colours.
    pub palette: Palette,
}

impl Theme {
    /// With all capabilities of a terminal.
    pub const FULL: Self = Self {
        ascii: false,
        colour: true,
        palette: Palette::BASIC,
    };

    /// The characters.
    #[must_use]
    pub fn glyphs(self) -> &'static GlyphSet {
        if self.ascii { &ASCII } else { &UNICODE }
    }

    /// Marker of the charts.
    #[must_use]
    pub fn chart_marker(self) -> Marker {
        if self.ascii {
            Marker::Custom('*')
        } else {
            Marker::Braille
        }
    }

    /// The style of a role, on the terminal's own background.
    #[must_use]
    pub fn role_style(self, role: StyleRole) -> Style {
        let plain = Style::new();
        match role {
            StyleRole::Plain => plain,
            StyleRole::Faint => plain.add_modifier(Modifier::DIM),
            StyleRole::Title => plain.add_modifier(Modifier::BOLD),
            StyleRole::Selected => plain.add_modifier(Modifier::REVERSED),
            StyleRole::Read => self.colour_or_modifier(self.palette.read, Modifier::empty()),
            StyleRole::Write => self.colour_or_modifier(self.palette.write, Modifier::empty()),
            // Black is the colour of ordinary text on a light background.
            StyleRole::Warning if self.colour && self.palette.warning == Color::Black => {
                plain.fg(Color::Black).add_modifier(Modifier::UNDERLINED)
            }
            StyleRole::Warning => {
                self.colour_or_modifier(self.palette.warning, Modifier::UNDERLINED)
            }
            StyleRole::Error => {
                let loud = Modifier::BOLD | Modifier::UNDERLINED;
                self.colour_or_modifier(self.palette.error, loud)
                    .add_modifier(Modifier::BOLD)
            }
            StyleRole::Success => self.colour_or_modifier(self.palette.success, Modifier::empty()),
        }
    }

    fn colour_or_modifier(self, colour: Color, otherwise: Modifier) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new().add_modifier(otherwise)
        }
    }

    /// The colour of a role in a chart.
    #[must_use]
    pub fn role_colour(self, role: StyleRole) -> Color {
        self.role_style(role).fg.unwrap_or(Color::Reset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_ROLES: [StyleRole; 9] = [
        StyleRole::Plain,
        StyleRole::Faint,
        StyleRole::Title,
        StyleRole::Selected,
        StyleRole::Read,
        StyleRole::Write,
        StyleRole::Warning,
        StyleRole::Error,
        StyleRole::Success,
    ];

    #[test]
    fn theme_without_colour_sets_no_colours() {
        let theme = Theme {
            ascii: false,
            colour: false,
            ..Theme::FULL
        };
        for role in ALL_ROLES {
            let style = theme.role_style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
    }

    #[test]
    fn theme_uses_red_for_errors_only() {
        for role in ALL_ROLES {
            let red = Theme::FULL.role_style(role).fg == Some(Color::Red);
            assert_eq!(red, role == StyleRole::Error);
        }
    }
}
