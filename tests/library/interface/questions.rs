//! A key answers a question only after a frame with this question was shown.

use std::path::PathBuf;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, Effect, Message, update};
use diskscope::session::document::{HostRecord, Session};
use diskscope::tui::keys::common::{CHOICE_LIST, FILTER};
use diskscope::tui::screens::bench::keys::RESULT;
use diskscope::tui::screens::sessions::OpenedSession;
use diskscope::tui::screens::sessions::keys::{DELETION, NOTE, SESSIONS};

use crate::interface::canned;
use crate::interface::screens::buffer_text;

/// A key that no frame was drawn before.
fn press_unseen(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    update(state, AppEvent::Key(key))
}

fn press(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    canned::show_frame(state, canned::SHOWN_SIZE);
    press_unseen(state, key)
}

/// A process is selected.
fn selected_process() -> AppState {
    let mut state = canned::live_state();
    canned::press_code(&mut state, KeySymbol::Down);
    state
}

/// A question: the state before it, the keys that open it, and the one that confirms.
type Question = (fn() -> AppState, &'static str, char);

/// All but the question whether to quit, which destroys nothing.
const QUESTIONS: [Question; 3] = [
    (canned::sessions_state, "d", 'y'),
    (selected_process, "x1", 'y'),
    (selected_process, "c1", 'y'),
];

/// The question is open, and nothing was shown since its last key.
fn open_question((state, keys, _): Question) -> AppState {
    let mut state = state();
    for key in keys.chars() {
        assert!(press(&mut state, KeyPress::char(key)).is_empty());
    }
    assert!(state.front_keys().is_question(), "{keys}");
    state
}

#[test]
fn key_typed_before_the_question_was_shown_answers_nothing() {
    for question in QUESTIONS {
        let mut state = open_question(question);
        let context = state.front_keys();
        for key in [
            KeyPress::char(question.2),
            KeyPress::new(KeySymbol::Enter),
            KeyPress::char('h'),
            KeyPress::char('n'),
        ] {
            assert!(press_unseen(&mut state, key).is_empty(), "{}", question.1);
            assert_eq!(state.front_keys(), context, "{}", question.1);
        }
        let effects = press(&mut state, KeyPress::char(question.2));
        assert!(!effects.is_empty(), "{}", question.1);
    }
    // A choice, too: the list of signals is not shown before the number.
    let mut state = selected_process();
    press(&mut state, KeyPress::char('x'));
    press_unseen(&mut state, KeyPress::char('1'));
    assert_eq!(state.front_keys(), &CHOICE_LIST);
}

#[test]
fn key_that_is_no_answer_closes_a_question() {
    for question in QUESTIONS {
        for key in [
            KeyPress::char('h'),
            KeyPress::new(KeySymbol::Down),
            KeyPress::char('n'),
        ] {
            let mut state = open_question(question);
            assert!(press(&mut state, key).is_empty());
            assert!(!state.front_keys().is_question(), "{}: {key}", question.1);
        }
        let mut state = open_question(question);
        assert!(press_unseen(&mut state, KeyPress::new(KeySymbol::Esc)).is_empty());
        assert!(!state.front_keys().is_question(), "{}", question.1);
    }
    let mut state = selected_process();
    press(&mut state, KeyPress::char('x'));
    press(&mut state, KeyPress::char('k'));
    assert!(!state.front_keys().is_question());
}

#[test]
fn wheel_closes_no_question() {
    let mut state = open_question(QUESTIONS[0]);
    canned::show_frame(&mut state, canned::SHOWN_SIZE);
    update(&mut state, AppEvent::Wheel { up: false });
    assert_eq!(state.front_keys(), &DELETION);
}

#[test]
fn question_that_is_opened_again_has_to_be_shown_again() {
    let mut state = open_question(QUESTIONS[0]);
    canned::show_frame(&mut state, canned::SHOWN_SIZE);
    for key in ['n', 'd', 'y'] {
        let effects = press_unseen(&mut state, KeyPress::char(key));
        assert!(effects.is_empty(), "{effects:?}");
    }
    assert_eq!(state.front_keys(), &DELETION);
    canned::show_frame(&mut state, canned::SHOWN_SIZE);
    update(&mut state, AppEvent::ScreenLost);
    assert!(press_unseen(&mut state, KeyPress::char('y')).is_empty());
}

#[test]
fn question_about_a_session_that_is_gone_is_closed() {
    let mut state = open_question(QUESTIONS[0]);
    update(
        &mut state,
        AppEvent::Message(Message::Sessions(Ok(Vec::new()))),
    );
    assert_eq!(state.front_keys(), &SESSIONS);
}

#[test]
fn selection_stays_on_its_session_when_the_list_is_read_again() {
    let mut state = canned::sessions_state();
    press(&mut state, KeyPress::new(KeySymbol::Down));
    let mut entries = state.sessions.entries.clone().unwrap().unwrap();
    let selected = entries[1].path.clone();
    entries.remove(0);
    update(
        &mut state,
        AppEvent::Message(Message::Sessions(Ok(entries))),
    );
    assert_eq!(state.sessions.cursor, 0);
    assert_eq!(state.sessions.visible_entries()[0].path, selected);
}

#[test]
fn too_small_terminal_takes_only_the_keys_that_leave() {
    for (name, screen) in canned::screens() {
        for size in [(59, 30), (100, 15), (1, 1)] {
            let mut state = screen();
            let before = state.front_keys();
            canned::show_frame(&mut state, size);
            for key in "w12345bsxcdyny/ehj".chars() {
                let effects = press_unseen(&mut state, KeyPress::char(key));
                assert!(effects.is_empty(), "{name}: {key}: {effects:?}");
            }
            for code in [KeySymbol::Enter, KeySymbol::Tab, KeySymbol::Down] {
                assert!(
                    press_unseen(&mut state, KeyPress::new(code)).is_empty(),
                    "{name}"
                );
            }
            update(&mut state, AppEvent::Paste("/dev/sdc".to_owned()));
            assert_eq!(state.front_keys(), before, "{name}");
            for key in [KeyPress::char('q'), KeyPress::control('c')] {
                let effects = press_unseen(&mut state, key);
                assert!(
                    matches!(effects.last(), Some(Effect::Quit)),
                    "{name}: {effects:?}"
                );
            }
        }
    }
    let mut state = canned::running_state();
    let screen = buffer_text(&canned::show_frame(&mut state, (50, 10)));
    assert!(
        screen.contains("q stops the benchmark and quits"),
        "{screen}"
    );
    // Escape would stop it, which the screen does not say.
    assert!(press_unseen(&mut state, KeyPress::new(KeySymbol::Esc)).is_empty());
    let effects = press_unseen(&mut state, KeyPress::char('q'));
    assert!(matches!(effects[..], [Effect::StopBenchmark, Effect::Quit]));
    let mut state = open_question(QUESTIONS[0]);
    canned::show_frame(&mut state, (50, 10));
    press_unseen(&mut state, KeyPress::new(KeySymbol::Esc));
    assert_eq!(state.front_keys(), &SESSIONS);
}

fn opened(path: PathBuf) -> Message {
    let session = Session {
        schema: "diskscope-session".into(),
        version: 1,
        program: "diskscope".into(),
        started: "2026-02-03T14:05:06+01:00".into(),
        host: HostRecord::default(),
        note: None,
        runs: vec![canned::random_read()],
    };
    Message::SessionOpened(Box::new(Ok(OpenedSession { path, session })))
}

/// The key that reads the selected session, and its path.
fn open_session(state: &mut AppState) -> PathBuf {
    let effects = press(state, KeyPress::new(KeySymbol::Enter));
    let [Effect::OpenSession(path)] = &effects[..] else {
        panic!("{effects:?}");
    };
    path.clone()
}

#[test]
fn session_that_was_read_after_another_key_is_not_shown() {
    for (keys, context) in [
        ("n", &NOTE),
        ("/", &FILTER),
        ("d", &DELETION),
        ("j", &SESSIONS),
    ] {
        let mut state = canned::sessions_state();
        let path = open_session(&mut state);
        for key in keys.chars() {
            press(&mut state, KeyPress::char(key));
        }
        update(&mut state, AppEvent::Message(opened(path)));
        assert_eq!(state.front_keys(), context, "{keys}");
    }
    let mut state = canned::sessions_state();
    let path = open_session(&mut state);
    update(&mut state, AppEvent::Message(opened("/another".into())));
    assert_eq!(state.front_keys(), &SESSIONS);
    update(&mut state, AppEvent::Message(opened(path)));
    assert_eq!(state.front_keys(), &RESULT);
}

#[test]
fn comparison_that_was_made_after_another_key_is_not_shown() {
    let comparison = canned::comparison_state().sessions.comparison.unwrap();
    for key in ["", "n"] {
        let mut state = canned::sessions_state();
        for key in "  c".chars() {
            press(&mut state, KeyPress::char(key));
        }
        let mut made = comparison.clone();
        made.paths.clone_from(&state.sessions.marked_paths);
        for key in key.chars() {
            press(&mut state, KeyPress::char(key));
        }
        let message = Message::SessionsCompared(Box::new(Ok(made)));
        update(&mut state, AppEvent::Message(message));
        assert_eq!(state.sessions.comparison.is_some(), key.is_empty());
    }
}
