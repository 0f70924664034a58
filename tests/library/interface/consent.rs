//! Before something is overwritten: nothing but the typed path starts it, and only once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::app::consent::QuestionNumber;
use diskscope::app::error::BenchmarkError;
use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, Effect, Message, update};
use diskscope::bench::RunRequest;
use diskscope::drive::OverwriteImpact;
use proptest::prelude::*;

use crate::interface::canned;
use crate::interface::screens::buffer_text;

const TARGET: &str = "/dev/sdc";

fn press_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    canned::show_frame(state, canned::SHOWN_SIZE);
    update(state, AppEvent::Key(key))
}

fn press_enter(state: &mut AppState) -> Option<RunRequest> {
    started_spec(press_key(state, KeyPress::new(KeySymbol::Enter)))
}

fn started_spec(effects: Vec<Effect>) -> Option<RunRequest> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::StartBenchmark(job) => Some(*job),
        _ => None,
    })
}

fn type_text(state: &mut AppState, text: &str) {
    for letter in text.chars() {
        press_key(state, KeyPress::char(letter));
    }
}

fn send_impact(state: &mut AppState, target: &str) {
    let impact = OverwriteImpact {
        target_facts: vec![format!("{target}, 8.00 TB")],
        signatures: Vec::new(),
        medium: Ok(canned::inspected_medium(target)),
    };
    canned::send_impact(state, impact);
}

/// Random writes to the target are asked for, and what is at stake is known.
fn question_with_impact() -> AppState {
    let mut state = canned::overwrite_state(TARGET);
    send_impact(&mut state, TARGET);
    state
}

#[test]
fn typed_path_starts_overwriting_benchmark_with_consent() {
    let mut state = question_with_impact();
    assert!(press_enter(&mut state).is_none());
    type_text(&mut state, TARGET);
    let job = press_enter(&mut state).unwrap();
    assert_eq!(job.benchmark.description().name, "random-write");
    let consent = job.target().consent.clone().unwrap();
    assert_eq!(consent.medium().unwrap().target.name, TARGET);
}

/// The same question is asked twice, and the inspection for the first one ends last: the state with
/// the number of the first question.
fn question_asked_again() -> (AppState, QuestionNumber) {
    let mut state = canned::overwrite_state(TARGET);
    let question = |state: &AppState| {
        let question = state.bench.launcher.overwrite_question.as_ref();
        question.unwrap().number()
    };
    let first = question(&state);
    press_key(&mut state, KeyPress::new(KeySymbol::Esc));
    let effects = press_key(&mut state, KeyPress::char('s'));
    let second = question(&state);
    assert_ne!(first, second);
    assert!(
        matches!(&effects[..], [Effect::InspectImpact { question, path }]
            if *question == second && path == Path::new(TARGET)),
        "{effects:?}"
    );
    (state, first)
}

fn send_late_impact(state: &mut AppState, question: QuestionNumber) {
    let impact = OverwriteImpact {
        target_facts: vec!["late facts".to_owned()],
        signatures: Vec::new(),
        medium: Ok(canned::inspected_medium(TARGET)),
    };
    let impact = Ok(impact);
    let message = Message::OverwriteImpact { question, impact };
    update(state, AppEvent::Message(message));
}

#[test]
fn inspection_of_an_earlier_question_is_ignored() {
    let (mut state, first) = question_asked_again();
    send_late_impact(&mut state, first);
    type_text(&mut state, TARGET);
    assert!(press_enter(&mut state).is_none());

    let (mut state, first) = question_asked_again();
    send_impact(&mut state, TARGET);
    type_text(&mut state, TARGET);
    let shown = drawn_screen(&mut state);
    send_late_impact(&mut state, first);
    assert_eq!(drawn_screen(&mut state), shown);
    let second = state.bench.launcher.overwrite_question.as_ref().unwrap();
    let second = second.number();
    send_late_impact(&mut state, second);
    assert_eq!(drawn_screen(&mut state), shown, "a second result");
    assert!(press_enter(&mut state).is_some());
}

fn drawn_screen(state: &mut AppState) -> String {
    buffer_text(&canned::show_frame(state, canned::SHOWN_SIZE))
}

