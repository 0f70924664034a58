//! The loop: keys, signals and news in, frames out. Generic over where the keys come from and
//! what is drawn on, so that tests drive this very loop.

use std::io;
use std::time::Duration;

use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::input;
use super::services::{Feeds, Services};
use super::signals::Notice;
use super::terminal::Display;
use crate::app::{self, Action, Effect, News, State};
use crate::ui::{self, Look};

/// Least time between two frames: a slow line is not flooded.
pub const FRAME: Duration = Duration::from_millis(33);
/// So long the first frame waits for the first sample, which is mostly there by then: an empty
/// screen would be replaced at once.
const FIRST_SAMPLE: Duration = Duration::from_millis(20);

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The user quit.
    Quit,
    /// A signal: its number.
    Signal(i32),
    /// There is nobody left to press a key: the terminal is gone.
    InputClosed,
    /// A thread panicked.
    Panicked,
}

/// What made the loop fail.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The terminal could not be read or set.
    #[error("cannot use the terminal: {0}; check that it is still connected")]
    Terminal(#[from] io::Error),
    /// The terminal could not be drawn on.
    #[error("cannot draw on the terminal: {0}; check that it is still connected")]
    Draw(String),
}

/// Everything outside the loop.
pub struct World<I, S, D> {
    /// What the terminal sends.
    pub input: I,
    /// Signals and the like.
    pub notices: mpsc::Receiver<Notice>,
    /// What the services tell.
    pub feeds: Feeds,
    /// Who does what is asked for.
    pub services: S,
    /// The terminal apart from drawing.
    pub display: D,
}

/// What one turn of the loop asks for.
enum Turn {
    Nothing,
    Draw,
    DrawAll,
    End(Ending),
}

/// Runs the interface until it ends.
///
/// # Errors
/// When the terminal fails.
pub async fn run<B, I, S, D>(
    terminal: &mut Terminal<B>,
    world: &mut World<I, S, D>,
    state: &mut State,
    look: &Look,
) -> Result<Ending, LoopError>
where
    B: Backend,
    I: Stream<Item = io::Result<Event>> + Unpin,
    S: Services,
    D: Display,
{
    let mut dirty = true;
    let mut next_frame = Instant::now() + FIRST_SAMPLE;
    loop {
        let turn = tokio::select! {
            biased;
            Some(notice) = world.notices.recv() => heed(notice, &mut world.display)?,
            () = tokio::time::sleep_until(next_frame), if dirty => {
                draw(terminal, state, look)?;
                dirty = false;
                next_frame = Instant::now() + FRAME;
                Turn::Nothing
            }
            event = world.input.next() => match event {
                None => Turn::End(Ending::InputClosed),
                Some(event) => take(event?, world, state)?,
            },
            Some(news) = world.feeds.news.recv() => {
                act(Action::News(news), world, state)?
            }
            Ok(()) = world.feeds.live.changed() => {
                let sample = world.feeds.live.borrow_and_update().clone();
                if state.live.sample.is_none() {
                    next_frame = Instant::now();
                }
                tell(sample.map(News::Sample), world, state)?
            }
            Ok(()) = world.feeds.requests.changed() => {
                let view = world.feeds.requests.borrow_and_update().clone();
                tell(view.map(News::Requests), world, state)?
            }
            Ok(()) = world.feeds.progress.changed() => {
                let view = world.feeds.progress.borrow_and_update().clone();
                tell(view.map(News::Progress), world, state)?
            }
        };
        match turn {
            Turn::Nothing => {}
            Turn::Draw => dirty = true,
            Turn::DrawAll => {
                forget(terminal)?;
                dirty = true;
            }
            Turn::End(ending) => return Ok(ending),
        }
    }
}

fn draw<B: Backend>(
    terminal: &mut Terminal<B>,
    state: &State,
    look: &Look,
) -> Result<(), LoopError> {
    terminal
        .draw(|frame| ui::draw(state, look, frame.area(), frame.buffer_mut()))
        .map_err(failed_to_draw)?;
    Ok(())
}

/// Forgets what is on the screen, so that the next frame draws all of it.
///
/// Not `Terminal::clear`: that asks the terminal where the cursor is, and the answer would go to
/// the input stream.
fn forget<B: Backend>(terminal: &mut Terminal<B>) -> Result<(), LoopError> {
    let size = terminal.size().map_err(failed_to_draw)?;
    terminal.resize(size.into()).map_err(failed_to_draw)
}

fn failed_to_draw(error: impl std::fmt::Display) -> LoopError {
    LoopError::Draw(error.to_string())
}

fn heed(notice: Notice, display: &mut impl Display) -> Result<Turn, LoopError> {
    Ok(match notice {
        Notice::Terminate(signal) => Turn::End(Ending::Signal(signal)),
        Notice::Panicked => Turn::End(Ending::Panicked),
        Notice::Suspend => {
            display.suspend()?;
            Turn::DrawAll
        }
        Notice::Resume => {
            display.resume()?;
            Turn::DrawAll
        }
    })
}

fn take<I, S: Services, D: Display>(
    event: Event,
    world: &mut World<I, S, D>,
    state: &mut State,
) -> Result<Turn, LoopError> {
    if let Event::Resize(..) = event {
        return Ok(Turn::Draw);
    }
    match input::action(&event) {
        Some(action) => act(action, world, state),
        None => Ok(Turn::Nothing),
    }
}

fn tell<I, S: Services, D: Display>(
    news: Option<News>,
    world: &mut World<I, S, D>,
    state: &mut State,
) -> Result<Turn, LoopError> {
    match news {
        Some(news) => act(Action::News(news), world, state),
        None => Ok(Turn::Nothing),
    }
}

fn act<I, S: Services, D: Display>(
    action: Action,
    world: &mut World<I, S, D>,
    state: &mut State,
) -> Result<Turn, LoopError> {
    let mut turn = Turn::Draw;
    for effect in app::update(state, action) {
        match effect {
            Effect::Quit => turn = Turn::End(Ending::Quit),
            Effect::Redraw => turn = Turn::DrawAll,
            Effect::Suspend => {
                world.display.suspend()?;
                turn = Turn::DrawAll;
            }
            effect => world.services.perform(effect),
        }
    }
    Ok(turn)
}
