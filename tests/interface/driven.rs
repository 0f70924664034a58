//! The real loop, driven by keys, on a backend that remembers what was drawn. Time stands still
//! unless everything waits for it.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use diskscope::app::{Effect, News, Saved, Screen, Stage, State};
use diskscope::runtime::event_loop::{Ending, FRAME, World, run};
use diskscope::runtime::services::{Feeds, Services, Sources, feeds};
use diskscope::runtime::signals::Notice;
use diskscope::runtime::terminal::Display;
use diskscope::ui::Look;
use futures_util::{Stream, StreamExt, stream};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, TestBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use tokio::sync::mpsc;

use crate::canned;

/// A backend that counts its frames.
struct Counting {
    inner: TestBackend,
    frames: Rc<RefCell<usize>>,
}

type Never = std::convert::Infallible;

impl Backend for Counting {
    type Error = Never;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Never>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        *self.frames.borrow_mut() += 1;
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> Result<(), Never> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Never> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Never> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Never> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Never> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Never> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Never> {
        self.inner.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Never> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> Result<(), Never> {
        self.inner.flush()
    }
}

/// Services that answer from canned data and remember what they were asked.
struct Scripted {
    sources: Sources,
    asked: Rc<RefCell<Vec<String>>>,
}

impl Scripted {
    fn tell(&self, news: News) {
        self.sources.news.try_send(news).unwrap();
    }
}

impl Services for Scripted {
    fn perform(&mut self, effect: Effect) {
        self.asked.borrow_mut().push(format!("{effect:?}"));
        match effect {
            Effect::ListTargets => self.tell(News::Targets(canned::choices())),
            Effect::Start(_) => {
                let view = canned::run_view();
                self.sources.progress.send_replace(Some(Arc::new(view)));
            }
            Effect::Stop => self.tell(News::Ended(Box::new(Ok(Saved {
                run: canned::random_read(),
                path: Some("/state/session.json".into()),
                problems: Vec::new(),
            })))),
            Effect::Export(_) => self.tell(News::Exported(Ok("/here/session.json".into()))),
            Effect::ListSessions => self.tell(News::Sessions(Ok(Vec::new()))),
            _ => {}
        }
    }
}

/// A terminal that counts how often it was given back.
#[derive(Default)]
struct Screenless {
    suspended: Rc<RefCell<usize>>,
}

impl Display for Screenless {
    fn suspend(&mut self) -> io::Result<()> {
        *self.suspended.borrow_mut() += 1;
        Ok(())
    }

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became of a drive through the loop.
struct Outcome {
    ending: Ending,
    state: State,
    screen: String,
    asked: Vec<String>,
    frames: usize,
    suspended: usize,
}

type Keys = Pin<Box<dyn Stream<Item = io::Result<Event>>>>;

/// One event every 40 ms, then some time to draw, then the end of the input.
fn typed(events: Vec<Event>) -> Keys {
    let pause = |time| async move { tokio::time::sleep(Duration::from_millis(time)).await };
    let events = stream::iter(events).then(move |event| async move {
        pause(40).await;
        Ok(event)
    });
    let rest = stream::once(pause(200)).filter_map(|()| async { None });
    Box::pin(events.chain(rest))
}

/// `b`, `<Enter>`, `<C-z>`: keys as events.
fn keys(script: &str) -> Vec<Event> {
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

async fn drive(events: Vec<Event>, notices: &[Notice]) -> Outcome {
    let (sources, feeds) = feeds();
    sources.live.send_replace(Some(Arc::new(canned::sample(0))));
    drive_with(typed(events), notices, sources, feeds).await
}

async fn drive_with(input: Keys, notices: &[Notice], sources: Sources, feeds: Feeds) -> Outcome {
    let frames = Rc::new(RefCell::new(0));
    let asked = Rc::new(RefCell::new(Vec::new()));
    let display = Screenless::default();
    let suspended = Rc::clone(&display.suspended);
    let mut terminal = Terminal::new(Counting {
        inner: TestBackend::new(80, 24),
        frames: Rc::clone(&frames),
    })
    .unwrap();
    let (notifier, inbox) = mpsc::channel(8);
    for notice in notices {
        notifier.send(*notice).await.unwrap();
    }
    let mut world = World {
        input,
        notices: inbox,
        feeds,
        services: Scripted {
            sources,
            asked: Rc::clone(&asked),
        },
        display,
    };
    let mut state = State::new(Duration::from_secs(1));
    let ending = run(&mut terminal, &mut world, &mut state, &Look::FULL)
        .await
        .unwrap();
    Outcome {
        ending,
        state,
        screen: terminal.backend().inner.to_string(),
        asked: asked.take(),
        frames: frames.take(),
        suspended: suspended.take(),
    }
}

#[tokio::test(start_paused = true)]
async fn three_keys_start_a_benchmark_on_a_scratch_file_here() {
    let outcome = drive(keys("b <Enter> <Enter>"), &[]).await;
    assert_eq!(outcome.ending, Ending::InputClosed);
    let started = outcome
        .asked
        .iter()
        .find(|asked| asked.starts_with("Start"));
    assert!(
        started.is_some_and(|job| job.contains("random-read") && job.contains("/home/jane")),
        "{:?}",
        outcome.asked
    );
    assert!(outcome.screen.contains("81 667 IOPS"), "{}", outcome.screen);
    assert!(outcome.screen.contains("2.8 s left"), "{}", outcome.screen);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_benchmark_keeps_its_result_and_exports_it() {
    let outcome = drive(keys("b <Enter> <Enter> <Esc> e"), &[]).await;
    assert!(outcome.asked.iter().any(|asked| asked == "Stop"));
    assert!(matches!(outcome.state.bench.stage, Stage::Result(_)));
    assert!(
        outcome.screen.contains("exported to /here/session.json"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_none_is_refused_at_the_field() {
    let outcome = drive(keys("b <Tab> <Tab> <Down> <Enter> <C-u> 4 K <Enter>"), &[]).await;
    assert!(outcome.screen.contains("write 4kB"), "{}", outcome.screen);
    let mended = drive(
        keys("b <Tab> <Tab> <Down> <Enter> <C-u> 8 K i B <Enter> s"),
        &[],
    )
    .await;
    let started = mended.asked.iter().find(|asked| asked.starts_with("Start"));
    assert!(
        started.is_some_and(|job| job.contains("8192")),
        "{:?}",
        mended.asked
    );
}

#[tokio::test(start_paused = true)]
async fn value_that_is_typed_replaces_the_default_in_the_job_that_starts() {
    for (typed, bytes) in [
        ("8 K i B", "8192"),
        (
            "<End> <Backspace> <Backspace> <Backspace> <Backspace> 5 1 2",
            "512",
        ),
        ("<Left> 6", "65536"),
    ] {
        let script = format!("b <Tab> <Tab> <Down> <Enter> {typed} <Enter> s");
        let outcome = drive(keys(&script), &[]).await;
        let mut asked = outcome.asked.iter();
        let started = asked.find(|asked| asked.starts_with("Start"));
        let wanted = format!("Bytes({bytes})");
        assert!(
            started.is_some_and(|job| job.contains(&wanted)),
            "{typed}: {:?}",
            outcome.asked
        );
    }
}

#[tokio::test(start_paused = true)]
async fn path_that_is_typed_into_the_search_has_one_slash() {
    let outcome = drive(keys("b / / d e v / s d z <Enter>"), &[]).await;
    let inspected = r#"Inspect("/dev/sdz")"#;
    assert!(
        outcome.asked.iter().any(|asked| asked == inspected),
        "{:?}",
        outcome.asked
    );
}

#[tokio::test(start_paused = true)]
async fn quitting_while_a_benchmark_runs_asks_first() {
    let stays = drive(keys("b <Enter> <Enter> q n"), &[]).await;
    assert_eq!(stays.ending, Ending::InputClosed);
    let leaves = drive(keys("b <Enter> <Enter> q y"), &[]).await;
    assert_eq!(leaves.ending, Ending::Quit);
    assert!(leaves.asked.iter().any(|asked| asked == "Stop"));
}

#[tokio::test(start_paused = true)]
async fn the_interval_and_the_pause_reach_the_sampler() {
    let outcome = drive(keys("+ - - <Space>"), &[]).await;
    assert_eq!(
        outcome.asked,
        [
            "SetInterval(2s)",
            "SetInterval(1s)",
            "SetInterval(500ms)",
            "Pause(true)"
        ]
    );
    assert!(outcome.screen.contains("paused"));
}

#[tokio::test(start_paused = true)]
async fn the_filter_takes_letters_that_are_keys_elsewhere() {
    let outcome = drive(keys("/ s q l"), &[]).await;
    assert_eq!(outcome.ending, Ending::InputClosed);
    assert_eq!(outcome.state.live.filter.as_string(), "sql");
    assert!(
        outcome.screen.contains("no process matches"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn screens_change_and_an_empty_list_says_what_to_do() {
    let outcome = drive(keys("4"), &[]).await;
    assert_eq!(outcome.state.screen, Screen::Sessions);
    assert!(
        outcome.screen.contains("press b to measure"),
        "{}",
        outcome.screen
    );
}

#[tokio::test(start_paused = true)]
async fn signals_end_or_suspend() {
    let term = drive(Vec::new(), &[Notice::Terminate(15)]).await;
    assert_eq!(term.ending, Ending::Signal(15));
    let panicked = drive(Vec::new(), &[Notice::Panicked]).await;
    assert_eq!(panicked.ending, Ending::Panicked);
    let stopped = drive(keys("<C-z>"), &[Notice::Suspend, Notice::Resume]).await;
    assert_eq!(stopped.suspended, 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_drawn_when_nothing_changes() {
    let (sources, feeds) = feeds();
    let idle = stream::once(tokio::time::sleep(Duration::from_secs(3600)));
    let input: Keys = Box::pin(idle.filter_map(|()| async { None }));
    let outcome = drive_with(input, &[], sources, feeds).await;
    assert_eq!(outcome.frames, 1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_samples_is_drawn_once_a_frame() {
    let (sources, feeds) = feeds();
    let live = sources.live.clone();
    let flood = stream::iter(0..1000).then(move |step| {
        live.send_replace(Some(Arc::new(canned::sample(step))));
        tokio::time::sleep(Duration::from_millis(1))
    });
    let input: Keys = Box::pin(flood.filter_map(|()| async { None }));
    let outcome = drive_with(input, &[], sources, feeds).await;
    let most = 1000 / FRAME.as_millis() as usize + 2;
    assert!(
        (10..=most).contains(&outcome.frames),
        "{} frames",
        outcome.frames
    );
}

#[tokio::test(start_paused = true)]
async fn a_resize_is_followed() {
    let (sources, feeds) = feeds();
    let outcome = drive_with(typed(vec![Event::Resize(80, 24)]), &[], sources, feeds).await;
    assert_eq!(outcome.frames, 2);
}
