//! Every screen as a snapshot, and what holds of all of them.

use std::time::Duration;

use diskscope::app::key::{Code, Key};
use diskscope::app::{Action, State, update};
use diskscope::ui::{self, Look};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::canned;

pub fn drawn(state: &State, look: Look, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    ui::draw(state, &look, area, &mut buffer);
    buffer
}

/// The characters alone.
pub fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    let lines: Vec<_> = buffer.content.chunks(width).map(line).collect();
    lines.join("\n")
}

#[test]
fn screens_of_80_columns() {
    for (name, screen) in canned::screens() {
        let state = screen();
        // Colours and weights included: they carry meaning.
        let buffer = drawn(&state, Look::FULL, 80, 24);
        insta::assert_debug_snapshot!(format!("{name}-80x24"), buffer);
    }
}

#[test]
fn screens_of_160_columns() {
    for (name, screen) in canned::screens() {
        let mut state = screen();
        if name == "live" {
            canned::press(&mut state, Code::Down);
        }
        let buffer = drawn(&state, Look::FULL, 160, 50);
        insta::assert_snapshot!(format!("{name}-160x50"), text(&buffer));
    }
}

#[test]
fn without_colour_and_beyond_ascii_nothing_is_lost() {
    let look = Look {
        ascii: true,
        colour: false,
    };
    for (name, screen) in canned::screens() {
        let state = screen();
        let buffer = drawn(&state, look, 100, 30);
        assert!(text(&buffer).is_ascii(), "{name}");
        for cell in &buffer.content {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{name}");
        }
        insta::assert_snapshot!(format!("{name}-ascii"), text(&buffer));
    }
}

#[test]
fn the_background_is_the_terminals_own() {
    for (name, screen) in canned::screens() {
        let state = screen();
        let buffer = drawn(&state, Look::FULL, 120, 40);
        let painted = buffer.content.iter().find(|cell| cell.bg != Color::Reset);
        assert!(painted.is_none(), "{name}: {painted:?}");
    }
}

#[test]
fn a_terminal_that_is_too_small_is_told() {
    let text = text(&drawn(&canned::live(), Look::FULL, 40, 10));
    assert!(
        text.contains("40x10 is too small") && text.contains("80x24"),
        "{text}"
    );
}

fn key() -> impl Strategy<Value = Key> {
    let special = prop::sample::select(vec![
        Code::Enter,
        Code::Esc,
        Code::Tab,
        Code::BackTab,
        Code::Up,
        Code::Down,
        Code::Left,
        Code::Right,
        Code::Home,
        Code::End,
        Code::PageUp,
        Code::PageDown,
        Code::Backspace,
        Code::Delete,
    ]);
    let letters = prop::sample::select("124bqsrSaid/+- ?ejkgGxyn0é".chars().collect::<Vec<_>>());
    prop_oneof![
        special.prop_map(Key::new),
        letters.prop_map(Key::char),
        prop::sample::select(vec!['c', 'z', 'l', 'u', 'a']).prop_map(Key::control),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_keys_lead_to_a_state_that_cannot_be_drawn(
        keys in prop::collection::vec(key(), 0..60),
        screen in 0..7_usize,
        sizes in prop::collection::vec((1..200_u16, 1..70_u16), 1..4),
    ) {
        let mut state = match screen {
            0 => State::new(Duration::from_secs(1)),
            screen => canned::screens()[screen - 1].1(),
        };
        for key in keys {
            update(&mut state, Action::Key(key));
        }
        for (width, height) in sizes {
            for look in [Look::FULL, Look { ascii: true, colour: false }] {
                drawn(&state, look, width, height);
            }
        }
    }
}