#[test]
fn target_is_inspected_by_the_bytes_of_its_path() {
    let mut choices = canned::target_choices();
    choices.truncate(1);
    choices[0].target.as_mut().unwrap().kind = diskscope::drive::TargetKind::File;
    choices[0].path = "/srv/disk\u{200b}.img".into();
    choices[0].name = r"/srv/disk\u{200b}.img".to_owned();
    let mut other = choices[0].clone();
    other.path = PathBuf::from(&other.name);
    choices.push(other);
    let wanted = choices[0].path.clone();
    let mut state = AppState::new(Duration::from_secs(1));
    press_key(&mut state, KeyPress::char('b'));
    update(
        &mut state,
        AppEvent::Message(Message::Targets(choices.clone())),
    );
    press_key(&mut state, KeyPress::new(KeySymbol::Enter));
    press_key(&mut state, KeyPress::new(KeySymbol::Down));
    // The list arrives again, in another order: the selection stays on the same path.
    choices.reverse();
    update(&mut state, AppEvent::Message(Message::Targets(choices)));
    let effects = press_key(&mut state, KeyPress::char('s'));
    assert!(
        matches!(&effects[..], [Effect::InspectImpact { path, .. }] if *path == wanted),
        "{effects:?}"
    );
}

/// The sizes of a terminal, from the smallest one in which a screen is drawn.
const SIZES: [(u16, u16); 4] = [(60, 16), (80, 18), (80, 24), (160, 50)];

/// Facts that do not fit, and a path that does not fit either.
fn question_with_much(path: &str) -> AppState {
    let mut choices = canned::target_choices();
    choices.retain(|choice| choice.name == TARGET);
    choices[0].path = path.into();
    choices[0].name = path.to_owned();
    let mut state = AppState::new(Duration::from_secs(1));
    press_key(&mut state, KeyPress::char('b'));
    update(&mut state, AppEvent::Message(Message::Targets(choices)));
    press_key(&mut state, KeyPress::new(KeySymbol::Enter));
    press_key(&mut state, KeyPress::new(KeySymbol::Down));
    press_key(&mut state, KeyPress::char('s'));
    let mut facts = vec![
        format!("-> {path}, sdc (8:32), 8.00 TB"),
        "model A, serial B".to_owned(),
    ];
    facts.extend((1..=40).map(|number| format!("partition sdc{number}, 200 GB, ext4")));
    canned::send_impact(
        &mut state,
        OverwriteImpact {
            target_facts: facts,
            signatures: (1..=30).map(|number| format!("format-{number}")).collect(),
            medium: Ok(canned::inspected_medium(path)),
        },
    );
    state
}

#[test]
fn path_can_be_typed_only_after_every_signature_was_shown() {
    let long = format!("/dev/disk/by-id/{}", "x".repeat(1400));
    for (size, path) in SIZES
        .into_iter()
        .flat_map(|size| [(size, TARGET), (size, &long)])
    {
        let mut state = question_with_much(path);
        let mut seen = String::new();
        for _ in 0..200 {
            let screen = buffer_text(&canned::show_frame(&mut state, size));
            assert!(screen.contains("OVERWRITE"), "{size:?}\n{screen}");
            seen.push_str(&screen);
            if screen.contains("cannot be recovered") {
                break;
            }
            assert!(screen.contains(" more"), "{size:?}\n{screen}");
            for letter in path.chars() {
                update(&mut state, AppEvent::Key(KeyPress::char(letter)));
            }
            let effects = update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Enter)));
            assert!(
                effects.is_empty(),
                "{size:?} {}: {effects:?}\n{screen}",
                path.len()
            );
            update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Down)));
        }
        let question = state.bench.launcher.overwrite_question.as_ref().unwrap();
        assert!(question.typed_path.is_empty() && question.accepts_input());
        for shown in ["sdc (8:32)", "serial B", "format-1;", "format-30"] {
            assert!(seen.contains(shown), "{size:?}: {shown}\n{seen}");
        }
        for letter in path.chars() {
            update(&mut state, AppEvent::Key(KeyPress::char(letter)));
        }
        let effects = update(&mut state, AppEvent::Key(KeyPress::new(KeySymbol::Enter)));
        assert!(started_spec(effects).is_some(), "{size:?}");
    }
}

#[test]
fn path_typed_before_the_facts_were_shown_is_dropped() {
    let mut state = canned::overwrite_state(TARGET);
    send_impact(&mut state, TARGET);
    for letter in TARGET.chars() {
        update(&mut state, AppEvent::Key(KeyPress::char(letter)));
    }
    let question = state.bench.launcher.overwrite_question.as_ref().unwrap();
    assert!(question.typed_path.is_empty());
}

