//! The launcher's fields: a value that opens selected, and the search.

use diskscope::app::key::{Code, Key};
use diskscope::app::launcher::Pane;
use diskscope::app::{Action, Context, Effect, News, State, update};
use diskscope::bench::TESTS;
use diskscope::ui::Look;

use crate::canned;
use crate::screens::{drawn, text};

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    update(state, Action::Key(key))
}

fn code(state: &mut State, code: Code) -> Vec<Effect> {
    press(state, Key::new(code))
}

fn type_in(state: &mut State, text: &str) {
    for letter in text.chars() {
        press(state, Key::char(letter));
    }
}

fn shown(state: &State) -> String {
    text(&drawn(state, Look::FULL, 80, 24))
}

/// What the open field holds.
fn field(state: &State) -> String {
    let editing = state.bench.launcher.form.editing.as_ref();
    editing.expect("a field is open").text.as_string()
}

/// What the selected parameter is set to.
fn value(state: &State) -> String {
    let entry = state.bench.launcher.form.selected();
    entry.expect("the form has a line").value().to_string()
}

/// The names of the selected target and benchmark.
fn chosen(state: &State) -> (String, String) {
    let launcher = &state.bench.launcher;
    let target = launcher.selected_choice().unwrap().name.clone();
    let test = launcher.selected_test().unwrap().description().name;
    (target, test.to_owned())
}

fn search(state: &mut State, text: &str) {
    press(state, Key::char('/'));
    type_in(state, text);
}

#[test]
fn every_printable_key_replaces_the_value_of_an_open_field_and_does_nothing_else() {
    for letter in ' '..='~' {
        let mut state = canned::form_field();
        let screen = state.screen;
        let effects = press(&mut state, Key::char(letter));
        assert!(effects.is_empty(), "{letter:?}: {effects:?}");
        assert_eq!(field(&state), letter.to_string());
        assert_eq!((state.screen, state.overlay), (screen, None), "{letter:?}");
    }
}

#[test]
fn value_of_every_parameter_is_replaced_by_the_first_character() {
    let mut state = canned::launcher();
    for place in 0..TESTS.len() {
        state.bench.launcher.pane = Pane::Tests;
        code(&mut state, Code::Home);
        for _ in 0..place {
            code(&mut state, Code::Down);
        }
        code(&mut state, Code::Tab);
        assert_eq!(state.context(), Context::Form);
        for line in 0..state.bench.launcher.form.entries.len() {
            state.bench.launcher.form.cursor = line;
            code(&mut state, Code::Enter);
            assert_eq!(field(&state), value(&state));
            type_in(&mut state, "7");
            assert_eq!(field(&state), "7");
            code(&mut state, Code::Esc);
        }
    }
}

#[test]
fn arrow_home_and_end_keep_the_value_to_be_edited() {
    for (key, wanted) in [
        (Code::Left, "74KiB"),
        (Code::Home, "74KiB"),
        (Code::Up, "74KiB"),
        (Code::Right, "4KiB7"),
        (Code::End, "4KiB7"),
        (Code::Down, "4KiB7"),
    ] {
        let mut state = canned::form_field();
        code(&mut state, key);
        type_in(&mut state, "7");
        assert_eq!(field(&state), wanted, "{key:?}");
    }
}

#[test]
fn deletion_empties_a_selected_value_and_an_empty_value_is_the_default() {
    for key in [
        Key::new(Code::Backspace),
        Key::new(Code::Delete),
        Key::control('u'),
    ] {
        let mut state = canned::form_field();
        type_in(&mut state, "8KiB");
        code(&mut state, Code::Enter);
        assert_eq!(value(&state), "8KiB");
        code(&mut state, Code::Enter);
        press(&mut state, key);
        assert_eq!(field(&state), "", "{key}");
        code(&mut state, Code::Enter);
        assert_eq!(value(&state), "4KiB", "{key}");
    }
}

#[test]
fn pasted_value_replaces_the_selected_one() {
    let mut state = canned::form_field();
    update(&mut state, Action::Paste("16KiB\n".to_owned()));
    assert_eq!(field(&state), "16KiB");
}

#[test]
fn wheel_does_not_touch_the_field() {
    let mut state = canned::form_field();
    update(&mut state, Action::Wheel { up: true });
    type_in(&mut state, "9");
    assert_eq!(field(&state), "9");
}

#[test]
fn escape_leaves_the_value_as_it_was() {
    let mut state = canned::form_field();
    type_in(&mut state, "9");
    code(&mut state, Code::Esc);
    assert_eq!(value(&state), "4KiB");
    assert_eq!(state.context(), Context::Form);
}

