//! Sessions are marked and compared.

use std::path::PathBuf;

use diskscope::app::key::{Code, Key};
use diskscope::app::{Action, Effect, News, State, update};

use crate::canned;

fn press(state: &mut State, code: Code) -> Vec<Effect> {
    update(state, Action::Key(Key::new(code)))
}

fn keys(state: &mut State, letters: &str) -> Vec<Effect> {
    let presses = letters
        .chars()
        .map(|letter| press(state, Code::Char(letter)));
    presses.last().unwrap_or_default()
}

fn paths(state: &State) -> Vec<PathBuf> {
    let entries = state.sessions.entries.as_ref().unwrap().as_ref().unwrap();
    entries.iter().map(|entry| entry.path.clone()).collect()
}

#[test]
fn the_first_that_is_marked_is_what_others_are_compared_with() {
    let mut state = canned::sessions();
    let known = paths(&state);
    press(&mut state, Code::End);
    keys(&mut state, " ");
    press(&mut state, Code::Home);
    keys(&mut state, " ");
    let effects = keys(&mut state, "c");
    let [Effect::Compare(asked, ignored)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*asked, [known[2].clone(), known[0].clone()]);
    assert!(ignored.is_empty());
}

#[test]
fn one_session_is_not_compared_and_a_mark_can_be_taken_away() {
    let mut state = canned::sessions();
    // The mark moves on to the next line.
    assert!(keys(&mut state, " c").is_empty());
    assert!(state.message.as_ref().unwrap().trouble);
    keys(&mut state, " ");
    assert_eq!(state.sessions.marked.len(), 2);
    press(&mut state, Code::Home);
    keys(&mut state, " ");
    assert_eq!(state.sessions.marked, paths(&state)[1..2]);
}

#[test]
fn marks_of_sessions_that_are_gone_are_forgotten() {
    let mut state = canned::sessions();
    keys(&mut state, "  ");
    let mut entries = state.sessions.entries.clone().unwrap().unwrap();
    entries.remove(0);
    update(&mut state, Action::News(News::Sessions(Ok(entries))));
    assert_eq!(state.sessions.marked, paths(&state)[..1]);
}

#[test]
fn differing_parameters_are_ignored_and_required_to_be_equal_again() {
    let mut state = canned::comparison();
    let effects = keys(&mut state, "i");
    let [Effect::Compare(_, names)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*names, ["depth"]);
    let shown = state.sessions.comparison.as_mut().unwrap();
    shown.ignored_parameters = names.clone();
    let effects = keys(&mut state, "i");
    assert!(matches!(&effects[..], [Effect::Compare(_, names)] if names.is_empty()));
}

#[test]
fn charts_and_sides_go_round_and_escape_leads_back() {
    let mut state = canned::comparison();
    let shown = |state: &State| {
        let comparison = state.sessions.comparison.as_ref().unwrap();
        (comparison.chart, comparison.pair())
    };
    assert_eq!(shown(&state), (0, Some((0, 1))));
    press(&mut state, Code::Right);
    // With two sessions there is no other one.
    keys(&mut state, "o");
    assert_eq!(shown(&state), (1, Some((0, 1))));
    press(&mut state, Code::Right);
    assert_eq!(shown(&state).0, 0);
    press(&mut state, Code::Esc);
    assert!(state.sessions.comparison.is_none());
    assert_eq!(state.sessions.marked.len(), 2, "for another try");
}
