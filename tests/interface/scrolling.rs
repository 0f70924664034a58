//! Every list and page can be moved through to its end, and a report is asked for.

use std::path::PathBuf;

use diskscope::app::key::{Code, Key};
use diskscope::app::keymap::{self, Command};
use diskscope::app::{Action, Context, Effect, Stage, State, update};
use diskscope::session::document::{Severity, Verdict};
use diskscope::ui::Look;
use ratatui::buffer::Buffer;

use crate::canned;
use crate::screens::{drawn, text};

fn press(state: &mut State, code: Code) -> Vec<Effect> {
    update(state, Action::Key(Key::new(code)))
}

/// What is on the screen after the key.
fn shown_after(state: &mut State, code: Code) -> String {
    press(state, code);
    shown(state)
}

fn shown(state: &State) -> String {
    text(&drawn(state, Look::FULL, 80, 24))
}

/// A result with six checks, each with evidence and advice of several lines.
fn six_checks() -> State {
    let screens = canned::screens();
    let (_, screen) = screens.iter().find(|(name, _)| *name == "result").unwrap();
    let mut state = screen();
    let Stage::Result(result) = &mut state.bench.stage else {
        panic!("the screen shows a result");
    };
    let check = |number: usize| {
        let evidence = "a long sentence on what was seen ".repeat(3);
        let advice = format!("advice number {number} is the end of it");
        Verdict::new(
            &format!("check-{number}"),
            Severity::Warning,
            evidence,
            advice,
        )
    };
    result.runs[0].findings.verdicts = (1..=6).map(check).collect();
    state
}

/// The last line of the last check; it is wrapped by words.
const END: &str = "is the end of it";

#[test]
fn result_with_six_checks_is_scrolled_to_the_last_line_by_every_way() {
    let ways: [&[Code]; 3] = [&[Code::Down; 80], &[Code::PageDown; 20], &[Code::End]];
    for way in ways {
        let mut state = six_checks();
        let beginning = shown(&state);
        assert!(beginning.contains("more below"));
        for code in way {
            shown_after(&mut state, *code);
        }
        let end = shown(&state);
        assert!(end.contains(END) && !end.contains("more below"), "{end}");
        // Not a single key is lost at the end.
        let back = shown_after(&mut state, Code::Up);
        assert!(back.contains("more below"), "{back}");
        assert_eq!(shown_after(&mut state, Code::Home), beginning);
    }
}

#[test]
fn keys_between_two_frames_do_not_scroll_past_the_end() {
    let mut state = six_checks();
    shown(&state);
    for _ in 0..500 {
        press(&mut state, Code::Down);
    }
    let back = shown_after(&mut state, Code::Up);
    assert!(back.contains("more below"), "{back}");
}

/// Every screen, and what the keys lead to from there: whatever has a list or a page.
fn lists_and_pages() -> Vec<(String, State)> {
    let mut all: Vec<(String, State)> = canned::screens()
        .into_iter()
        .map(|(name, screen)| (name.to_owned(), screen()))
        .collect();
    let mut led_to = |name: &str, mut state: State, keys: &[Code]| {
        for code in keys {
            press(&mut state, *code);
        }
        all.push((format!("{name} {keys:?}"), state));
    };
    led_to("launcher, tests", canned::launcher(), &[Code::Tab]);
    led_to("launcher, form", canned::launcher(), &[Code::Tab; 2]);
    led_to("launcher, search", canned::launcher(), &[Code::Char('/')]);
    let mut recorded = canned::requests();
    recorded.live.timeline = canned::replay().live.timeline;
    led_to("recorded requests", recorded, &[]);
    led_to("six checks", six_checks(), &[]);
    for pane in ['m', 'd', 'f'] {
        led_to("live", canned::live(), &[Code::Down, Code::Char(pane)]);
    }
    let device = [Code::Tab, Code::Down, Code::Enter];
    led_to("live, a device", canned::live(), &device);
    all
}

