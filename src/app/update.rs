//! What an action does to the state.

use std::path::PathBuf;

use super::action::{Action, Effect, News, Saved};
use super::key::{Code, Key};
use super::keymap::{self, Command, Context};
use super::live::{Deed, Victim};
use super::result::ResultState;
use super::running::RunningState;
use super::{Message, Overlay, Screen, Stage, State};

/// Takes an action, changes the state, and says what shall be done outside.
pub fn update(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Key(key) => press(state, key),
        Action::Paste(text) => {
            if state.context().takes_text() {
                let letters = text.chars().filter(|letter| !letter.is_control());
                letters.for_each(|letter| typed(state, Key::char(letter)));
            }
            Vec::new()
        }
        Action::Wheel { up } => {
            let code = if up { Code::Up } else { Code::Down };
            press(state, Key::new(code))
        }
        Action::News(news) => hear(state, news),
    }
}

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    state.message = None;
    let context = state.context();
    let Some(command) = keymap::find(context, key) else {
        if context.takes_text() {
            typed(state, key);
        }
        return Vec::new();
    };
    match command {
        Command::Quit if state.bench.is_running() => {
            state.overlay = Some(Overlay::QuitWhileRunning);
            Vec::new()
        }
        Command::Quit => vec![Effect::Quit],
        Command::Suspend => vec![Effect::Suspend],
        Command::Redraw => vec![Effect::Redraw],
        Command::Help => {
            state.overlay = Some(Overlay::Help(0));
            Vec::new()
        }
        Command::Show(screen) => show(state, screen),
        Command::Launch => {
            if !state.bench.is_running() {
                state.bench.stage = Stage::Launcher;
            }
            show(state, Screen::Bench)
        }
        command => obey(state, context, command),
    }
}

fn typed(state: &mut State, key: Key) {
    match state.context() {
        Context::Filter if state.screen == Screen::Requests => state.requests.filter.press(key),
        Context::Filter => state.live.filter.press(key),
        Context::Field | Context::Consent => state.bench.launcher.typed(key),
        _ => {}
    }
}

/// Brings a screen to the front; its lists are read anew.
/// Single requests are followed only while they are looked at.
fn show(state: &mut State, screen: Screen) -> Vec<Effect> {
    if state.live.timeline.is_some() && screen != Screen::Live {
        let text = "this is a recording: start diskscope without a command for the rest";
        trouble(state, text.to_owned());
        return Vec::new();
    }
    let before = std::mem::replace(&mut state.screen, screen);
    let mut effects = match screen {
        Screen::Live => Vec::new(),
        Screen::Bench if matches!(state.bench.stage, Stage::Launcher) => vec![Effect::ListTargets],
        Screen::Bench => Vec::new(),
        Screen::Requests if before == screen => Vec::new(),
        Screen::Requests => state.requests.begin(&state.live),
        Screen::Sessions => vec![Effect::ListSessions],
    };
    if before == Screen::Requests && screen != before {
        effects.push(Effect::Follow(None));
    }
    effects
}

/// Obeys a command of the context.
fn obey(state: &mut State, context: Context, command: Command) -> Vec<Effect> {
    match context {
        Context::Help => {
            help(state, command);
            Vec::new()
        }
        Context::Question => {
            let asked = state.overlay.take();
            if command == Command::Yes {
                return answered(asked);
            }
            Vec::new()
        }
        Context::Choice => {
            choose(state, command);
            Vec::new()
        }
        Context::Filter if state.screen == Screen::Requests => {
            state.requests.command(command, &state.live)
        }
        Context::Live | Context::Replay | Context::Filter => live(state, command),
        Context::Requests => state.requests.command(command, &state.live),
        Context::Launcher | Context::Form | Context::Field | Context::Consent => {
            launch(state, command)
        }
        Context::Running => match &mut state.bench.stage {
            Stage::Running(running) => running.command(command),
            _ => Vec::new(),
        },
        Context::Result => result(state, command),
        Context::Sessions => sessions(state, command),
        Context::Comparison => compared(state, command),
        Context::Anywhere => Vec::new(),
    }
}

/// What a yes means.
fn answered(asked: Option<Overlay>) -> Vec<Effect> {
    match asked {
        Some(Overlay::QuitWhileRunning) => vec![Effect::Stop, Effect::Quit],
        Some(Overlay::Confirm(victim, deed)) => vec![Effect::Do(victim, deed)],
        Some(Overlay::Accounting) => vec![Effect::Account(true)],
        _ => Vec::new(),
    }
}

fn choose(state: &mut State, command: Command) {
    let asked = state.overlay.take();
    if let (Some(Overlay::Choose(victim, deeds)), Command::Pick(number)) = (asked, command) {
        let deed = usize::from(number).checked_sub(1);
        let deed = deed.and_then(|place| deeds.get(place));
        state.overlay = deed.map(|deed| Overlay::Confirm(victim, *deed));
    }
}

/// A command of the Live screen; those that change something outside ask before.
fn live(state: &mut State, command: Command) -> Vec<Effect> {
    match command {
        Command::Class => ask(state, &Deed::CLASSES),
        Command::Signal => ask(state, &Deed::SIGNALS),
        Command::Accounting if state.live.accounting => return vec![Effect::Account(false)],
        Command::Accounting => state.overlay = Some(Overlay::Accounting),
        command => return state.live.command(command),
    }
    Vec::new()
}

