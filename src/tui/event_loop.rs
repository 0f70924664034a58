//! The event loop: keys, signals and messages in, frames out. Generic over the source of keys and
//! the drawing backend, so that tests run this loop itself.

use std::io;
use std::time::Duration;

use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::input;
use super::services::{AppServices, ServiceFeeds};
use super::signals::SignalNotice;
use super::terminal::TerminalDisplay;
use crate::app;
use crate::app::{AppEvent, AppState, DrawnFrame, Effect, Message};
use crate::ui;
use crate::ui::Theme;

/// Minimum time between two frames: limits the output on a slow connection.
pub const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// How long a question must have been on the screen before a key answers it. What was typed before it
/// was drawn may arrive later: over a slow line, or because crossterm reads several keys at once and
/// hands them out one by one, with no way to tell that there are more.
pub const ANSWER_DELAY: Duration = Duration::from_millis(100);
/// How long signals take that were sent with the one by which the program continues.
const PENDING_SIGNAL_TIME: Duration = Duration::from_millis(200);
/// How long the first frame waits for the first sample, which arrives in time on a small machine: an
/// empty screen would be replaced at once.
const FIRST_SAMPLE_TIMEOUT: Duration = Duration::from_millis(5);

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// The user quit.
    Quit,
    /// A signal: its number.
    Signal(i32),
    /// The terminal is gone, so no key can be pressed.
    InputClosed,
}

/// Why the loop failed.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The terminal could not be read or configured.
    #[error("cannot use the terminal: {0}; check that it is still connected")]
    Terminal(#[from] io::Error),
    /// The terminal could not be drawn on.
    #[error("cannot draw on the terminal: {0}; check that it is still connected")]
    Draw(String),
}

/// Inputs and outputs of the loop.
pub struct LoopContext<I, S, D> {
    /// Events of the terminal.
    pub input: I,
    /// Signals and similar notices.
    pub signal_notices: mpsc::Receiver<SignalNotice>,
    /// Messages from the services.
    pub feeds: ServiceFeeds,
    /// Performs the effects.
    pub services: S,
    /// The terminal, except for drawing.
    pub display: D,
    /// Colours and characters.
    pub theme: Theme,
}

/// Result of one iteration of the loop.
enum LoopStep {
    Continue,
    Draw,
    Redraw,
    Suspend,
    /// The program was stopped by another process, and continues.
    Resume,
    End(LoopEnd),
}

/// Runs the interface until it ends.
///
/// # Errors
/// When the terminal fails.
pub async fn run_loop<B, I, S, D>(
    terminal: &mut Terminal<B>,
    context: &mut LoopContext<I, S, D>,
    state: &mut AppState,
) -> Result<LoopEnd, LoopError>
where
    B: Backend,
    I: Stream<Item = io::Result<Event>> + Unpin,
    S: AppServices,
    D: TerminalDisplay,
{
    let mut dirty = true;
    let mut next_frame = Instant::now() + FIRST_SAMPLE_TIMEOUT;
    // When the question that is on the screen was drawn first.
    let mut asked_at = None;
    loop {
        let step = tokio::select! {
            biased;
            Some(notice) = context.signal_notices.recv() => handle_signal(notice),
            event = context.input.next() => match event {
                None => LoopStep::End(LoopEnd::InputClosed),
                Some(event) => {
                    let is_early = asked_at.is_some_and(|at: Instant| at.elapsed() < ANSWER_DELAY);
                    handle_terminal_event(event?, is_early, context, state)?
                }
            },
            // After the input: no key that was typed before a frame is taken for an answer to it.
            () = frame_due(next_frame, &context.display), if dirty => {
                let frame = draw_frame(terminal, state, &context.theme)?;
                let before = state.shown_question().cloned();
                app::update(state, AppEvent::FrameShown(frame));
                if state.shown_question() != before.as_ref() {
                    asked_at = Some(Instant::now());
                }
                dirty = false;
                next_frame = Instant::now() + interval_after_frame(state);
                LoopStep::Continue
            }
            Some(message) = context.feeds.messages.recv() => {
                handle_event(AppEvent::Message(message), context, state)?
            }
            Ok(()) = context.feeds.snapshots.changed() => {
                let sample = context.feeds.snapshots.borrow_and_update().clone();
                if state.live.snapshot.is_none() {
                    next_frame = Instant::now();
                }
                handle_message(sample.map(Message::Snapshot), context, state)?
            }
            Ok(()) = context.feeds.requests.changed() => {
                let view = context.feeds.requests.borrow_and_update().clone();
                handle_message(view.map(Message::Requests), context, state)?
            }
            Ok(()) = context.feeds.diagnosis.changed() => {
                let diagnosis = context.feeds.diagnosis.borrow_and_update().clone();
                handle_message(diagnosis.map(Message::Diagnosis), context, state)?
            }
            Ok(()) = context.feeds.run_event.changed() => {
                let event = context.feeds.run_event.borrow_and_update().clone();
                handle_message(event.map(Message::BenchmarkEvent), context, state)?
            }
        };
        let step = match step {
            LoopStep::Suspend => {
                context.display.suspend()?;
                resume(context).await?
            }
            LoopStep::Resume => resume(context).await?,
            step => step,
        };
        match step {
            LoopStep::Continue => {}
            LoopStep::Draw => dirty = true,
            LoopStep::Redraw | LoopStep::Suspend | LoopStep::Resume => {
                invalidate_screen(terminal)?;
                app::update(state, AppEvent::ScreenLost);
                dirty = true;
            }
            LoopStep::End(end) => return Ok(end),
        }
    }
}

