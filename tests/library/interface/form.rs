//! The launcher's fields: a value that opens selected, and the search.

use std::sync::Arc;

use diskscope::app::error::TargetError;
use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::launcher::LauncherPane;
use diskscope::app::{AppEvent, AppState, Effect, Message, update};
use diskscope::bench::BENCHMARKS;
use diskscope::tui::screens::bench::keys::{FORM, LAUNCHER, SEARCH};
use diskscope::ui::Theme;

use crate::interface::canned;
use crate::interface::screens::{buffer_text, draw_to_buffer};

fn press_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    update(state, AppEvent::Key(key))
}

fn press_code(state: &mut AppState, code: KeySymbol) -> Vec<Effect> {
    press_key(state, KeyPress::new(code))
}

fn type_text(state: &mut AppState, text: &str) {
    for letter in text.chars() {
        press_key(state, KeyPress::char(letter));
    }
}

fn drawn_screen(state: &AppState) -> String {
    buffer_text(&draw_to_buffer(state, Theme::FULL, 80, 24))
}

/// What the open field holds.
fn open_field(state: &AppState) -> String {
    let editing = state.bench.launcher.form.editor.as_ref();
    editing.expect("a field is open").text.as_string()
}

/// What the selected parameter is set to.
fn field_value(state: &AppState) -> String {
    let entry = state.bench.launcher.form.selected_field();
    entry.expect("the form has a line").value().to_string()
}

/// The names of the selected target and benchmark.
fn selected_rows(state: &AppState) -> (String, String) {
    let launcher = &state.bench.launcher;
    let target = launcher.selected_choice().unwrap().name.clone();
    let test = launcher.selected_benchmark().unwrap().description().name;
    (target, test.to_owned())
}

fn type_search(state: &mut AppState, text: &str) {
    press_key(state, KeyPress::char('/'));
    type_text(state, text);
}

#[test]
fn printable_key_in_open_field_only_replaces_the_value() {
    for letter in ' '..='~' {
        let mut state = canned::form_field();
        let screen = state.screen;
        let effects = press_key(&mut state, KeyPress::char(letter));
        assert!(effects.is_empty(), "{letter:?}: {effects:?}");
        assert_eq!(open_field(&state), letter.to_string());
        assert_eq!(
            (state.screen, state.dialog.clone()),
            (screen, None),
            "{letter:?}"
        );
    }
}

#[test]
fn first_character_replaces_value_of_every_parameter() {
    let mut state = canned::launcher_state();
    for place in 0..BENCHMARKS.len() {
        state.bench.launcher.pane = LauncherPane::Benchmarks;
        press_code(&mut state, KeySymbol::Home);
        for _ in 0..place {
            press_code(&mut state, KeySymbol::Down);
        }
        press_code(&mut state, KeySymbol::Tab);
        assert_eq!(state.front_keys(), &FORM);
        for line in 0..state.bench.launcher.form.fields.len() {
            state.bench.launcher.form.cursor = line;
            press_code(&mut state, KeySymbol::Enter);
            assert_eq!(open_field(&state), field_value(&state));
            type_text(&mut state, "7");
            assert_eq!(open_field(&state), "7");
            press_code(&mut state, KeySymbol::Esc);
        }
    }
}

#[test]
fn arrow_home_and_end_keep_field_value_for_editing() {
    for (key, wanted) in [
        (KeySymbol::Left, "74KiB"),
        (KeySymbol::Home, "74KiB"),
        (KeySymbol::Up, "74KiB"),
        (KeySymbol::Right, "4KiB7"),
        (KeySymbol::End, "4KiB7"),
        (KeySymbol::Down, "4KiB7"),
    ] {
        let mut state = canned::form_field();
        press_code(&mut state, key);
        type_text(&mut state, "7");
        assert_eq!(open_field(&state), wanted, "{key:?}");
    }
}

#[test]
fn deleting_selected_value_restores_the_default() {
    for key in [
        KeyPress::new(KeySymbol::Backspace),
        KeyPress::new(KeySymbol::Delete),
        KeyPress::control('u'),
    ] {
        let mut state = canned::form_field();
        type_text(&mut state, "8KiB");
        press_code(&mut state, KeySymbol::Enter);
        assert_eq!(field_value(&state), "8KiB");
        press_code(&mut state, KeySymbol::Enter);
        press_key(&mut state, key);
        assert_eq!(open_field(&state), "", "{key}");
        press_code(&mut state, KeySymbol::Enter);
        assert_eq!(field_value(&state), "4KiB", "{key}");
    }
}

#[test]
fn pasted_text_replaces_selected_value() {
    let mut state = canned::form_field();
    update(&mut state, AppEvent::Paste("16KiB\n".to_owned()));
    assert_eq!(open_field(&state), "16KiB");
}

#[test]
fn mouse_wheel_does_not_change_open_field() {
    let mut state = canned::form_field();
    update(&mut state, AppEvent::Wheel { up: true });
    type_text(&mut state, "9");
    assert_eq!(open_field(&state), "9");
}

#[test]
fn escape_keeps_the_field_value() {
    let mut state = canned::form_field();
    type_text(&mut state, "9");
    press_code(&mut state, KeySymbol::Esc);
    assert_eq!(field_value(&state), "4KiB");
    assert_eq!(state.front_keys(), &FORM);
}