fn ask(state: &mut State, deeds: &'static [Deed]) {
    let Some(process) = state.live.process() else {
        trouble(
            state,
            "select a process that is listed, with the arrow keys".to_owned(),
        );
        return;
    };
    let victim = Victim {
        pid: process.pid,
        start_ticks: process.start_ticks,
    };
    state.overlay = Some(Overlay::Choose(victim, deeds));
}

fn help(state: &mut State, command: Command) {
    let Some(Overlay::Help(scroll)) = &mut state.overlay else {
        return;
    };
    match command {
        Command::Up => *scroll = scroll.saturating_sub(1),
        Command::Down => *scroll = (*scroll + 1).min(keymap::lines()),
        _ => state.overlay = None,
    }
}

fn launch(state: &mut State, command: Command) -> Vec<Effect> {
    let effects = state.bench.launcher.command(command);
    if let Some(Effect::Start(job)) = effects.first() {
        let running = RunningState::new(Clone::clone(job));
        state.bench.stage = Stage::Running(Box::new(running));
    }
    effects
}

fn result(state: &mut State, command: Command) -> Vec<Effect> {
    if command != Command::Cancel {
        let Some(result) = state.result() else {
            return Vec::new();
        };
        if command == Command::Export && result.path.is_none() {
            trouble(
                state,
                "this session could not be saved: nothing to export".to_owned(),
            );
            return Vec::new();
        }
        return result.command(command);
    }
    if state.screen == Screen::Sessions {
        state.sessions.open = None;
        return Vec::new();
    }
    state.bench.stage = Stage::Launcher;
    vec![Effect::ListTargets]
}

fn sessions(state: &mut State, command: Command) -> Vec<Effect> {
    if command == Command::Compare && state.sessions.marked.len() < 2 {
        let text =
            "mark two sessions or more with the space bar: the first is compared with the rest";
        trouble(state, text.to_owned());
        return Vec::new();
    }
    state.sessions.command(command)
}

fn compared(state: &mut State, command: Command) -> Vec<Effect> {
    if command == Command::Cancel {
        state.sessions.comparison = None;
        return Vec::new();
    }
    let comparison = state.sessions.comparison.as_mut();
    comparison.map_or_else(Vec::new, |comparison| comparison.command(command))
}

fn trouble(state: &mut State, text: String) {
    state.message = Some(Message {
        text,
        trouble: true,
    });
}

fn hear(state: &mut State, news: News) -> Vec<Effect> {
    match news {
        News::Sample(live) => return state.live.sampled(live),
        News::Moment(moment) => state.live.recalled(*moment),
        News::NotReplayed(message) => trouble(state, message),
        News::Requests(view) => state.requests.seen(view),
        News::NotFollowed { message, advice } => state.requests.refused = Some([message, advice]),
        News::Progress(view) => {
            if let Stage::Running(running) = &mut state.bench.stage {
                running.view = Some(view);
            }
        }
        News::Ended(result) => ended(state, *result),
        News::Targets(choices) => state.bench.launcher.listed(choices),
        News::Inspected(result) => state.bench.launcher.inspected(*result),
        News::AtStake(path, stakes) => state.bench.launcher.weighed(&path, stakes),
        News::Sessions(entries) => state.sessions.listed(entries),
        News::Opened(result) => match *result {
            Ok((path, session)) => {
                state.sessions.open = Some(ResultState::new(session.runs, Some(path)));
            }
            Err(message) => trouble(state, message),
        },
        News::Compared(result) => match *result {
            Ok(comparison) => state.sessions.comparison = Some(comparison),
            Err(message) => trouble(state, message),
        },
        News::Exported(result) => exported(state, result),
        News::Files(pid, files) => state.live.listed_files(pid, files),
        News::Deleted(files) => state.live.listed_deleted(files),
        News::Done(Ok(text)) => good(state, text),
        News::Done(Err(text)) => trouble(state, text),
        News::Accounting(Ok(on)) => {
            state.live.accounting = on;
            let text = if on {
                "I/O wait is counted now, of processes that start from here on; put back at the end"
            } else {
                "kernel.task_delayacct is as it was before"
            };
            good(state, text.to_owned());
        }
        News::Accounting(Err(text)) => trouble(state, text),
    }
    Vec::new()
}

fn good(state: &mut State, text: String) {
    state.message = Some(Message {
        text,
        trouble: false,
    });
}

fn ended(state: &mut State, result: Result<Saved, String>) {
    match result {
        Ok(saved) => {
            if let Some(problem) = saved.problems.into_iter().next() {
                trouble(state, problem);
            }
            let result = ResultState::new(vec![saved.run], saved.path);
            state.bench.stage = Stage::Result(Box::new(result));
        }
        Err(message) => {
            state.bench.stage = Stage::Launcher;
            state.bench.launcher.failed = Some(message);
        }
    }
}

fn exported(state: &mut State, result: Result<PathBuf, String>) {
    match result {
        Ok(path) => {
            state.message = Some(Message {
                text: format!("exported to {}", path.display()),
                trouble: false,
            });
            if let Some(result) = state.result() {
                result.exported = Some(path);
            }
        }
        Err(message) => trouble(state, message),
    }
}
