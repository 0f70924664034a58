//! Every list and page can be moved through to its end, and a report is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::live::LivePane;
use diskscope::app::{AppEvent, AppState, BenchStage, Effect, update};
use diskscope::probe::sample::UnitKind;
use diskscope::session::document::{Severity, Verdict};
use diskscope::snapshot::files::FileView;
use diskscope::snapshot::view::{MountView, UnitView};
use diskscope::trace::hot_files::view::{FileNameView, HotFileView, HotFilesView};
use diskscope::tui::keys::common::MOVEMENT;
use diskscope::tui::keys::{self, KeyCommand, KeyList};
use diskscope::tui::screens::key_lists::KEY_LISTS;
use diskscope::ui::Theme;
use ratatui::buffer::Buffer;

use crate::interface::canned;
use crate::interface::screens::{buffer_text, draw_to_buffer};
use crate::interface::why;

fn press_code(state: &mut AppState, code: KeySymbol) -> Vec<Effect> {
    update(state, AppEvent::Key(KeyPress::new(code)))
}

/// What is on the screen after the key.
fn screen_after(state: &mut AppState, code: KeySymbol) -> String {
    press_code(state, code);
    drawn_screen(state)
}

fn drawn_screen(state: &AppState) -> String {
    buffer_text(&draw_to_buffer(state, Theme::FULL, 80, 24))
}

/// A result with six checks, each with evidence and advice of several lines.
fn result_with_six_checks() -> AppState {
    let screens = canned::screens();
    let (_, screen) = screens.iter().find(|(name, _)| *name == "result").unwrap();
    let mut state = screen();
    let BenchStage::Result(result) = &mut state.bench.stage else {
        panic!("the screen shows a result");
    };
    let check = |number: usize| {
        let evidence = "a long sentence on what was seen ".repeat(3);
        let advice = format!("advice number {number} is the end of it");
        Verdict {
            code: format!("check-{number}").as_str().into(),
            severity: Severity::Warning,
            evidence: evidence.into(),
            advice: advice.into(),
            facts: serde_json::Map::new(),
        }
    };
    result.runs[0].findings.verdicts = (1..=6).map(check).collect();
    state
}

/// The last line of the last check; it is wrapped by words.
const LAST_LINE: &str = "is the end of it";

#[test]
fn result_with_six_checks_scrolls_to_last_line_by_every_key() {
    let ways: [&[KeySymbol]; 3] = [
        &[KeySymbol::Down; 80],
        &[KeySymbol::PageDown; 20],
        &[KeySymbol::End],
    ];
    for way in ways {
        let mut state = result_with_six_checks();
        let beginning = drawn_screen(&state);
        assert!(beginning.contains(" more"));
        for code in way {
            screen_after(&mut state, *code);
        }
        let end = drawn_screen(&state);
        assert!(end.contains(LAST_LINE) && !end.contains(" more"), "{end}");
        // Not a single key is lost at the end.
        let back = screen_after(&mut state, KeySymbol::Up);
        assert!(back.contains(" more"), "{back}");
        assert_eq!(screen_after(&mut state, KeySymbol::Home), beginning);
    }
}

#[test]
fn scroll_keys_between_frames_stop_at_the_end() {
    let mut state = result_with_six_checks();
    drawn_screen(&state);
    for _ in 0..500 {
        press_code(&mut state, KeySymbol::Down);
    }
    let back = screen_after(&mut state, KeySymbol::Up);
    assert!(back.contains(" more"), "{back}");
}

/// The pane of open files with more lines than fit.
fn many_open_files() -> AppState {
    let mut state = canned::live_state();
    press_code(&mut state, KeySymbol::Char('f'));
    let file = |descriptor| FileView {
        descriptor,
        path: format!("/srv/{descriptor}").into(),
        position_bytes: None,
        size_bytes: None,
        flags: None,
        deleted: false,
    };
    state.live.pane = LivePane::OpenFiles(Some(Ok((0..90).map(file).collect())));
    state
}

