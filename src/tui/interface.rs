//! The terminal interface, from start to end.

use std::io::{self, BufWriter, stdout};
use std::path::Path;
use std::time::Duration;

use crossterm::event::EventStream;
use ratatui::Terminal;
use tokio::sync::mpsc;

use super::backend::ScreenBackend;
use super::demo::DemoServices;
use super::demo_content;
use super::demo_content::DemoContent;
use super::event_loop;
use super::event_loop::{LoopContext, LoopEnd, LoopError};
use super::machine_services::MachineServices;
use super::player;
use super::player::RecordingPlayer;
use super::services::{AppServices, FeedSenders, service_channels};
use super::signals;
use super::terminal::{PanicRestoration, TerminalGuard};
use super::terminal_kind::TerminalKind;
use crate::app::AppState;
use crate::app::preferences::Preferences;
use crate::files::supervisor;
use crate::recording::Recording;
use crate::roots::SysPaths;
use crate::tui::terminal_output::TerminalOutput;
use crate::tui::theme::{Background, ColourDepth, Palette, ThemeName};
use crate::ui::Theme;

/// Bytes of a frame that are collected before they are passed on; a first frame of 200 x 60 has fewer.
const FRAME_CAPACITY: usize = 64 << 10;

/// Time for the thread that reads the terminal to end; crossterm does not tell when it has.
const READER_END_TIME: Duration = Duration::from_millis(20);

/// Options of the interface.
#[derive(Debug, Clone)]
pub struct InterfaceOptions {
    /// ASCII characters only.
    pub ascii: bool,
    /// Capture the mouse wheel.
    pub mouse: bool,
    /// Time between two samples.
    pub interval: Duration,
    /// Colours.
    pub theme: ThemeName,
    /// What the user prefers.
    pub preferences: Preferences,
}

/// Why the interface ended unexpectedly.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// It could not start.
    #[error("cannot start the interface: {0}; it needs a terminal")]
    Start(#[from] io::Error),
    /// The terminal cannot move the cursor.
    #[error(
        "the interface cannot draw on a terminal of this type (TERM=dumb); set TERM to the type of \
         the terminal, or use `diskscope watch`"
    )]
    DumbTerminal,
    /// The terminal failed.
    #[error(transparent)]
    Loop(#[from] LoopError),
}

/// Runs the interface on this machine until it ends.
///
/// # Errors
/// When the terminal cannot be used. The terminal is restored in any case.
pub fn run(options: &InterfaceOptions) -> Result<LoopEnd, InterfaceError> {
    let interval = options.interval;
    let mut state = AppState::new(interval);
    state.apply_preferences(&options.preferences);
    run_with(options, state, |senders| {
        MachineServices::start(SysPaths::default(), interval, senders)
    })
}

/// Shows a recording in the Live screen until it ends.
///
/// # Errors
/// As [`run`].
pub fn replay(
    options: &InterfaceOptions,
    path: &Path,
    mut cursor: Recording,
) -> Result<LoopEnd, InterfaceError> {
    let timeline = player::timeline(path, &mut cursor);
    let mut state = AppState::for_replay(timeline, options.interval);
    state.apply_preferences(&options.preferences);
    run_with(options, state, |senders| {
        RecordingPlayer::start(cursor, senders)
    })
}

/// Shows the demo until it ends.
///
/// # Errors
/// As [`run`].
pub fn demo(options: &InterfaceOptions, content: DemoContent) -> Result<LoopEnd, InterfaceError> {
    let DemoContent {
        mut cursor,
        sessions,
    } = content;
    let mut timeline = player::timeline(Path::new(demo_content::RECORDING_NAME), &mut cursor);
    timeline.is_demo = true;
    let result = sessions.first_result();
    let mut state = AppState::for_demo(timeline, result, options.interval);
    state.apply_preferences(&options.preferences);
    run_with(options, state, |senders| {
        DemoServices::start(cursor, sessions, senders)
    })
}

/// Runs the interface from a given state with the given services.
///
/// # Errors
///
/// As [`run`].
pub fn run_with<S: AppServices>(
    options: &InterfaceOptions,
    mut state: AppState,
    start: impl FnOnce(FeedSenders) -> io::Result<S>,
) -> Result<LoopEnd, InterfaceError> {
    let kind = TerminalKind::from_environment().ok_or(InterfaceError::DumbTerminal)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (notifier, notices) = mpsc::channel(16);
    let output = TerminalOutput::start(stdout())?;
    let _panic_restoration = PanicRestoration::install(output.clone());
    let (senders, feeds) = service_channels();
    runtime.block_on(async {
        signals::forward_signals(&notifier)?;
        // The terminal comes first: without one, no thread is started.
        let display = TerminalGuard::enter_screen(output.clone(), options.mouse)?;
        let mut context = LoopContext {
            input: EventStream::new(),
            signal_notices: notices,
            feeds,
            services: start(senders)?,
            display,
            theme: theme(options, kind),
        };
        // One write for each frame.
        let writer = BufWriter::with_capacity(FRAME_CAPACITY, output);
        let mut terminal = Terminal::new(ScreenBackend::new(writer))?;
        let end = event_loop::run_loop(&mut terminal, &mut context, &mut state).await;
        let LoopContext {
            input,
            display,
            services,
            ..
        } = context;
        // What is typed from here on is for the shell: the thread that reads the terminal ends when it
        // is told to, before it sees a key that follows.
        drop(input);
        tokio::time::sleep(READER_END_TIME).await;
        // The terminal is restored before waiting for a drive that does not respond.
        drop(display);
        supervisor::report_ending();
        let mut services = services;
        services.stop_and_join();
        Ok(end?)
    })
}

/// The theme that the options and the environment select.
fn theme(options: &InterfaceOptions, kind: TerminalKind) -> Theme {
    let variable = |name: &str| {
        let value = std::env::var_os(name).unwrap_or_default();
        value.to_string_lossy().into_owned()
    };
    let has_many = variable("TERM").contains("256color") || !variable("COLORTERM").is_empty();
    let depth = match has_many {
        true => ColourDepth::Many,
        false => ColourDepth::Sixteen,
    };
    let background = Background::from_colorfgbg(&variable("COLORFGBG"));
    Theme {
        ascii: kind.ascii || options.ascii,
        colour: kind.colour && options.theme != ThemeName::Plain,
        palette: Palette::select(options.theme, depth, background),
    }
}