/// Whether the six keys of movement lead to both ends and stay there; panics where they do not.
fn moves(name: &str, state: &mut State) -> bool {
    // With its styles: in a list that fits only the selection moves.
    let mut after = |code: Code, times: usize| {
        for _ in 0..times {
            press(state, code);
        }
        drawn(state, Look::FULL, 80, 24)
    };
    let top = after(Code::Home, 1);
    let end = after(Code::End, 1);
    let same = |shown: Buffer, wanted: &Buffer, what: &str| {
        assert!(
            shown == *wanted,
            "{name}: {what}\n{}\ninstead of\n{}",
            text(&shown),
            text(wanted)
        );
    };
    same(after(Code::Down, 1000), &end, "lines lead to the end");
    same(
        after(Code::PageUp, 1000),
        &top,
        "pages lead to the beginning",
    );
    same(after(Code::PageDown, 1000), &end, "pages lead to the end");
    same(after(Code::Up, 1000), &top, "lines lead to the beginning");
    let page = after(Code::PageDown, 1);
    assert_eq!(page != top, end != top, "{name}: a page is a step");
    same(after(Code::PageUp, 1), &top, "a page back");
    end != top
}

#[test]
fn keys_of_movement_reach_the_ends_of_every_list_and_page() {
    let is_moved = |context| keymap::find(context, Key::new(Code::Down)) == Some(Command::Down);
    let mut moved = Vec::new();
    for (name, mut state) in lists_and_pages() {
        let context = state.context();
        if is_moved(context) && moves(&name, &mut state) {
            moved.push(context);
        }
    }
    // None of them passed because there was nothing to move through.
    for context in Context::ALL.into_iter().chain([Context::Recorded]) {
        assert_eq!(moved.contains(&context), is_moved(context), "{context:?}");
    }
}

#[test]
fn details_of_live_are_scrolled_to_their_ends() {
    for open in ["m", "d", "f", "\t"] {
        let mut state = canned::live();
        press(&mut state, Code::Down);
        match open {
            "\t" => {
                press(&mut state, Code::Tab);
                press(&mut state, Code::Down);
                press(&mut state, Code::Enter);
            }
            letter => {
                press(&mut state, Code::Char(letter.chars().next().unwrap()));
            }
        }
        let top = shown(&state);
        let end = shown_after(&mut state, Code::End);
        assert!(!end.contains("more below"), "{end}");
        assert_eq!(shown_after(&mut state, Code::Down), end);
        assert_eq!(shown_after(&mut state, Code::Home), top);
    }
}

#[test]
fn page_keys_move_through_the_help() {
    let mut state = canned::live();
    press(&mut state, Code::Char('?'));
    let top = shown(&state);
    let second = shown_after(&mut state, Code::PageDown);
    assert_ne!(top, second);
    assert_eq!(shown_after(&mut state, Code::PageUp), top);
    let end = shown_after(&mut state, Code::End);
    assert!(end.contains("Choosing what to do to a process"), "{end}");
    assert_eq!(shown_after(&mut state, Code::Home), top);
}

fn reported(effects: &[Effect]) -> (Vec<PathBuf>, Vec<String>) {
    match effects {
        [Effect::Report(paths, ignored)] => (paths.clone(), ignored.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_is_of_the_marked_sessions_or_else_of_the_selected_one() {
    let mut state = canned::sessions();
    let entries = state.sessions.entries.clone().unwrap().unwrap();
    let path = |index: usize| entries[index].path.clone();
    let (paths, _) = reported(&press(&mut state, Code::Char('h')));
    assert_eq!(paths, [path(0)]);
    press(&mut state, Code::End);
    press(&mut state, Code::Char(' '));
    press(&mut state, Code::Home);
    press(&mut state, Code::Char(' '));
    let (paths, _) = reported(&press(&mut state, Code::Char('h')));
    assert_eq!(paths, [path(entries.len() - 1), path(0)]);
}

#[test]
fn a_report_of_a_comparison_ignores_what_the_comparison_ignores() {
    let mut state = canned::comparison();
    let shown = state.sessions.comparison.as_mut().unwrap();
    shown.ignored_parameters = vec!["depth".to_owned()];
    let wanted = (shown.paths.clone(), vec!["depth".to_owned()]);
    assert_eq!(reported(&press(&mut state, Code::Char('h'))), wanted);
}

#[test]
fn a_report_of_a_result_is_of_its_session_and_needs_one_that_is_saved() {
    let mut state = six_checks();
    let (paths, _) = reported(&press(&mut state, Code::Char('h')));
    assert_eq!(paths.len(), 1);
    let Stage::Result(result) = &mut state.bench.stage else {
        panic!("the screen shows a result");
    };
    result.path = None;
    assert!(press(&mut state, Code::Char('h')).is_empty());
    assert!(state.message.as_ref().unwrap().trouble);
}
