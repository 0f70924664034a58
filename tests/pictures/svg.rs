//! A buffer of the terminal as an SVG picture: one grid cell per character.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Width and height of a cell in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
const FAINT: &str = "#7d838f";

/// Draws it.
pub fn draw(buffer: &Buffer) -> String {
    let area = buffer.area;
    let rows: String = (0..area.height).map(|y| draw_row(buffer, y)).collect();
    frame((area.width, area.height), &rows)
}

/// A picture of that many columns and rows.
pub fn frame(cells: (u16, u16), body: &str) -> String {
    let width = f64::from(cells.0) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(cells.1) * CELL.1 + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n{body}</g>\n</svg>\n"
    )
}

/// One row.
pub fn draw_row(buffer: &Buffer, y: u16) -> String {
    let mut svg = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        x += draw_text_run(buffer, x, y, &mut svg);
    }
    svg
}

/// A sentence below a screen of that many rows.
pub fn draw_caption(text: &str, rows: u16) -> String {
    let y = MARGIN + f64::from(rows + 1) * CELL.1 + CELL.1 * 0.74;
    format!(
        "<text x=\"{MARGIN:.1}\" y=\"{y:.1}\" fill=\"{FOREGROUND}\" font-weight=\"bold\">{}</text>\n",
        escape_xml(text)
    )
}

/// One stretch of cells of the same style; returns how many.
fn draw_text_run(buffer: &Buffer, x: u16, y: u16, svg: &mut String) -> u16 {
    let first = &buffer[(x, y)];
    let same = |cell: &Cell| {
        (cell.fg, cell.bg, cell.modifier) == (first.fg, first.bg, first.modifier)
            && is_block_or_braille(cell) == is_block_or_braille(first)
    };
    let length = (x..buffer.area.width)
        .take_while(|x| same(&buffer[(*x, y)]))
        .count() as u16;
    let reversed = first.modifier.contains(Modifier::REVERSED);
    let ink = foreground_colour(first);
    let (left, top) = (
        MARGIN + f64::from(x) * CELL.0,
        MARGIN + f64::from(y) * CELL.1,
    );
    if reversed {
        svg.push_str(&format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{ink}\"/>\n",
            f64::from(length) * CELL.0,
            CELL.1
        ));
    }
    let ink = if reversed { BACKGROUND } else { &ink };
    if is_block_or_braille(first) {
        for offset in 0..length {
            draw_block_glyph(
                &buffer[(x + offset, y)],
                left + f64::from(offset) * CELL.0,
                top,
                ink,
                svg,
            );
        }
        return length;
    }
    let text: String = (x..x + length).map(|x| buffer[(x, y)].symbol()).collect();
    if text.trim().is_empty() {
        return length;
    }
    let mut style = String::new();
    if first.modifier.contains(Modifier::BOLD) {
        style.push_str(" font-weight=\"bold\"");
    }
    if first.modifier.contains(Modifier::UNDERLINED) {
        style.push_str(" text-decoration=\"underline\"");
    }
    svg.push_str(&format!(
        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{:.1}\" fill=\"{ink}\"{style}>{}</text>\n",
        top + CELL.1 * 0.74,
        f64::from(length) * CELL.0,
        escape_xml(&text)
    ));
    length
}

fn foreground_colour(cell: &Cell) -> String {
    let name = match cell.fg {
        Color::Cyan => "#56c7d6",
        Color::Magenta => "#c792ea",
        Color::Yellow => "#e5c07b",
        Color::Red => "#f0716b",
        Color::Green => "#8cc570",
        Color::Indexed(index @ 16..=231) => return cube_colour(index),
        _ if cell.modifier.contains(Modifier::DIM) => FAINT,
        _ => FOREGROUND,
    };
    name.to_owned()
}