/// Every screen, and what the keys lead to from there: whatever has a list or a page.
fn lists_and_pages() -> Vec<(String, AppState)> {
    let mut all: Vec<(String, AppState)> = canned::screens()
        .into_iter()
        .map(|(name, screen)| (name.to_owned(), screen()))
        .collect();
    let mut led_to = |name: &str, mut state: AppState, keys: &[KeySymbol]| {
        for code in keys {
            press_code(&mut state, *code);
        }
        all.push((format!("{name} {keys:?}"), state));
    };
    led_to(
        "launcher, tests",
        canned::launcher_state(),
        &[KeySymbol::Tab],
    );
    led_to(
        "launcher, form",
        canned::launcher_state(),
        &[KeySymbol::Tab; 2],
    );
    led_to(
        "launcher, search",
        canned::launcher_state(),
        &[KeySymbol::Char('/')],
    );
    let mut recorded = canned::requests_state();
    recorded.live.timeline = canned::replay_state().live.timeline;
    led_to("recorded requests", recorded, &[]);
    led_to("why", why::long_state(), &[]);
    let refused = canned::consent_for_target_with_many_uses();
    led_to("consent, refused", refused, &[]);
    led_to("six checks", result_with_six_checks(), &[]);
    for pane in ['m', 'd', 'f'] {
        led_to(
            "live",
            canned::live_state(),
            &[KeySymbol::Down, KeySymbol::Char(pane)],
        );
    }
    let device = [KeySymbol::Tab, KeySymbol::Enter];
    led_to("live, a device", canned::live_state(), &device);
    led_to("live, many open files", many_open_files(), &[]);
    led_to("live, units", many_units(), &[]);
    led_to("live, mounts", many_mounts(), &[]);
    led_to("hot files", many_hot_files(), &[]);
    all
}

/// The list of units with more lines than fit.
fn many_units() -> AppState {
    let mut state = canned::live_state();
    press_code(&mut state, KeySymbol::Char('u'));
    let mut sample = canned::sample_snapshot(0);
    let units = (0..90).map(|index| UnitView {
        path: format!("/system.slice/{index:02}.service").into(),
        name: format!("{index:02}.service").into(),
        kind: UnitKind::Service,
        read_bytes_per_s: Some(0.0),
        write_bytes_per_s: Some(0.0),
        read_ios_per_s: Some(0.0),
        write_ios_per_s: Some(0.0),
        pressure_some: None,
        pressure_full: None,
        limits: Vec::new(),
    });
    sample.units = Some(units.collect());
    state.live.set_snapshot(Arc::new(sample));
    state
}

/// The list of mounts with more lines than fit.
fn many_mounts() -> AppState {
    let mut state = canned::live_state();
    press_code(&mut state, KeySymbol::Char('M'));
    let mut sample = canned::sample_snapshot(0);
    let mounts = (0..90).map(|index| MountView {
        mount_point: format!("/mnt/{index:02}").into(),
        ..MountView::default()
    });
    sample.mounts = Some(mounts.collect());
    state.live.set_snapshot(Arc::new(sample));
    state
}

/// The pane of hot files with more lines than fit.
fn many_hot_files() -> AppState {
    let mut state = canned::live_state();
    press_code(&mut state, KeySymbol::Char('F'));
    let name = |inode| FileNameView {
        path: Some(format!("/srv/{inode}").into()),
        deleted: false,
        device: "sda1".into(),
        mount_point: "/srv".into(),
        inode,
    };
    let files = (0..90).map(|inode| HotFileView {
        file: name(inode),
        read_bytes: 4096,
        written_bytes: 0,
        read_ios: 1,
        write_ios: 0,
        p50_ns: None,
        p99_ns: None,
        who: Vec::new(),
        via: None,
    });
    let view = HotFilesView {
        files: files.collect(),
        ..HotFilesView::default()
    };
    state.hot_files.view = Some(Arc::new(view));
    state
}

/// Whether the six keys of movement lead to both ends and stay there; panics where they do not.
fn movement_changes_screen(name: &str, state: &mut AppState) -> bool {
    // With its styles: in a list that fits only the selection moves.
    let mut after = |code: KeySymbol, times: usize| {
        for _ in 0..times {
            press_code(state, code);
        }
        draw_to_buffer(state, Theme::FULL, 80, 24)
    };
    let top = after(KeySymbol::Home, 1);
    let end = after(KeySymbol::End, 1);
    let same = |shown: Buffer, wanted: &Buffer, what: &str| {
        assert!(
            shown == *wanted,
            "{name}: {what}\n{}\ninstead of\n{}",
            buffer_text(&shown),
            buffer_text(wanted)
        );
    };
    same(after(KeySymbol::Down, 1000), &end, "lines lead to the end");
    same(
        after(KeySymbol::PageUp, 1000),
        &top,
        "pages lead to the beginning",
    );
    same(
        after(KeySymbol::PageDown, 1000),
        &end,
        "pages lead to the end",
    );
    same(
        after(KeySymbol::Up, 1000),
        &top,
        "lines lead to the beginning",
    );
    let page = after(KeySymbol::PageDown, 1);
    assert_eq!(page != top, end != top, "{name}: a page is a step");
    same(after(KeySymbol::PageUp, 1), &top, "a page back");
    end != top
}

