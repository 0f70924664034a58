//! The real loop, driven by keys, on a backend that remembers what was drawn. Time stands still
//! unless everything waits for it.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use diskscope::app::{AppState, BenchStage, Effect, Message, SavedRun, Screen};
use diskscope::bench::RunEvent;
use diskscope::tui::event_loop::{LoopContext, LoopEnd, MIN_FRAME_INTERVAL, run_loop};
use diskscope::tui::services::{AppServices, FeedSenders, ServiceFeeds, service_channels};
use diskscope::tui::signals::SignalNotice;
use diskscope::tui::terminal::TerminalDisplay;
use diskscope::ui::Theme;
use futures_util::{Stream, StreamExt, stream};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, TestBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::interface::canned;

/// A backend that counts its frames.
struct FrameCountingBackend {
    backend: TestBackend,
    frames: Rc<RefCell<usize>>,
}

type Never = std::convert::Infallible;

impl Backend for FrameCountingBackend {
    type Error = Never;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Never>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        *self.frames.borrow_mut() += 1;
        self.backend.draw(content)
    }

    fn hide_cursor(&mut self) -> Result<(), Never> {
        self.backend.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Never> {
        self.backend.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Never> {
        self.backend.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Never> {
        self.backend.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Never> {
        self.backend.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Never> {
        self.backend.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Never> {
        self.backend.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Never> {
        self.backend.window_size()
    }

    fn flush(&mut self) -> Result<(), Never> {
        self.backend.flush()
    }
}

/// Services that answer from canned data and remember what they were asked.
struct ScriptedServices {
    senders: FeedSenders,
    performed_effects: Rc<RefCell<Vec<String>>>,
}

impl ScriptedServices {
    fn send_message(&self, message: Message) {
        self.senders.messages.try_send(message).unwrap();
    }
}

impl AppServices for ScriptedServices {
    fn perform_effect(&mut self, effect: Effect) {
        self.performed_effects
            .borrow_mut()
            .push(format!("{effect:?}"));
        match effect {
            Effect::ListTargets => self.send_message(Message::Targets(canned::target_choices())),
            Effect::StartBenchmark(_) => {
                let event = RunEvent::Progress(Box::new(canned::run_progress()));
                self.senders.run_event.send_replace(Some(Arc::new(event)));
            }
            Effect::StopBenchmark => {
                self.send_message(Message::BenchmarkEnded(Box::new(Ok(SavedRun {
                    run: canned::random_read(),
                    path: Some("/state/session.json".into()),
                    save_errors: Vec::new(),
                }))))
            }
            Effect::ExportSession(_) => {
                self.send_message(Message::SessionExported(Ok("/here/session.json".into())))
            }
            Effect::ListSessions => self.send_message(Message::Sessions(Ok(Vec::new()))),
            _ => {}
        }
    }
}

/// A terminal that counts how often it was given back.
#[derive(Default)]
struct FakeDisplay {
    suspend_count: Rc<RefCell<usize>>,
    /// Until then the terminal takes no bytes.
    stalled_until: Option<Instant>,
}

impl TerminalDisplay for FakeDisplay {
    fn suspend(&mut self) -> io::Result<()> {
        *self.suspend_count.borrow_mut() += 1;
        Ok(())
    }

    fn is_in_foreground(&self) -> bool {
        true
    }

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn output_taken(&self) {
        if let Some(time) = self.stalled_until {
            tokio::time::sleep_until(time).await;
        }
    }
}

/// What became of a drive through the loop.
struct LoopOutcome {
    ending: LoopEnd,
    state: AppState,
    screen: String,
    performed_effects: Vec<String>,
    frame_count: usize,
    suspend_count: usize,
}

type EventStream = Pin<Box<dyn Stream<Item = io::Result<Event>>>>;

/// One event every 150 ms, then some time to draw, then the end of the input.
fn timed_events(events: Vec<Event>) -> EventStream {
    let pause = |time| async move { tokio::time::sleep(Duration::from_millis(time)).await };
    let events = stream::iter(events).then(move |event| async move {
        pause(150).await;
        Ok(event)
    });
    let rest = stream::once(pause(200)).filter_map(|()| async { None });
    Box::pin(events.chain(rest))
}

/// `b`, `<Enter>`, `<C-z>`: keys as events.
fn parse_keys(script: &str) -> Vec<Event> {
    script
        .split_whitespace()
        .map(|word| {
            let (code, modifiers) = match word {
                "<Enter>" => (KeyCode::Enter, KeyModifiers::NONE),
                "<Esc>" => (KeyCode::Esc, KeyModifiers::NONE),
                "<Tab>" => (KeyCode::Tab, KeyModifiers::NONE),
                "<Down>" => (KeyCode::Down, KeyModifiers::NONE),
                "<C-z>" => (KeyCode::Char('z'), KeyModifiers::CONTROL),
                "<Left>" => (KeyCode::Left, KeyModifiers::NONE),
                "<End>" => (KeyCode::End, KeyModifiers::NONE),
                "<Backspace>" => (KeyCode::Backspace, KeyModifiers::NONE),
                "<C-u>" => (KeyCode::Char('u'), KeyModifiers::CONTROL),
                "<Space>" => (KeyCode::Char(' '), KeyModifiers::NONE),
                word => (
                    KeyCode::Char(word.chars().next().unwrap()),
                    KeyModifiers::NONE,
                ),
            };
            Event::Key(KeyEvent::new(code, modifiers))
        })
        .collect()
}

async fn drive_loop(events: Vec<Event>, notices: &[SignalNotice]) -> LoopOutcome {
    let (sources, feeds) = service_channels();
    sources
        .snapshots
        .send_replace(Some(Arc::new(canned::sample_snapshot(0))));
    drive_loop_with(timed_events(events), notices, sources, feeds).await
}

async fn drive_loop_with(
    input: EventStream,
    notices: &[SignalNotice],
    sources: FeedSenders,
    feeds: ServiceFeeds,
) -> LoopOutcome {
    drive_loop_on(FakeDisplay::default(), input, notices, sources, feeds).await
}

async fn drive_loop_on(
    display: FakeDisplay,
    input: EventStream,
    notices: &[SignalNotice],
    sources: FeedSenders,
    feeds: ServiceFeeds,
) -> LoopOutcome {
    let frames = Rc::new(RefCell::new(0));
    let effects = Rc::new(RefCell::new(Vec::new()));
    let suspended = Rc::clone(&display.suspend_count);
    let mut terminal = Terminal::new(FrameCountingBackend {
        backend: TestBackend::new(80, 24),
        frames: Rc::clone(&frames),
    })
    .unwrap();
    let (notifier, inbox) = mpsc::channel(8);
    for notice in notices {
        notifier.send(*notice).await.unwrap();
    }
    let mut loop_context = LoopContext {
        input,
        signal_notices: inbox,
        feeds,
        services: ScriptedServices {
            senders: sources,
            performed_effects: Rc::clone(&effects),
        },
        display,
        theme: Theme::FULL,
    };
    let mut state = AppState::new(Duration::from_secs(1));
    let ending = run_loop(&mut terminal, &mut loop_context, &mut state)
        .await
        .unwrap();
    LoopOutcome {
        ending,
        state,
        screen: terminal.backend().backend.to_string(),
        performed_effects: effects.take(),
        frame_count: frames.take(),
        suspend_count: suspended.take(),
    }
}

#[tokio::test(start_paused = true)]
async fn three_keys_start_a_scratch_file_benchmark() {
    let outcome = drive_loop(parse_keys("b <Enter> <Enter>"), &[]).await;
    assert_eq!(outcome.ending, LoopEnd::InputClosed);
    let started = outcome
        .performed_effects
        .iter()
        .find(|effects| effects.starts_with("Start"));
    assert!(
        started.is_some_and(|job| job.contains("random-read") && job.contains("/home/jane")),
        "{:?}",
        outcome.performed_effects
    );
    assert!(outcome.screen.contains("81 667 IOPS"), "{}", outcome.screen);
    assert!(outcome.screen.contains("2.8 s left"), "{}", outcome.screen);
}

#[tokio::test(start_paused = true)]
async fn stopped_benchmark_shows_and_exports_its_result() {
    let outcome = drive_loop(parse_keys("b <Enter> <Enter> <Esc> e"), &[]).await;
    assert!(
        outcome
            .performed_effects
            .iter()
            .any(|effects| effects == "StopBenchmark")
    );
    assert!(matches!(outcome.state.bench.stage, BenchStage::Result(_)));
    assert!(
        outcome.screen.contains("exported to /here/session.json"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_value_is_rejected_in_the_form_field() {
    let outcome = drive_loop(
        parse_keys("b <Tab> <Tab> <Down> <Enter> <C-u> 4 K <Enter>"),
        &[],
    )
    .await;
    assert!(outcome.screen.contains("write 4KiB"), "{}", outcome.screen);
    let mended = drive_loop(
        parse_keys("b <Tab> <Tab> <Down> <Enter> <C-u> 8 K i B <Enter> s"),
        &[],
    )
    .await;
    let started = mended
        .performed_effects
        .iter()
        .find(|effects| effects.starts_with("Start"));
    assert!(
        started.is_some_and(|job| job.contains("8192")),
        "{:?}",
        mended.performed_effects
    );
}

#[tokio::test(start_paused = true)]
async fn typed_value_replaces_default_in_started_benchmark() {
    for (typed, bytes) in [
        ("8 K i B", "8192"),
        (
            "<End> <Backspace> <Backspace> <Backspace> <Backspace> 5 1 2",
            "512",
        ),
        ("<Left> 6", "65536"),
    ] {
        let script = format!("b <Tab> <Tab> <Down> <Enter> {typed} <Enter> s");
        let outcome = drive_loop(parse_keys(&script), &[]).await;
        let mut effects = outcome.performed_effects.iter();
        let started = effects.find(|effects| effects.starts_with("Start"));
        let wanted = format!("Size({bytes})");
        assert!(
            started.is_some_and(|job| job.contains(&wanted)),
            "{typed}: {:?}",
            outcome.performed_effects
        );
    }
}

#[tokio::test(start_paused = true)]
async fn search_path_typed_after_slash_has_one_slash() {
    let outcome = drive_loop(parse_keys("b / / d e v / s d z <Enter>"), &[]).await;
    let inspected = r#"InspectTarget("/dev/sdz")"#;
    assert!(
        outcome
            .performed_effects
            .iter()
            .any(|effects| effects == inspected),
        "{:?}",
        outcome.performed_effects
    );
}

#[tokio::test(start_paused = true)]
async fn quit_during_benchmark_asks_for_confirmation() {
    let stays = drive_loop(parse_keys("b <Enter> <Enter> q n"), &[]).await;
    assert_eq!(stays.ending, LoopEnd::InputClosed);
    let leaves = drive_loop(parse_keys("b <Enter> <Enter> q y"), &[]).await;
    assert_eq!(leaves.ending, LoopEnd::Quit);
    assert!(
        leaves
            .performed_effects
            .iter()
            .any(|effects| effects == "StopBenchmark")
    );
}

/// Keys one by one, then keys that arrive together.
fn keys_then_burst(keys: &str, burst: &str) -> EventStream {
    let pause = |time| async move { tokio::time::sleep(Duration::from_millis(time)).await };
    let keys = stream::iter(parse_keys(keys)).then(move |event| async move {
        pause(150).await;
        Ok(event)
    });
    let gap = || stream::once(pause(200)).filter_map(|()| async { None });
    let burst = stream::iter(parse_keys(burst)).map(Ok);
    Box::pin(keys.chain(gap()).chain(burst).chain(gap()))
}

#[tokio::test(start_paused = true)]
async fn keys_of_one_burst_answer_no_question() {
    // Whether to quit is the exception: it destroys nothing.
    for (burst, ending) in [("q <Esc> y", LoopEnd::InputClosed), ("q y", LoopEnd::Quit)] {
        let (sources, feeds) = service_channels();
        let input = keys_then_burst("b <Enter> <Enter>", burst);
        let outcome = drive_loop_with(input, &[], sources, feeds).await;
        assert_eq!(outcome.ending, ending, "{burst}");
    }
    for (burst, is_open) in [("w y", true), ("w <Enter> y y", true), ("w <Esc> y", false)] {
        let (sources, feeds) = service_channels();
        let input = keys_then_burst("1", burst);
        let outcome = drive_loop_with(input, &[], sources, feeds).await;
        assert_eq!(outcome.ending, LoopEnd::InputClosed, "{burst}");
        assert_eq!(outcome.state.dialog.is_some(), is_open, "{burst}");
    }
}

#[tokio::test(start_paused = true)]
async fn interval_and_pause_keys_reach_the_sampler() {
    let outcome = drive_loop(parse_keys("+ - - <Space>"), &[]).await;
    assert_eq!(
        outcome.performed_effects,
        [
            "SetInterval(2s)",
            "SetInterval(1s)",
            "SetInterval(500ms)",
            "SetPaused(true)"
        ]
    );
    assert!(outcome.screen.contains("paused"));
}

#[tokio::test(start_paused = true)]
async fn process_filter_accepts_letters_bound_elsewhere() {
    let outcome = drive_loop(parse_keys("/ s q l"), &[]).await;
    assert_eq!(outcome.ending, LoopEnd::InputClosed);
    assert_eq!(outcome.state.live.filter.as_string(), "sql");
    assert!(
        outcome.screen.contains("no process matches"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn screen_keys_switch_screens_and_empty_list_shows_advice() {
    let outcome = drive_loop(parse_keys("4"), &[]).await;
    assert_eq!(outcome.state.screen, Screen::Sessions);
    assert!(
        outcome.screen.contains("press b to run a benchmark"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn signals_end_or_suspend_the_interface() {
    let term = drive_loop(Vec::new(), &[SignalNotice::Terminate(15)]).await;
    assert_eq!(term.ending, LoopEnd::Signal(15));
    let stopped = drive_loop(
        parse_keys("<C-z>"),
        &[SignalNotice::Suspend, SignalNotice::Resume],
    )
    .await;
    assert_eq!(stopped.suspend_count, 2);
}

#[tokio::test(start_paused = true)]
async fn no_frame_is_drawn_without_changes() {
    let (sources, feeds) = service_channels();
    let idle = stream::once(tokio::time::sleep(Duration::from_secs(3600)));
    let input: EventStream = Box::pin(idle.filter_map(|()| async { None }));
    let outcome = drive_loop_with(input, &[], sources, feeds).await;
    assert_eq!(outcome.frame_count, 1);
}

#[tokio::test(start_paused = true)]
async fn stalled_terminal_drops_frames_and_takes_keys() {
    let (sources, feeds) = service_channels();
    let live = sources.snapshots.clone();
    let second = Duration::from_secs(1);
    let keys = parse_keys("4 1 2 <Enter> <Enter> 4").into_iter();
    let input = stream::iter(keys).then(move |event| {
        live.send_replace(Some(Arc::new(canned::sample_snapshot(0))));
        async move {
            tokio::time::sleep(second).await;
            Ok(event)
        }
    });
    let pause = async move { tokio::time::sleep(second).await };
    let rest = stream::once(pause).filter_map(|()| async { None });
    let display = FakeDisplay {
        stalled_until: Some(Instant::now() + Duration::from_millis(6_500)),
        ..FakeDisplay::default()
    };
    let input: EventStream = Box::pin(input.chain(rest));
    let outcome = drive_loop_on(display, input, &[], sources, feeds).await;
    // The one frame shows the last state.
    assert_eq!(outcome.frame_count, 1);
    assert_eq!(outcome.state.screen, Screen::Sessions);
    let started = |asked: &String| asked.starts_with("StartBenchmark");
    assert!(outcome.performed_effects.iter().any(started));
}

#[tokio::test(start_paused = true)]
async fn many_samples_are_drawn_once_per_frame() {
    let (sources, feeds) = service_channels();
    let live = sources.snapshots.clone();
    let flood = stream::iter(0..1000).then(move |step| {
        live.send_replace(Some(Arc::new(canned::sample_snapshot(step))));
        tokio::time::sleep(Duration::from_millis(1))
    });
    let input: EventStream = Box::pin(flood.filter_map(|()| async { None }));
    let outcome = drive_loop_with(input, &[], sources, feeds).await;
    let most = 1000 / MIN_FRAME_INTERVAL.as_millis() as usize + 2;
    assert!(
        (10..=most).contains(&outcome.frame_count),
        "{} frames",
        outcome.frame_count
    );
}

#[tokio::test(start_paused = true)]
async fn resize_redraws_the_screen() {
    let (sources, feeds) = service_channels();
    let outcome = drive_loop_with(
        timed_events(vec![Event::Resize(80, 24)]),
        &[],
        sources,
        feeds,
    )
    .await;
    assert_eq!(outcome.frame_count, 2);
}
