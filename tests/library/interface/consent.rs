//! Before something is overwritten: nothing but the typed path starts it, and only once.

use std::sync::Arc;
use std::time::Duration;

use diskscope::app::error::BenchmarkError;
use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::{AppEvent, AppState, Effect, Message, update};
use diskscope::bench::BenchmarkSpec;
use diskscope::drive::OverwriteImpact;
use proptest::prelude::*;

use crate::interface::canned;

const TARGET: &str = "/dev/sdc";

fn press_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    update(state, AppEvent::Key(key))
}

fn press_enter(state: &mut AppState) -> Option<BenchmarkSpec> {
    started_spec(press_key(state, KeyPress::new(KeySymbol::Enter)))
}

fn started_spec(effects: Vec<Effect>) -> Option<BenchmarkSpec> {
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
    let message = Message::OverwriteImpact {
        path: target.to_owned(),
        impact: Ok(impact),
    };
    update(state, AppEvent::Message(message));
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
    let consent = job.consent.unwrap();
    assert_eq!(consent.path(), TARGET);
    assert_eq!(consent.medium().unwrap().target.name, TARGET);
}

#[test]
fn impact_of_another_target_is_ignored() {
    let mut state = canned::overwrite_state(TARGET);
    send_impact(&mut state, "/dev/sda");
    type_text(&mut state, TARGET);
    assert!(press_enter(&mut state).is_none());
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
    assert!(matches!(&effects[..], [Effect::InspectImpact(path)] if path == TARGET));
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
    assert!(job.consent.is_none());
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
            if effects.iter().any(|effect| matches!(effect, Effect::InspectImpact(_))) {
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
