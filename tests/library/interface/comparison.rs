//! Sessions are marked and compared.

use std::path::PathBuf;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, Effect, Message, update};

use crate::interface::canned;

fn press_code(state: &mut AppState, code: KeySymbol) -> Vec<Effect> {
    canned::press_key(state, KeyPress::new(code))
}

fn press_letters(state: &mut AppState, letters: &str) -> Vec<Effect> {
    let presses = letters
        .chars()
        .map(|letter| press_code(state, KeySymbol::Char(letter)));
    presses.last().unwrap_or_default()
}

fn marked_paths(state: &AppState) -> Vec<PathBuf> {
    let entries = state.sessions.entries.as_ref().unwrap().as_ref().unwrap();
    entries.iter().map(|entry| entry.path.clone()).collect()
}

#[test]
fn first_marked_session_is_the_baseline() {
    let mut state = canned::sessions_state();
    let known = marked_paths(&state);
    press_code(&mut state, KeySymbol::End);
    press_letters(&mut state, " ");
    press_code(&mut state, KeySymbol::Home);
    press_letters(&mut state, " ");
    let effects = press_letters(&mut state, "c");
    let [Effect::CompareSessions(request, ignored)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*request, [known[2].clone(), known[0].clone()]);
    assert!(ignored.is_empty());
}

#[test]
fn single_marked_session_is_not_compared_and_marks_toggle() {
    let mut state = canned::sessions_state();
    // The mark moves on to the next line.
    assert!(press_letters(&mut state, " c").is_empty());
    assert!(state.status_message.as_ref().unwrap().is_error);
    press_letters(&mut state, " ");
    assert_eq!(state.sessions.marked_paths.len(), 2);
    press_code(&mut state, KeySymbol::Home);
    press_letters(&mut state, " ");
    assert_eq!(state.sessions.marked_paths, marked_paths(&state)[1..2]);
}

#[test]
fn marks_of_removed_sessions_are_dropped() {
    let mut state = canned::sessions_state();
    press_letters(&mut state, "  ");
    let mut entries = state.sessions.entries.clone().unwrap().unwrap();
    entries.remove(0);
    update(
        &mut state,
        AppEvent::Message(Message::Sessions(Ok(entries))),
    );
    assert_eq!(state.sessions.marked_paths, marked_paths(&state)[..1]);
}

#[test]
fn comparison_toggles_ignoring_differing_parameters() {
    let mut state = canned::comparison_state();
    let effects = press_letters(&mut state, "i");
    let [Effect::CompareSessions(_, names)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*names, ["depth"]);
    let shown = state.sessions.comparison.as_mut().unwrap();
    shown.ignored_parameters = names.clone();
    let effects = press_letters(&mut state, "i");
    assert!(matches!(&effects[..], [Effect::CompareSessions(_, names)] if names.is_empty()));
}

#[test]
fn comparison_cycles_charts_and_pairs_and_escape_closes_it() {
    let mut state = canned::comparison_state();
    let shown = |state: &AppState| {
        let comparison = state.sessions.comparison.as_ref().unwrap();
        (comparison.chart_index, comparison.pair())
    };
    assert_eq!(shown(&state), (0, Some((0, 1))));
    press_code(&mut state, KeySymbol::Right);
    // With two sessions there is no other one.
    press_letters(&mut state, "o");
    assert_eq!(shown(&state), (1, Some((0, 1))));
    press_code(&mut state, KeySymbol::Right);
    assert_eq!(shown(&state).0, 0);
    press_code(&mut state, KeySymbol::Esc);
    assert!(state.sessions.comparison.is_none());
    assert_eq!(state.sessions.marked_paths.len(), 2, "for another try");
}

#[test]
fn session_is_deleted_by_y_only() {
    let mut state = canned::sessions_state();
    let path = marked_paths(&state)[0].clone();
    assert!(press_letters(&mut state, "d").is_empty());
    // A question about a loss of data takes no Enter.
    assert!(press_code(&mut state, KeySymbol::Enter).is_empty());
    for closing in ["", "dn", "da"] {
        assert!(press_letters(&mut state, closing).is_empty());
        assert!(
            press_letters(&mut state, "y").is_empty(),
            "no question is open"
        );
    }
    let effects = press_letters(&mut state, "dy");
    assert!(matches!(&effects[..], [Effect::DeleteSession(deleted)] if *deleted == path));
}

#[test]
fn note_of_a_session_is_typed_and_saved() {
    let mut state = canned::sessions_state();
    press_letters(&mut state, "n q1");
    let effects = press_code(&mut state, KeySymbol::Enter);
    let [Effect::SetSessionNote(path, note)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*path, marked_paths(&state)[0]);
    assert_eq!(note, "after the firmware update q1");
    press_letters(&mut state, "nx");
    assert!(press_code(&mut state, KeySymbol::Esc).is_empty());
    assert_eq!(state.sessions.input, None);
}

#[test]
fn session_filter_selects_among_the_matches() {
    let mut state = canned::sessions_state();
    press_letters(&mut state, "/SDA");
    press_code(&mut state, KeySymbol::Enter);
    assert_eq!(state.sessions.visible_entries().len(), 2);
    press_code(&mut state, KeySymbol::End);
    let effects = press_code(&mut state, KeySymbol::Enter);
    let third = &marked_paths(&state)[2];
    assert!(matches!(&effects[..], [Effect::OpenSession(path)] if path == third));
    press_code(&mut state, KeySymbol::Esc);
    assert_eq!(state.sessions.visible_entries().len(), 3);
}

#[test]
fn page_keys_move_by_the_visible_lines() {
    let mut state = canned::sessions_state();
    let mut entries = state.sessions.entries.clone().unwrap().unwrap();
    let one = entries[0].clone();
    entries.extend((0..40).map(|_| one.clone()));
    update(
        &mut state,
        AppEvent::Message(Message::Sessions(Ok(entries))),
    );
    super::screens::draw_to_buffer(&state, diskscope::ui::Theme::FULL, 80, 24);
    press_code(&mut state, KeySymbol::PageDown);
    let rows = usize::from(state.sessions.page_rows.get().unwrap());
    assert_eq!(state.sessions.cursor, rows - 1);
}
