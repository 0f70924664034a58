//! The Why screen, and the line about a problem on the Live screen.

use std::sync::Arc;
use std::time::Duration;

use diskscope::app::key::{KeyPress, KeySymbol};
use diskscope::app::replay::{Frame, ReplayTimeline};
use diskscope::app::{AppEvent, AppState, Effect, Message, Screen, update};
use diskscope::tui::screens::why::WatchedDiagnosis;
use diskscope::ui::Theme;
use diskscope::why::remedies::{ProcessInstance, idle_class, limit_unit, pause};
use diskscope::why::{
    Cause, Certainty, Diagnosis, Evidence, Metric, NotExamined, Party, Remedy, RuledOut, Severity,
    Unexamined, Unit,
};

use crate::interface::canned;
use crate::interface::screens::{buffer_text, draw_to_buffer};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

const WRITE_AWAIT: Metric = Metric("w_await", "w_await", Unit::Nanoseconds, "/proc/diskstats");
const QUEUE: Metric = Metric("aqu-sz", "aqu-sz", Unit::Count, "/proc/diskstats");
const AHEAD: Metric = Metric(
    "requests_ahead",
    "share of the requests ahead",
    Unit::Fraction,
    "block requests (trace)",
);
const SWAP_IN: Metric = Metric("swap_in", "swap-in", Unit::BytesPerSecond, "/proc/vmstat");
const IO_PRESSURE: Metric = Metric(
    "io_pressure_some",
    "PSI io some",
    Unit::Fraction,
    "/proc/pressure/io",
);

fn saturated() -> Cause {
    let begin = "2026-11-21T18:01:50Z".into();
    let mut cause = Cause::new("device-saturated", Severity::Warning, &begin);
    cause.device = Some("sda".into());
    cause.sentence = "postgres (postgresql@15-main) waits 41.0 ms per write: sda is saturated by cp of nightly-backup.service; 62 % of the requests served meanwhile are its.".to_owned();
    cause.evidence = vec![
        Evidence::of(&"sda".into(), WRITE_AWAIT, 41e6),
        Evidence::of(&"sda".into(), QUEUE, 31.2),
        Evidence::of(&"cp".into(), AHEAD, 0.62),
    ];
    cause.certainty = Certainty::Confirmed;
    let party = |pid, command: &str, unit: &str, share| Party {
        pid,
        command: command.into(),
        unit: Some(unit.into()),
        share: Some(share),
    };
    cause.culprits = vec![party(
        4711,
        "cp --sparse=always /srv/img/vm7.raw /mnt/backup",
        "nightly-backup.service",
        0.62,
    )];
    cause.victims = vec![party(993, "postgres: writer", "postgresql@15-main", 0.88)];
    let process = ProcessInstance {
        pid: 4711,
        start_ticks: 12_345_678,
    };
    cause.remedies = vec![
        idle_class(process, &"bfq".into()),
        limit_unit(
            &"nightly-backup.service".into(),
            &"sda".into(),
            [Some(41_000_000), None],
        )
        .unwrap(),
        pause(process),
    ];
    cause
}

fn dirty() -> Cause {
    let begin = "2026-11-21T18:02:01Z".into();
    let mut cause = Cause::new("dirty-throttled", Severity::Warning, &begin);
    cause.device = Some("sda".into());
    cause.sentence = "A writer is throttled 95 % of the time: sda writes only, and the memory for unwritten data is used up.".to_owned();
    cause.consequence_of = Some("device-saturated");
    cause
}

fn diagnosis(causes: Vec<Cause>) -> Diagnosis {
    Diagnosis {
        time: "2026-11-21T18:02:11Z".into(),
        window: Duration::from_secs(10),
        causes,
        ruled_out: vec![
            RuledOut {
                code: "swap-thrashing",
                evidence: vec![Evidence::of_machine(SWAP_IN, 0.0)],
            },
            RuledOut {
                code: "sync-storm",
                evidence: Vec::new(),
            },
        ],
        not_examined: vec![
            Unexamined {
                code: "drive-errors",
                reason: NotExamined::NotPermitted,
            },
            Unexamined {
                code: "link-degraded",
                reason: NotExamined::NotReported("no drive reports the speed of its link"),
            },
        ],
        machine: vec![Evidence::of_machine(IO_PRESSURE, 0.02)],
        traced_requests: Some(1942),
        busiest: None,
    }
}

fn watch(state: &mut AppState, seconds: u64, causes: &[Cause]) {
    let watched = WatchedDiagnosis {
        at: Duration::from_secs(seconds),
        diagnosis: Some(diagnosis(causes.to_vec())),
        is_complete: true,
        traced_device: None,
    };
    update(
        state,
        AppEvent::Message(Message::Diagnosis(Arc::new(watched))),
    );
}

fn press(state: &mut AppState, key: KeySymbol) -> Vec<Effect> {
    update(state, AppEvent::Key(KeyPress::new(key)))
}

fn why_state(causes: &[Cause]) -> AppState {
    let mut state = canned::live_state();
    press(&mut state, KeySymbol::Char('5'));
    watch(&mut state, 100, causes);
    state
}

/// More causes and values than fit an old terminal.
pub fn long_state() -> AppState {
    let mut causes = vec![saturated(); 20];
    causes.push(dirty());
    why_state(&causes)
}