/// A colour of xterm's cube (256colres.pl of xterm).
fn cube_colour(index: u8) -> String {
    let level = |step: u8| [0, 95, 135, 175, 215, 255][usize::from(step)];
    let place = index - 16;
    let [red, green, blue] = [place / 36, place / 6 % 6, place % 6].map(level);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Blocks and Braille dots are drawn as shapes: fonts leave gaps between them.
fn is_block_or_braille(cell: &Cell) -> bool {
    let letter = cell.symbol().chars().next().unwrap_or(' ');
    ('\u{2580}'..='\u{259f}').contains(&letter) || ('\u{2800}'..='\u{28ff}').contains(&letter)
}

fn draw_block_glyph(cell: &Cell, left: f64, top: f64, ink: &str, svg: &mut String) {
    let letter = cell.symbol().chars().next().unwrap_or(' ');
    let code = letter as u32;
    let (wide, high) = CELL;
    let mut rect = |x: f64, y: f64, width: f64, height: f64, opacity: f64| {
        svg.push_str(&format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"{ink}\" fill-opacity=\"{opacity}\"/>\n"
        ));
    };
    match code {
        0x2580 => rect(left, top, wide + 0.2, high / 2.0, 1.0),
        0x2581..=0x2588 => {
            let height = high * f64::from(code - 0x2580) / 8.0;
            rect(left, top + high - height, wide + 0.2, height + 0.2, 1.0);
        }
        0x2589..=0x258f => {
            let width = wide * f64::from(0x2590 - code) / 8.0;
            rect(left, top, width + 0.2, high + 0.2, 1.0);
        }
        0x2590 | 0x2596..=0x259f => {
            for (column, row) in quadrants(code) {
                let (x, y) = (left + wide / 2.0 * column, top + high / 2.0 * row);
                rect(x, y, wide / 2.0 + 0.2, high / 2.0 + 0.2, 1.0);
            }
        }
        0x2591..=0x2593 => rect(left, top + 3.0, wide + 0.2, high - 6.0, 0.18),
        _ => dots(code - 0x2800, left, top, ink, svg),
    }
}

/// Column and row of the quarters of a cell that a block element fills (Unicode Standard, block
/// 2580).
fn quadrants(code: u32) -> Vec<(f64, f64)> {
    const UPPER_LEFT: (f64, f64) = (0.0, 0.0);
    const UPPER_RIGHT: (f64, f64) = (1.0, 0.0);
    const LOWER_LEFT: (f64, f64) = (0.0, 1.0);
    const LOWER_RIGHT: (f64, f64) = (1.0, 1.0);
    match code {
        0x2590 => vec![UPPER_RIGHT, LOWER_RIGHT],
        0x2596 => vec![LOWER_LEFT],
        0x2597 => vec![LOWER_RIGHT],
        0x2598 => vec![UPPER_LEFT],
        0x2599 => vec![UPPER_LEFT, LOWER_LEFT, LOWER_RIGHT],
        0x259a => vec![UPPER_LEFT, LOWER_RIGHT],
        0x259b => vec![UPPER_LEFT, UPPER_RIGHT, LOWER_LEFT],
        0x259c => vec![UPPER_LEFT, UPPER_RIGHT, LOWER_RIGHT],
        0x259d => vec![UPPER_RIGHT],
        0x259e => vec![UPPER_RIGHT, LOWER_LEFT],
        _ => vec![UPPER_RIGHT, LOWER_LEFT, LOWER_RIGHT],
    }
}

/// The dots of a Braille character (Unicode Standard, chapter 21.1): bits 0-2 and 6 left,
/// 3-5 and 7 right, from the top.
fn dots(bits: u32, left: f64, top: f64, ink: &str, svg: &mut String) {
    const DOT_POSITIONS: [(u32, f64, f64); 8] = [
        (0, 0.0, 0.0),
        (1, 0.0, 1.0),
        (2, 0.0, 2.0),
        (3, 1.0, 0.0),
        (4, 1.0, 1.0),
        (5, 1.0, 2.0),
        (6, 0.0, 3.0),
        (7, 1.0, 3.0),
    ];
    let mut path = String::new();
    for (bit, column, row) in DOT_POSITIONS {
        if bits >> bit & 1 == 1 {
            let x = left + CELL.0 * (0.25 + 0.5 * column) - 1.3;
            let y = top + CELL.1 * (0.125 + 0.25 * row) - 1.3;
            path.push_str(&format!("M{x:.1} {y:.1}h2.6v2.6h-2.6z"));
        }
    }
    if !path.is_empty() {
        svg.push_str(&format!("<path d=\"{path}\" fill=\"{ink}\"/>\n"));
    }
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