#[test]
fn keys_of_the_field_are_shown_while_it_is_open() {
    let mut state = canned::form_field();
    for wanted in ["Enter take", "Esc leave", "Left edit", "type to replace"] {
        assert!(
            shown(&state).contains(wanted),
            "{wanted}:\n{}",
            shown(&state)
        );
    }
    type_in(&mut state, "8");
    let typing = shown(&state);
    assert!(!typing.contains("type to replace"), "{typing}");
    assert!(typing.contains("Enter takes it"), "{typing}");
    // What is wrong is said beside the keys.
    code(&mut state, Code::Backspace);
    type_in(&mut state, "4K");
    code(&mut state, Code::Enter);
    let refused = shown(&state);
    assert!(refused.contains("Enter takes it"), "{refused}");
    assert!(refused.contains("write 4kB"), "{refused}");
}

#[test]
fn search_lists_what_matches_and_takes_what_is_selected() {
    for (typed, target, test) in [
        ("sdc", "/dev/sdc", "random-read"),
        ("Samsung", "/dev/nvme0n1", "random-read"),
        ("wsc", "/home/jane", "write-sync-close"),
        ("seqwrite", "/home/jane", "sequential-write"),
        ("", "/home/jane", "random-read"),
    ] {
        let mut state = canned::launcher();
        search(&mut state, typed);
        assert_eq!(state.context(), Context::Search);
        assert!(code(&mut state, Code::Enter).is_empty());
        let wanted = (target.to_owned(), test.to_owned());
        assert_eq!(chosen(&state), wanted, "{typed}");
        assert_eq!(state.context(), Context::Launcher, "{typed}");
    }
}

#[test]
fn search_is_left_as_it_was_from_every_part_of_the_launcher() {
    for tabs in 0..3 {
        let mut state = canned::launcher();
        for _ in 0..tabs {
            code(&mut state, Code::Tab);
        }
        let (pane, before) = (state.bench.launcher.pane, chosen(&state));
        search(&mut state, "sdc");
        assert!(shown(&state).contains("search: sdc"), "{}", shown(&state));
        code(&mut state, Code::Esc);
        assert_eq!((state.bench.launcher.pane, chosen(&state)), (pane, before));
    }
}

#[test]
fn movement_selects_another_match() {
    let mut state = canned::launcher();
    search(&mut state, "random");
    code(&mut state, Code::Down);
    code(&mut state, Code::Enter);
    assert_eq!(chosen(&state).1, "random-write");
    search(&mut state, "random");
    code(&mut state, Code::Home);
    code(&mut state, Code::PageDown);
    code(&mut state, Code::End);
    let last = state.bench.launcher.search.as_ref().unwrap().selected;
    code(&mut state, Code::Down);
    assert_eq!(state.bench.launcher.search.as_ref().unwrap().selected, last);
}

#[test]
fn search_without_a_match_says_so_and_stays_open() {
    let mut state = canned::launcher();
    search(&mut state, "xyzzy");
    assert!(
        shown(&state).contains("nothing matches"),
        "{}",
        shown(&state)
    );
    assert!(code(&mut state, Code::Enter).is_empty());
    assert!(
        shown(&state).contains("nothing matches xyzzy; a path"),
        "{}",
        shown(&state)
    );
    assert_eq!(state.context(), Context::Search);
    code(&mut state, Code::Backspace);
    assert!(!shown(&state).contains("xyzzy;"), "{}", shown(&state));
}

#[test]
fn text_that_begins_with_a_slash_is_looked_at_as_a_path() {
    let mut state = canned::launcher();
    search(&mut state, "/srv/12 q");
    let screen = shown(&state);
    assert!(screen.contains("path: /srv/12 q"), "{screen}");
    assert!(
        screen.contains("/home/jane"),
        "every target is listed: {screen}"
    );
    let effects = code(&mut state, Code::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::Inspect(path)] if path == "/srv/12 q"),
        "{effects:?}"
    );
    let failed = News::Inspected(Box::new(Err("/srv/12 q: no such file".to_owned())));
    update(&mut state, Action::News(failed));
    assert!(shown(&state).contains("no such file"), "{}", shown(&state));
    type_in(&mut state, "x");
    assert!(!shown(&state).contains("no such file"), "{}", shown(&state));
}

#[test]
fn simulated_drive_with_parameters_is_looked_at() {
    let mut state = canned::launcher();
    search(&mut state, "sim:hdd,rpm=5400");
    let effects = code(&mut state, Code::Enter);
    assert!(
        matches!(effects.as_slice(), [Effect::Inspect(name)] if name == "sim:hdd,rpm=5400"),
        "{effects:?}"
    );
}

#[test]
fn list_that_arrives_during_a_search_is_searched() {
    let mut state = canned::launcher();
    search(&mut state, "sdc");
    let mut choices = canned::choices();
    choices.remove(0);
    update(&mut state, Action::News(News::Targets(choices)));
    code(&mut state, Code::Enter);
    assert_eq!(chosen(&state).0, "/dev/sdc");
}
