//! The terminal interface from its first to its last moment.

use std::io::{self, stdout};
use std::path::Path;
use std::time::Duration;

use crossterm::event::EventStream;
use ratatui::Terminal;
use tokio::sync::mpsc;

use super::event_loop::{self, Ending, LoopError, World};
use super::lean::Lean;
use super::machine_services::Machine;
use super::player::{self, Player};
use super::services::{Services, Sources, feeds};
use super::terminal::{Guard, LastWords};
use super::{descriptors, signals, supervisor};
use crate::app::State;
use crate::recording::Recording;
use crate::roots::Roots;
use crate::ui::Look;

/// How the interface is wanted.
#[derive(Debug, Clone)]
pub struct Options {
    /// ASCII characters only.
    pub ascii: bool,
    /// Take the mouse's wheel.
    pub mouse: bool,
    /// Time between two samples.
    pub interval: Duration,
}

/// Why the interface ended otherwise than it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// It could not begin.
    #[error("cannot start the interface: {0}; it needs a terminal")]
    Start(#[from] io::Error),
    /// The terminal failed.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// A thread panicked.
    #[error("a part of diskscope failed: {0}; this is a defect, please report it")]
    Panicked(String),
}

/// Runs the interface on this machine until it ends.
///
/// # Errors
/// When the terminal cannot be used, or a thread panicked. The terminal is restored in any case.
pub fn run(options: &Options) -> Result<Ending, InterfaceError> {
    let interval = options.interval;
    run_with(options, State::new(interval), |sources| {
        Machine::start(Roots::default(), interval, sources)
    })
}

/// Shows a recording in the Live screen until it ends.
///
/// # Errors
/// As [`run`].
pub fn replay(
    options: &Options,
    path: &Path,
    recording: Recording,
) -> Result<Ending, InterfaceError> {
    let state = State::replaying(player::timeline(path, &recording), options.interval);
    run_with(options, state, |sources| Player::start(recording, sources))
}

/// Runs the interface from a state on, with other services.
///
/// # Errors
/// As [`run`].
pub fn run_with<S: Services>(
    options: &Options,
    mut state: State,
    start: impl FnOnce(Sources) -> io::Result<S>,
) -> Result<Ending, InterfaceError> {
    descriptors::check()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (notifier, notices) = mpsc::channel(16);
    let words = LastWords::listen(notifier.clone());
    let (sources, feeds) = feeds();
    let result = runtime.block_on(async {
        signals::listen(&notifier)?;
        // First the terminal: where there is none, no thread is started.
        let display = Guard::enter(options.mouse)?;
        let mut world = World {
            input: EventStream::new(),
            notices,
            feeds,
            services: start(sources)?,
            display,
        };
        let mut terminal = Terminal::new(Lean::new(stdout()))?;
        let look = look(options);
        let ending = event_loop::run(&mut terminal, &mut world, &mut state, &look).await;
        let World {
            display, services, ..
        } = world;
        // The terminal is given back before a drive that does not answer is waited for.
        drop(display);
        supervisor::leaving();
        let mut services = services;
        services.finish();
        Ok::<_, InterfaceError>(ending?)
    });
    match words.spoken() {
        Some(message) => Err(InterfaceError::Panicked(message)),
        None => result,
    }
}

/// Without colours when `NO_COLOR` is set to anything (<https://no-color.org>).
fn look(options: &Options) -> Look {
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Look {
        ascii: options.ascii,
        colour,
    }
}
