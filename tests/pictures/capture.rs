//! A capture of `tmux capture-pane -e -p`: lines of text with SGR sequences (ECMA-48, 8.3.117).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

/// The colours of SGR 30 to 37.
const COLOURS: [Color; 8] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
];

/// The buffer of the terminal that a capture shows.
pub fn parse(text: &str) -> Buffer {
    // tmux keeps the style across lines.
    let mut style = Style::new();
    let lines: Vec<Line<'_>> = text
        .lines()
        .map(|line| parse_line(line, &mut style))
        .collect();
    let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16;
    let area = Rect::new(0, 0, width, lines.len() as u16);
    let mut buffer = Buffer::empty(area);
    for (row, line) in area.rows().zip(lines) {
        line.render(row, &mut buffer);
    }
    buffer
}

fn parse_line<'a>(line: &'a str, style: &mut Style) -> Line<'a> {
    let mut parts = line.split("\x1b[");
    let mut spans: Vec<Span<'a>> = parts
        .next()
        .map(|text| Span::styled(text, *style))
        .into_iter()
        .collect();
    for part in parts {
        let Some((codes, text)) = part.split_once('m') else {
            continue;
        };
        apply(codes, style);
        spans.push(Span::styled(text, *style));
    }
    Line::from(spans)
}

fn apply(codes: &str, style: &mut Style) {
    let mut codes = codes.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        *style = match code {
            0 => Style::new(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            30..=37 => style.fg(COLOURS[usize::from(code - 30)]),
            38 => match (codes.next(), codes.next()) {
                (Some(5), Some(index)) => style.fg(Color::Indexed(index)),
                _ => *style,
            },
            39 => style.fg(Color::Reset),
            _ => *style,
        };
    }
}
