//! Colours and characters by what they mean.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;

use crate::session::document::Severity;

/// What something on the screen means; each has one look everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Ordinary text.
    Plain,
    /// Text that stands back: headings of columns, units, what is unknown.
    Faint,
    /// The name of a part of the screen.
    Title,
    /// What is selected.
    Selected,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Waiting, and what deserves a second look.
    Waiting,
    /// Something is wrong.
    Trouble,
    /// Something is well, or done.
    Good,
}

impl From<Severity> for Meaning {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Plain,
            Severity::Warning => Self::Waiting,
            Severity::Invalid => Self::Trouble,
        }
    }
}

/// Characters that are drawn with.
#[derive(Debug)]
pub struct Glyphs {
    /// Levels of a column from low to full, eight of them.
    pub levels: [char; 8],
    /// Few, some, many, most.
    pub shades: [char; 4],
    /// The filled part of a bar.
    pub bar: char,
    /// Half a column of it.
    pub half_bar: char,
    /// The empty part of a bar.
    pub groove: char,
    /// A horizontal line.
    pub horizontal: char,
    /// A vertical line.
    pub vertical: char,
    /// Where an axis has a mark, vertical.
    pub tick_left: char,
    /// Where an axis has a mark, horizontal.
    pub tick_below: char,
    /// Where the axes meet.
    pub corner: char,
    /// From one place to another.
    pub arrow: &'static str,
    /// What was cut off.
    pub ellipsis: char,
    /// Before a part of the line above.
    pub branch: &'static str,
    /// Ascending order.
    pub up: char,
    /// Descending order.
    pub down: char,
    /// Before what is selected.
    pub pointer: char,
    /// Before what is well.
    pub well: char,
    /// Between two facts.
    pub dot: char,
}

static UNICODE: Glyphs = Glyphs {
    levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    shades: ['░', '▒', '▓', '█'],
    bar: '━',
    half_bar: '╸',
    groove: '─',
    horizontal: '─',
    vertical: '│',
    tick_left: '┤',
    tick_below: '┬',
    corner: '└',
    arrow: "→",
    ellipsis: '…',
    branch: "└ ",
    up: '▲',
    down: '▼',
    pointer: '▸',
    well: '✓',
    dot: '·',
};

static ASCII: Glyphs = Glyphs {
    levels: ['_', '.', ',', ':', '-', '=', '+', '#'],
    shades: ['.', ':', '+', '#'],
    bar: '#',
    half_bar: '=',
    groove: '.',
    horizontal: '-',
    vertical: '|',
    tick_left: '+',
    tick_below: '+',
    corner: '+',
    arrow: "->",
    ellipsis: '~',
    branch: "` ",
    up: '^',
    down: 'v',
    pointer: '>',
    well: '*',
    dot: '-',
};

/// How everything looks: with or without colour, with or without characters beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// ASCII only.
    pub ascii: bool,
    /// Colours; without them bold, underline and reverse have to do.
    pub colour: bool,
}

impl Look {
    /// With everything that a terminal can do.
    pub const FULL: Self = Self {
        ascii: false,
        colour: true,
    };

    /// The characters.
    #[must_use]
    pub fn glyphs(self) -> &'static Glyphs {
        if self.ascii { &ASCII } else { &UNICODE }
    }

    /// What charts are drawn with.
    #[must_use]
    pub fn marker(self) -> Marker {
        if self.ascii {
            Marker::Custom('*')
        } else {
            Marker::Braille
        }
    }

    /// The style of a meaning. Only the 16 colours of every terminal and its own background, so
    /// that it reads on dark and light ones.
    #[must_use]
    pub fn style(self, meaning: Meaning) -> Style {
        let plain = Style::new();
        match meaning {
            Meaning::Plain => plain,
            Meaning::Faint => plain.add_modifier(Modifier::DIM),
            Meaning::Title => plain.add_modifier(Modifier::BOLD),
            Meaning::Selected => plain.add_modifier(Modifier::REVERSED),
            Meaning::Read => self.tinted(Color::Cyan, Modifier::empty()),
            Meaning::Write => self.tinted(Color::Magenta, Modifier::empty()),
            Meaning::Waiting => self.tinted(Color::Yellow, Modifier::UNDERLINED),
            Meaning::Trouble => {
                let loud = Modifier::BOLD | Modifier::UNDERLINED;
                self.tinted(Color::Red, loud).add_modifier(Modifier::BOLD)
            }
            Meaning::Good => self.tinted(Color::Green, Modifier::empty()),
        }
    }

    fn tinted(self, colour: Color, otherwise: Modifier) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new().add_modifier(otherwise)
        }
    }

    /// The colour of a meaning for a chart.
    #[must_use]
    pub fn colour_of(self, meaning: Meaning) -> Color {
        self.style(meaning).fg.unwrap_or(Color::Reset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Meaning; 9] = [
        Meaning::Plain,
        Meaning::Faint,
        Meaning::Title,
        Meaning::Selected,
        Meaning::Read,
        Meaning::Write,
        Meaning::Waiting,
        Meaning::Trouble,
        Meaning::Good,
    ];

    #[test]
    fn without_colour_there_is_none() {
        let look = Look {
            ascii: false,
            colour: false,
        };
        for meaning in ALL {
            let style = look.style(meaning);
            assert_eq!((style.fg, style.bg), (None, None), "{meaning:?}");
        }
    }

    #[test]
    fn only_trouble_is_red() {
        for meaning in ALL {
            let red = Look::FULL.style(meaning).fg == Some(Color::Red);
            assert_eq!(red, meaning == Meaning::Trouble);
        }
    }
}