#[test]
fn footer_shows_field_keys_while_field_is_open() {
    let mut state = canned::form_field();
    for wanted in [
        "Enter accept",
        "Esc discard",
        "Left edit",
        "type to replace",
    ] {
        assert!(
            drawn_screen(&state).contains(wanted),
            "{wanted}:\n{}",
            drawn_screen(&state)
        );
    }
    type_text(&mut state, "8");
    let typing = drawn_screen(&state);
    assert!(!typing.contains("type to replace"), "{typing}");
    assert!(typing.contains("Enter to accept"), "{typing}");
    // What is wrong is said beside the keys.
    press_code(&mut state, KeySymbol::Backspace);
    type_text(&mut state, "4K");
    press_code(&mut state, KeySymbol::Enter);
    let refused = drawn_screen(&state);
    assert!(refused.contains("Enter to accept"), "{refused}");
    assert!(refused.contains("write 4KiB"), "{refused}");
}

#[test]
fn search_lists_matches_and_enter_takes_the_selected_one() {
    for (typed, target, test) in [
        ("sdc", "/dev/sdc", "random-read"),
        ("Samsung", "/dev/nvme0n1", "random-read"),
        ("wsc", "/home/jane", "write-sync-close"),
        ("seqwrite", "/home/jane", "sequential-write"),
        ("", "/home/jane", "random-read"),
    ] {
        let mut state = canned::launcher_state();
        type_search(&mut state, typed);
        assert_eq!(state.front_keys(), &SEARCH);
        assert!(press_code(&mut state, KeySymbol::Enter).is_empty());
        let wanted = (target.to_owned(), test.to_owned());
        assert_eq!(selected_rows(&state), wanted, "{typed}");
        assert_eq!(state.front_keys(), &LAUNCHER, "{typed}");
    }
}

#[test]
fn canceled_search_restores_selection_from_every_pane() {
    for tabs in 0..3 {
        let mut state = canned::launcher_state();
        for _ in 0..tabs {
            press_code(&mut state, KeySymbol::Tab);
        }
        let (pane, before) = (state.bench.launcher.pane, selected_rows(&state));
        type_search(&mut state, "sdc");
        assert!(
            drawn_screen(&state).contains("search: sdc"),
            "{}",
            drawn_screen(&state)
        );
        press_code(&mut state, KeySymbol::Esc);
        assert_eq!(
            (state.bench.launcher.pane, selected_rows(&state)),
            (pane, before)
        );
    }
}

#[test]
fn search_movement_selects_another_match() {
    let mut state = canned::launcher_state();
    type_search(&mut state, "random");
    press_code(&mut state, KeySymbol::Down);
    press_code(&mut state, KeySymbol::Enter);
    assert_eq!(selected_rows(&state).1, "random-write");
    type_search(&mut state, "random");
    press_code(&mut state, KeySymbol::Home);
    press_code(&mut state, KeySymbol::PageDown);
    press_code(&mut state, KeySymbol::End);
    let last = state.bench.launcher.search.as_ref().unwrap().selected;
    press_code(&mut state, KeySymbol::Down);
    assert_eq!(state.bench.launcher.search.as_ref().unwrap().selected, last);
}

#[test]
fn search_without_match_shows_message_and_stays_open() {
    let mut state = canned::launcher_state();
    type_search(&mut state, "xyzzy");
    assert!(
        drawn_screen(&state).contains("no match"),
        "{}",
        drawn_screen(&state)
    );
    assert!(press_code(&mut state, KeySymbol::Enter).is_empty());
    assert!(
        drawn_screen(&state).contains("nothing matches xyzzy; a path"),
        "{}",
        drawn_screen(&state)
    );
    assert_eq!(state.front_keys(), &SEARCH);
    press_code(&mut state, KeySymbol::Backspace);
    assert!(
        !drawn_screen(&state).contains("xyzzy;"),
        "{}",
        drawn_screen(&state)
    );
}

#[test]
fn search_text_with_leading_slash_is_inspected_as_path() {
    let mut state = canned::launcher_state();
    type_search(&mut state, "/srv/12 q");
    let screen = drawn_screen(&state);
    assert!(screen.contains("path: /srv/12 q"), "{screen}");
    assert!(
        screen.contains("/home/jane"),
        "every target is listed: {screen}"
    );
    let effects = press_code(&mut state, KeySymbol::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::InspectTarget(path)] if path == "/srv/12 q"),
        "{effects:?}"
    );
    let error = TargetError::Inspect {
        path: "/srv/12 q".to_owned(),
        source: std::io::Error::other("no such file"),
    };
    let failed = Message::TargetInspected {
        path: "/srv/12 q".to_owned(),
        result: Box::new(Err(Arc::new(error))),
    };
    update(&mut state, AppEvent::Message(failed));
    assert!(
        drawn_screen(&state).contains("no such file"),
        "{}",
        drawn_screen(&state)
    );
    type_text(&mut state, "x");
    assert!(
        !drawn_screen(&state).contains("no such file"),
        "{}",
        drawn_screen(&state)
    );
}

#[test]
fn search_inspects_simulated_drive_with_parameters() {
    let mut state = canned::launcher_state();
    type_search(&mut state, "sim:hdd,rpm=5400");
    let effects = press_code(&mut state, KeySymbol::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::InspectTarget(name)] if name == "sim:hdd,rpm=5400"),
        "{effects:?}"
    );
}

#[test]
fn target_list_arriving_during_search_is_searched() {
    let mut state = canned::launcher_state();
    type_search(&mut state, "sdc");
    let mut choices = canned::target_choices();
    choices.remove(0);
    update(&mut state, AppEvent::Message(Message::Targets(choices)));
    press_code(&mut state, KeySymbol::Enter);
    assert_eq!(selected_rows(&state).0, "/dev/sdc");
}