/// Waits until the next frame may be drawn: not before `earliest`, and not before the terminal has
/// taken the last one. Everything else goes on meanwhile.
async fn frame_due(earliest: Instant, display: &impl TerminalDisplay) {
    tokio::time::sleep_until(earliest).await;
    display.output_taken().await;
}

/// Minimum time until the next frame: none before the first sample, whose lists replace an empty
/// screen.
fn interval_after_frame(state: &AppState) -> Duration {
    match state.live.snapshot {
        Some(_) => MIN_FRAME_INTERVAL,
        None => Duration::ZERO,
    }
}

fn draw_frame<B: Backend>(
    terminal: &mut Terminal<B>,
    state: &AppState,
    theme: &Theme,
) -> Result<DrawnFrame, LoopError> {
    let mut drawn = DrawnFrame::TooSmall;
    terminal
        .draw(|frame| drawn = ui::draw(state, theme, frame.area(), frame.buffer_mut()))
        .map_err(draw_error)?;
    Ok(drawn)
}

/// Invalidates the screen, so that the next frame draws all of it.
///
/// Not `Terminal::clear`: that queries the cursor position, and the reply would go to the input
/// stream.
fn invalidate_screen<B: Backend>(terminal: &mut Terminal<B>) -> Result<(), LoopError> {
    let size = terminal.size().map_err(draw_error)?;
    terminal.resize(size.into()).map_err(draw_error)
}

fn draw_error(error: impl std::fmt::Display) -> LoopError {
    LoopError::Draw(error.to_string())
}

fn handle_signal(notice: SignalNotice) -> LoopStep {
    match notice {
        SignalNotice::Terminate(signal) => LoopStep::End(LoopEnd::Signal(signal)),
        SignalNotice::Suspend => LoopStep::Suspend,
        SignalNotice::Resume => LoopStep::Resume,
    }
}

/// Goes on after the program was stopped: in the foreground with the terminal set up again; in the
/// background it ends where a signal asks for that, and stops again otherwise.
async fn resume<I, S, D: TerminalDisplay>(
    context: &mut LoopContext<I, S, D>,
) -> Result<LoopStep, LoopError> {
    while !context.display.is_in_foreground() {
        if let Some(signal) = terminating_signal(&mut context.signal_notices).await {
            return Ok(LoopStep::End(LoopEnd::Signal(signal)));
        }
        context.display.suspend()?;
    }
    context.display.resume()?;
    Ok(LoopStep::Redraw)
}

/// The signal that asks the program to end, if one arrived with that by which it continues.
async fn terminating_signal(notices: &mut mpsc::Receiver<SignalNotice>) -> Option<i32> {
    let terminating = async {
        loop {
            if let SignalNotice::Terminate(signal) = notices.recv().await? {
                return Some(signal);
            }
        }
    };
    let signal = tokio::time::timeout(PENDING_SIGNAL_TIME, terminating).await;
    signal.ok().flatten()
}

fn handle_terminal_event<I, S: AppServices, D: TerminalDisplay>(
    event: Event,
    is_early: bool,
    context: &mut LoopContext<I, S, D>,
    state: &mut AppState,
) -> Result<LoopStep, LoopError> {
    if let Event::Resize(..) = event {
        return handle_event(AppEvent::ScreenLost, context, state);
    }
    match input::event_of(&event) {
        Some(event) => {
            if is_early {
                app::update(state, AppEvent::ScreenLost);
            }
            handle_event(event, context, state)
        }
        None => Ok(LoopStep::Continue),
    }
}

fn handle_message<I, S: AppServices, D: TerminalDisplay>(
    message: Option<Message>,
    context: &mut LoopContext<I, S, D>,
    state: &mut AppState,
) -> Result<LoopStep, LoopError> {
    match message {
        Some(message) => handle_event(AppEvent::Message(message), context, state),
        None => Ok(LoopStep::Continue),
    }
}

fn handle_event<I, S: AppServices, D: TerminalDisplay>(
    event: AppEvent,
    context: &mut LoopContext<I, S, D>,
    state: &mut AppState,
) -> Result<LoopStep, LoopError> {
    let mut step = LoopStep::Draw;
    for effect in app::update(state, event) {
        match effect {
            Effect::Quit => step = LoopStep::End(LoopEnd::Quit),
            Effect::Redraw => step = LoopStep::Redraw,
            Effect::Suspend => step = LoopStep::Suspend,
            effect => context.services.perform_effect(effect),
        }
    }
    Ok(step)
}