fn assert_snapshots(name: &str, state: &AppState) {
    for (width, height) in SIZES {
        let buffer = draw_to_buffer(state, Theme::FULL, width, height);
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), buffer_text(&buffer));
    }
}

#[test]
fn why_screen_shows_conclusion_proof_and_remedy() {
    assert_snapshots("why", &why_state(&[saturated()]));
}

#[test]
fn why_screen_shows_a_command_whole_or_not_at_all() {
    let mut cause = saturated();
    let unmount = |quoted: &str| {
        let condition = "cat /proc/20/task/20/schedstat | grep -qx '81234 1204 31'";
        let command = format!("{condition} && umount -f -l -- {quoted}");
        Remedy::command(command, "ends the waiting")
    };
    cause.remedies = vec![
        unmount(&"/srv/archive".repeat(8)),
        unmount("'/gr\u{f6}\u{df}e'"),
    ];
    cause.evidence.clear();
    let state = why_state(&[cause]);
    let screen = |theme| buffer_text(&draw_to_buffer(&state, theme, 80, 24));
    let shown = screen(Theme::FULL);
    assert!(!shown.contains("/srv/archive"), "{shown}");
    assert!(
        shown.contains("(a command too wide for this screen: diskscope why prints it)"),
        "{shown}"
    );
    assert!(
        shown.contains("umount -f -l -- '/gr\u{f6}\u{df}e'"),
        "{shown}"
    );
    let shown = screen(Theme {
        ascii: true,
        ..Theme::FULL
    });
    let command = r"umount -f -l -- $'/gr\303\266\303\237e'";
    assert!(shown.contains(command), "{shown}");
}

#[test]
fn why_screen_lists_several_causes_and_shows_the_selected_one() {
    let mut state = why_state(&[saturated(), dirty()]);
    press(&mut state, KeySymbol::Tab);
    assert_snapshots("why-second-cause", &state);
}

#[test]
fn why_screen_without_problem_says_so() {
    assert_snapshots("why-no-problem", &why_state(&[]));
}

#[test]
fn why_screen_without_unicode_is_ascii() {
    let theme = Theme {
        ascii: true,
        colour: false,
        ..Theme::FULL
    };
    let state = why_state(&[saturated(), dirty()]);
    let buffer = draw_to_buffer(&state, theme, 100, 30);
    assert!(buffer_text(&buffer).is_ascii());
}

#[test]
fn why_screen_is_watched_and_traced_only_while_it_is_shown() {
    let mut state = canned::live_state();
    let opened = press(&mut state, KeySymbol::Char('5'));
    assert!(matches!(opened[..], [Effect::WatchCauses(true)]));
    let traced = press(&mut state, KeySymbol::Char('t'));
    assert!(matches!(traced[..], [Effect::TraceCauses(true)]));
    let left = press(&mut state, KeySymbol::Char('1'));
    assert!(matches!(
        left[..],
        [Effect::WatchCauses(false), Effect::TraceCauses(false)]
    ));
}

#[test]
fn live_screen_has_a_line_about_a_problem_in_the_row_below_the_tabs() {
    let mut state = canned::live_state();
    let text = |state: &AppState, (width, height): (u16, u16)| {
        buffer_text(&draw_to_buffer(state, Theme::FULL, width, height))
    };
    for seconds in 0..10 {
        watch(&mut state, seconds, &[saturated()]);
    }
    for size in SIZES {
        let quiet = text(&canned::live_state(), size);
        let shown = text(&state, size);
        let line = shown.lines().nth(2).unwrap();
        assert!(line.starts_with(" ! postgres"), "{line}");
        assert!(line.ends_with("5 why"), "{line}");
        // Where there is a blank row below the tabs, nothing moves.
        let same_below = shown.lines().skip(3).eq(quiet.lines().skip(3));
        assert_eq!(same_below, size.1 >= 30, "{size:?}");
    }
    insta::assert_snapshot!("live-problem-120x40", text(&state, (120, 40)));
    press(&mut state, KeySymbol::Char('4'));
    assert!(!text(&state, (120, 40)).contains("5 why"));
}

#[test]
fn replay_shows_the_diagnosis_of_its_snapshot() {
    let timeline = ReplayTimeline::new("day.rec".into(), Arc::default(), None);
    let mut state = AppState::for_replay(timeline, Duration::from_secs(10));
    let frame = Frame {
        index: 0,
        snapshot: Arc::new(canned::sample_snapshot(60)),
        requests: None,
        diagnosis: Some(Arc::new(diagnosis(vec![saturated()]))),
        history: canned::live_state().live.history,
        is_playing: false,
    };
    update(
        &mut state,
        AppEvent::Message(Message::Frame(Box::new(frame))),
    );
    let text = |state: &AppState| buffer_text(&draw_to_buffer(state, Theme::FULL, 80, 24));
    assert!(text(&state).contains(" ! postgres"), "{}", text(&state));
    assert!(press(&mut state, KeySymbol::Char('5')).is_empty());
    assert_eq!(state.screen, Screen::Why);
    assert!(text(&state).contains("problem found"), "{}", text(&state));
    assert!(press(&mut state, KeySymbol::Char('t')).is_empty());
    // The time line's keys work here, too.
    assert!(!press(&mut state, KeySymbol::Right).is_empty());
}