#[test]
fn target_inspected_after_another_key_closes_no_search() {
    let mut state = canned::launcher_state();
    type_text(&mut state, "//srv/slow");
    press_key(&mut state, KeyPress::new(KeySymbol::Enter));
    press_key(&mut state, KeyPress::control('u'));
    type_text(&mut state, "speed");
    let selected = state.bench.launcher.target_index;
    let message = Message::TargetInspected {
        path: "/srv/slow".to_owned(),
        result: Box::new(Ok(canned::target_choices()[3].clone())),
    };
    update(&mut state, AppEvent::Message(message));
    assert!(state.bench.launcher.search.is_some());
    assert_eq!(state.bench.launcher.target_index, selected);
}

#[test]
fn second_overwriting_run_asks_for_consent_again() {
    let mut state = question_with_impact();
    type_text(&mut state, TARGET);
    press_enter(&mut state).unwrap();
    let failed = Err(Arc::new(BenchmarkError::NothingMeasured));
    update(
        &mut state,
        AppEvent::Message(Message::BenchmarkEnded(Box::new(failed))),
    );
    let effects = press_key(&mut state, KeyPress::char('s'));
    assert!(
        matches!(&effects[..], [Effect::InspectImpact { path, .. }] if path == Path::new(TARGET))
    );
    assert!(press_enter(&mut state).is_none());
    send_impact(&mut state, TARGET);
    assert!(press_enter(&mut state).is_none());
}

#[test]
fn partial_consent_is_dropped_when_benchmark_or_target_changes() {
    for way in [KeySymbol::Down, KeySymbol::Up] {
        let mut state = question_with_impact();
        type_text(&mut state, TARGET);
        press_key(&mut state, KeyPress::new(KeySymbol::Esc));
        // Another test that writes, or another target for the same one.
        if way == KeySymbol::Up {
            press_key(&mut state, KeyPress::new(KeySymbol::BackTab));
        }
        press_key(&mut state, KeyPress::new(way));
        let effects = press_key(&mut state, KeyPress::char('s'));
        assert!(started_spec(effects).is_none());
        send_impact(&mut state, TARGET);
        assert!(press_enter(&mut state).is_none());
    }
}

#[test]
fn scratch_file_and_simulated_drive_need_no_consent() {
    let mut state = canned::overwrite_state("/home/jane");
    assert!(state.bench.is_running());
    let mut choices = canned::target_choices();
    choices[0].target.as_mut().unwrap().kind = diskscope::drive::TargetKind::Simulated;
    state = AppState::new(Duration::from_secs(1));
    press_key(&mut state, KeyPress::char('b'));
    update(&mut state, AppEvent::Message(Message::Targets(choices)));
    press_key(&mut state, KeyPress::new(KeySymbol::Enter));
    press_key(&mut state, KeyPress::new(KeySymbol::Down));
    let job = press_enter(&mut state).unwrap();
    assert!(job.target().consent.is_none());
}

/// Everything but `/`, without which the path cannot be typed, and the way to other targets.
fn any_key() -> impl Strategy<Value = KeyPress> {
    let letters = "abcdevsyY1234? kjgGr".chars().collect::<Vec<_>>();
    let others = vec![
        KeySymbol::Enter,
        KeySymbol::Esc,
        KeySymbol::Backspace,
        KeySymbol::Home,
        KeySymbol::End,
    ];
    prop_oneof![
        prop::sample::select(letters).prop_map(KeyPress::char),
        prop::sample::select(others).prop_map(KeyPress::new),
        Just(KeyPress::control('u')),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_keys_never_start_an_overwriting_benchmark(
        keys in prop::collection::vec(any_key(), 1..80),
    ) {
        let mut state = question_with_impact();
        for key in keys {
            let effects = press_key(&mut state, key);
            if effects.iter().any(|effect| matches!(effect, Effect::InspectImpact { .. })) {
                send_impact(&mut state, TARGET);
            }
            if let Some(job) = started_spec(effects) {
                let choice = state.bench.launcher.selected_choice().unwrap();
                let target = choice.target.as_ref().unwrap();
                let writes = job.benchmark.writes(&job.parameters(target));
                prop_assert!(!writes, "{job:?} after {key}");
                return Ok(());
            }
        }
    }
}
