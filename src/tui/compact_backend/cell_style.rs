//! Styles of cells and the shortest control sequence from one to another (ECMA-48, SGR).

use std::fmt::Write as _;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

/// Modifiers with their codes; slow and rapid blinking are never used.
const MODIFIER_CODES: [(Modifier, u8); 6] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// Style of a cell, as far as it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CellStyle {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl CellStyle {
    pub(super) fn of_cell(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }

    /// Whether a blank in this style shows only the terminal's own background.
    pub(super) fn blank_shows_background_only(self) -> bool {
        self.bg == Color::Reset
            && !self
                .modifier
                .intersects(Modifier::UNDERLINED | Modifier::REVERSED | Modifier::CROSSED_OUT)
    }

    /// Appends the shortest sequence that changes `self` to `wanted`, which differs.
    ///
    /// Modifiers are removed by a reset of everything, which an empty parameter is.
    pub(super) fn push_change(self, wanted: Self, bytes: &mut String) {
        let from_default = Self::default().codes_to(wanted);
        if from_default.is_empty() {
            bytes.push_str("\x1b[m");
            return;
        }
        bytes.push_str("\x1b[");
        if wanted.modifier.contains(self.modifier) {
            let added = self.codes_to(wanted);
            if added.len() <= from_default.len() + 1 {
                bytes.push_str(&added);
                bytes.push('m');
                return;
            }
        }
        bytes.push(';');
        bytes.push_str(&from_default);
        bytes.push('m');
    }

    /// The codes that add what `wanted` has beyond `self`, separated by semicolons.
    fn codes_to(self, wanted: Self) -> String {
        let mut codes = String::new();
        for (modifier, code) in MODIFIER_CODES {
            if (wanted.modifier - self.modifier).contains(modifier) {
                push_formatted(&mut codes, format_args!("{code};"));
            }
        }
        if wanted.fg != self.fg {
            push_colour(&mut codes, wanted.fg, 30);
        }
        if wanted.bg != self.bg {
            push_colour(&mut codes, wanted.bg, 40);
        }
        codes.pop();
        codes
    }
}

/// Whether a cell shows only the terminal's own background.
pub(super) fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && CellStyle::of_cell(cell).blank_shows_background_only()
}

/// The code of a colour; `base` is 30 for the foreground and 40 for the background.
fn push_colour(codes: &mut String, colour: Color, base: u8) {
    let code = match colour {
        Color::Reset => base + 9,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => base + 60,
        Color::LightRed => base + 61,
        Color::LightGreen => base + 62,
        Color::LightYellow => base + 63,
        Color::LightBlue => base + 64,
        Color::LightMagenta => base + 65,
        Color::LightCyan => base + 66,
        Color::White => base + 67,
        Color::Indexed(index) => {
            return push_formatted(codes, format_args!("{};5;{index};", base + 8));
        }
        Color::Rgb(red, green, blue) => {
            return push_formatted(codes, format_args!("{};2;{red};{green};{blue};", base + 8));
        }
    };
    push_formatted(codes, format_args!("{code};"));
}

pub(super) fn push_formatted(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_changes_by_the_shorter_of_adding_and_resetting() {
        let style = |fg, modifier| CellStyle {
            fg,
            bg: Color::Reset,
            modifier,
        };
        let plain = CellStyle::default();
        let cyan = style(Color::Cyan, Modifier::empty());
        let dim = style(Color::Reset, Modifier::DIM);
        let bold_cyan = style(Color::Cyan, Modifier::BOLD);
        for (from, to, expected) in [
            (plain, cyan, "\x1b[36m"),
            (cyan, plain, "\x1b[m"),
            (cyan, bold_cyan, "\x1b[1m"),
            (cyan, dim, "\x1b[;2m"),
            (dim, cyan, "\x1b[;36m"),
            (bold_cyan, dim, "\x1b[;2m"),
        ] {
            let mut bytes = String::new();
            from.push_change(to, &mut bytes);
            assert_eq!(bytes, expected, "{from:?} to {to:?}");
        }
    }
}
