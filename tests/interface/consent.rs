//! Before something is overwritten: nothing but the typed path starts it, and only once.

use std::time::Duration;

use diskscope::app::consent::Stakes;
use diskscope::app::key::{Code, Key};
use diskscope::app::{Action, Effect, News, State, update};
use diskscope::bench::Job;
use proptest::prelude::*;

use crate::canned;

const TARGET: &str = "/dev/sdc";

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    update(state, Action::Key(key))
}

fn enter(state: &mut State) -> Option<Job> {
    started(press(state, Key::new(Code::Enter)))
}

fn started(effects: Vec<Effect>) -> Option<Job> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Start(job) => Some(*job),
        _ => None,
    })
}

fn type_in(state: &mut State, text: &str) {
    for letter in text.chars() {
        press(state, Key::char(letter));
    }
}

fn tell(state: &mut State, target: &str) {
    let stakes = Stakes {
        facts: vec![format!("{target}, 8.00 TB")],
        signatures: Vec::new(),
        medium: Ok(canned::inspected(target)),
    };
    let news = News::AtStake(target.to_owned(), Ok(stakes));
    update(state, Action::News(news));
}

/// Random writes to the target are asked for, and what is at stake is known.
fn asked() -> State {
    let mut state = canned::overwriting(TARGET);
    tell(&mut state, TARGET);
    state
}

#[test]
fn the_path_starts_it_with_the_consent() {
    let mut state = asked();
    assert!(enter(&mut state).is_none());
    type_in(&mut state, TARGET);
    let job = enter(&mut state).unwrap();
    assert_eq!(job.test.description().name, "random-write");
    let consent = job.consent.unwrap();
    assert_eq!(consent.path(), TARGET);
    assert_eq!(consent.medium().unwrap().target.name, TARGET);
}

#[test]
fn facts_of_another_target_are_no_ground_for_consent() {
    let mut state = canned::overwriting(TARGET);
    tell(&mut state, "/dev/sda");
    type_in(&mut state, TARGET);
    assert!(enter(&mut state).is_none());
}

#[test]
fn a_second_run_asks_anew() {
    let mut state = asked();
    type_in(&mut state, TARGET);
    enter(&mut state).unwrap();
    let failed = Err("the drive is gone".to_owned());
    update(&mut state, Action::News(News::Ended(Box::new(failed))));
    let effects = press(&mut state, Key::char('s'));
    assert!(matches!(&effects[..], [Effect::Weigh(path)] if path == TARGET));
    assert!(enter(&mut state).is_none());
    tell(&mut state, TARGET);
    assert!(enter(&mut state).is_none());
}

#[test]
fn consent_that_was_begun_is_not_kept_for_another_test_or_target() {
    for way in [Code::Down, Code::Up] {
        let mut state = asked();
        type_in(&mut state, TARGET);
        press(&mut state, Key::new(Code::Esc));
        // Another test that writes, or another target for the same one.
        if way == Code::Up {
            press(&mut state, Key::new(Code::BackTab));
        }
        press(&mut state, Key::new(way));
        let effects = press(&mut state, Key::char('s'));
        assert!(started(effects).is_none());
        tell(&mut state, TARGET);
        assert!(enter(&mut state).is_none());
    }
}

#[test]
fn a_scratch_file_and_a_simulated_drive_need_none() {
    let mut state = canned::overwriting("/home/jane");
    assert!(state.bench.is_running());
    let mut choices = canned::choices();
    choices[0].target.as_mut().unwrap().kind = diskscope::drive::TargetKind::Simulated;
    state = State::new(Duration::from_secs(1));
    press(&mut state, Key::char('b'));
    update(&mut state, Action::News(News::Targets(choices)));
    press(&mut state, Key::new(Code::Enter));
    press(&mut state, Key::new(Code::Down));
    let job = enter(&mut state).unwrap();
    assert!(job.consent.is_none());
}

/// Everything but `/`, without which the path cannot be typed, and the way to other targets.
fn key() -> impl Strategy<Value = Key> {
    let letters = "abcdevsyY1234? kjgGr".chars().collect::<Vec<_>>();
    let others = vec![
        Code::Enter,
        Code::Esc,
        Code::Backspace,
        Code::Home,
        Code::End,
    ];
    prop_oneof![
        prop::sample::select(letters).prop_map(Key::char),
        prop::sample::select(others).prop_map(Key::new),
        Just(Key::control('u')),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_other_keys_ever_start_a_test_that_overwrites(
        keys in prop::collection::vec(key(), 1..80),
    ) {
        let mut state = asked();
        for key in keys {
            let effects = press(&mut state, key);
            if effects.iter().any(|effect| matches!(effect, Effect::Weigh(_))) {
                tell(&mut state, TARGET);
            }
            if let Some(job) = started(effects) {
                prop_assert!(!job.test.description().writes, "{job:?} after {key}");
                return Ok(());
            }
        }
    }
}