#[test]
fn movement_keys_reach_both_ends_of_every_list_and_page() {
    let is_moved = |list: &'static KeyList| {
        keys::find_command(&[list], KeyPress::new(KeySymbol::Down)) == Some(KeyCommand::Down)
    };
    let mut moved = Vec::new();
    for (name, mut state) in lists_and_pages() {
        let list = state.front_keys();
        if is_moved(list) && movement_changes_screen(&name, &mut state) {
            moved.push(list);
        }
    }
    // None of them passed because there was nothing to move through.
    for list in KEY_LISTS.into_iter().filter(|list| **list != MOVEMENT) {
        assert_eq!(moved.contains(&list), is_moved(list), "{}", list.title);
    }
}

#[test]
fn live_detail_panes_scroll_to_their_ends() {
    for open in ["m", "d", "f", "\t"] {
        let mut state = canned::live_state();
        press_code(&mut state, KeySymbol::Down);
        match open {
            "\t" => {
                press_code(&mut state, KeySymbol::Tab);
                press_code(&mut state, KeySymbol::Down);
                press_code(&mut state, KeySymbol::Enter);
            }
            letter => {
                press_code(&mut state, KeySymbol::Char(letter.chars().next().unwrap()));
            }
        }
        let top = drawn_screen(&state);
        let end = screen_after(&mut state, KeySymbol::End);
        assert!(!end.contains(" more"), "{end}");
        assert_eq!(screen_after(&mut state, KeySymbol::Down), end);
        assert_eq!(screen_after(&mut state, KeySymbol::Home), top);
    }
}

#[test]
fn page_keys_scroll_the_help() {
    let mut state = canned::live_state();
    press_code(&mut state, KeySymbol::Char('?'));
    let top = drawn_screen(&state);
    let second = screen_after(&mut state, KeySymbol::PageDown);
    assert_ne!(top, second);
    assert_eq!(screen_after(&mut state, KeySymbol::PageUp), top);
    let end = screen_after(&mut state, KeySymbol::End);
    assert!(end.contains("Choice of an action on a process"), "{end}");
    assert_eq!(screen_after(&mut state, KeySymbol::Home), top);
}

fn report_effect(effects: &[Effect]) -> (Vec<PathBuf>, Vec<String>) {
    match effects {
        [Effect::WriteReport(paths, ignored)] => (paths.clone(), ignored.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn report_covers_marked_or_else_selected_sessions() {
    let mut state = canned::sessions_state();
    let entries = state.sessions.entries.clone().unwrap().unwrap();
    let path = |index: usize| entries[index].path.clone();
    let (paths, _) = report_effect(&press_code(&mut state, KeySymbol::Char('h')));
    assert_eq!(paths, [path(0)]);
    press_code(&mut state, KeySymbol::End);
    press_code(&mut state, KeySymbol::Char(' '));
    press_code(&mut state, KeySymbol::Home);
    press_code(&mut state, KeySymbol::Char(' '));
    let (paths, _) = report_effect(&press_code(&mut state, KeySymbol::Char('h')));
    assert_eq!(paths, [path(entries.len() - 1), path(0)]);
}

#[test]
fn report_of_comparison_keeps_ignored_parameters() {
    let mut state = canned::comparison_state();
    let shown = state.sessions.comparison.as_mut().unwrap();
    shown.ignored_parameters = vec!["depth".to_owned()];
    let wanted = (shown.paths.clone(), vec!["depth".to_owned()]);
    assert_eq!(
        report_effect(&press_code(&mut state, KeySymbol::Char('h'))),
        wanted
    );
}

#[test]
fn report_of_result_requires_a_saved_session() {
    let mut state = result_with_six_checks();
    let (paths, _) = report_effect(&press_code(&mut state, KeySymbol::Char('h')));
    assert_eq!(paths.len(), 1);
    let BenchStage::Result(result) = &mut state.bench.stage else {
        panic!("the screen shows a result");
    };
    result.path = None;
    assert!(press_code(&mut state, KeySymbol::Char('h')).is_empty());
    assert!(state.status_message.as_ref().unwrap().is_error);
}
