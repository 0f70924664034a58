//! Every screen as a snapshot, and what holds of all of them.

use std::time::Duration;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, update};
use diskscope::ui::{self, Theme};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::interface::canned;

pub fn draw_to_buffer(state: &AppState, theme: Theme, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    ui::draw(state, &theme, area, &mut buffer);
    buffer
}

/// The characters alone.
pub fn buffer_text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    let lines: Vec<_> = buffer.content.chunks(width).map(line).collect();
    lines.join("\n")
}

#[test]
fn screens_at_80_columns_match_snapshots() {
    for (name, screen) in canned::screens() {
        let state = screen();
        // Colours and weights included: they carry meaning.
        let buffer = draw_to_buffer(&state, Theme::FULL, 80, 24);
        insta::assert_debug_snapshot!(format!("{name}-80x24"), buffer);
    }
}

#[test]
fn screens_at_160_columns_match_snapshots() {
    for (name, screen) in canned::screens() {
        let mut state = screen();
        if name == "live" {
            canned::press_code(&mut state, KeySymbol::Down);
        }
        let buffer = draw_to_buffer(&state, Theme::FULL, 160, 50);
        insta::assert_snapshot!(format!("{name}-160x50"), buffer_text(&buffer));
    }
}

#[test]
fn screens_without_colour_and_unicode_match_snapshots() {
    let theme = Theme {
        ascii: true,
        colour: false,
        ..Theme::FULL
    };
    for (name, screen) in canned::screens() {
        let state = screen();
        let buffer = draw_to_buffer(&state, theme, 100, 30);
        assert!(buffer_text(&buffer).is_ascii(), "{name}");
        for cell in &buffer.content {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{name}");
        }
        insta::assert_snapshot!(format!("{name}-ascii"), buffer_text(&buffer));
    }
}

#[test]
fn screens_keep_the_terminal_background() {
    for (name, screen) in canned::screens() {
        let state = screen();
        let buffer = draw_to_buffer(&state, Theme::FULL, 120, 40);
        let painted = buffer.content.iter().find(|cell| cell.bg != Color::Reset);
        assert!(painted.is_none(), "{name}: {painted:?}");
    }
}

#[test]
fn too_small_terminal_shows_a_message() {
    let text = buffer_text(&draw_to_buffer(&canned::live_state(), Theme::FULL, 40, 10));
    assert!(
        text.contains("40x10 is too small") && text.contains("80x24"),
        "{text}"
    );
}

fn any_key() -> impl Strategy<Value = KeyPress> {
    let special = prop::sample::select(vec![
        KeySymbol::Enter,
        KeySymbol::Esc,
        KeySymbol::Tab,
        KeySymbol::BackTab,
        KeySymbol::Up,
        KeySymbol::Down,
        KeySymbol::Left,
        KeySymbol::Right,
        KeySymbol::Home,
        KeySymbol::End,
        KeySymbol::PageUp,
        KeySymbol::PageDown,
        KeySymbol::Backspace,
        KeySymbol::Delete,
    ]);
    let letters = prop::sample::select("124bqsrSaid/+- ?ejkgGxyn0é".chars().collect::<Vec<_>>());
    prop_oneof![
        special.prop_map(KeyPress::new),
        letters.prop_map(KeyPress::char),
        prop::sample::select(vec!['c', 'z', 'l', 'u', 'a']).prop_map(KeyPress::control),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_key_sequence_leads_to_a_drawable_state(
        keys in prop::collection::vec(any_key(), 0..60),
        screen in 0..7_usize,
        sizes in prop::collection::vec((1..200_u16, 1..70_u16), 1..4),
    ) {
        let mut state = match screen {
            0 => AppState::new(Duration::from_secs(1)),
            screen => canned::screens()[screen - 1].1(),
        };
        for key in keys {
            update(&mut state, AppEvent::Key(key));
        }
        for (width, height) in sizes {
            for theme in [Theme::FULL, Theme { ascii: true, colour: false, ..Theme::FULL }] {
                draw_to_buffer(&state, theme, width, height);
            }
        }
    }
}
