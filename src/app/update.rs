//! What an action does to the state.

use super::action::{Action, Effect};
use super::key::{Code, Key};
use super::keymap::{self, Command, Context};
use super::live::{Deed, Victim};
use super::running::RunningState;
use super::text::TextInput;
use super::{Overlay, Screen, Stage, State, news};

/// Takes an action, changes the state, and says what shall be done outside.
pub fn update(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Key(key) => press(state, key),
        Action::Paste(text) => {
            if state.context().takes_text() {
                let letters = text.chars().filter(|letter| !letter.is_control());
                letters.for_each(|letter| typed(state, TextInput::Insert(letter)));
            }
            Vec::new()
        }
        Action::Wheel { up } => {
            let code = if up { Code::Up } else { Code::Down };
            // In a field these keys move the cursor of the text.
            match keymap::find(state.context(), Key::new(code)) {
                Some(Command::Edit(_)) => Vec::new(),
                _ => press(state, Key::new(code)),
            }
        }
        Action::News(news) => news::hear(state, news),
    }
}

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    state.message = None;
    let context = state.context();
    let Some(command) = keymap::find(context, key) else {
        if let Some(input) = TextInput::of_key(key) {
            typed(state, input);
        }
        return Vec::new();
    };
    match command {
        Command::Edit(edit) => {
            typed(state, TextInput::Edit(edit));
            Vec::new()
        }
        Command::Quit if state.bench.is_running() => {
            state.overlay = Some(Overlay::QuitWhileRunning);
            Vec::new()
        }
        Command::Quit => vec![Effect::Quit],
        Command::Suspend => vec![Effect::Suspend],
        Command::Redraw => vec![Effect::Redraw],
        Command::Help => {
            state.help.reset();
            state.overlay = Some(Overlay::Help);
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

fn typed(state: &mut State, input: TextInput) {
    match state.context() {
        Context::Filter if state.screen == Screen::Requests => state.requests.filter.press(input),
        Context::Filter => state.live.filter.press(input),
        Context::Search | Context::Field | Context::Consent => {
            state.bench.launcher.typed(input);
        }
        _ => {}
    }
}

/// Brings a screen to the front; its lists are read anew.
/// Single requests are followed only while they are looked at.
fn show(state: &mut State, screen: Screen) -> Vec<Effect> {
    if let Some(timeline) = &state.live.timeline {
        match timeline.refusal(screen) {
            Some(text) => state.trouble(text.to_owned()),
            None => state.screen = screen,
        }
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
        Context::Recorded => recorded(state, command),
        Context::Launcher | Context::Search | Context::Form | Context::Field | Context::Consent => {
            launch(state, command)
        }
        Context::Running => match &mut state.bench.stage {
            Stage::Running(running) => running.command(command),
            _ => Vec::new(),
        },
        Context::Result => result(state, command),
        Context::Sessions => sessions(state, command),
        Context::Comparison => compared(state, command),
        Context::Anywhere | Context::Text => Vec::new(),
    }
}

/// A command of the Requests screen in a recording: there is nothing to follow.
fn recorded(state: &mut State, command: Command) -> Vec<Effect> {
    let travel = state.live.timeline.as_ref();
    if let Some(effects) = travel.and_then(|timeline| timeline.command(command)) {
        return effects;
    }
    match command {
        Command::Next | Command::Previous | Command::Reload => Vec::new(),
        command => state.requests.command(command, &state.live),
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
        state.trouble("select a process that is listed, with the arrow keys".to_owned());
        return;
    };
    let victim = Victim {
        pid: process.pid,
        start_ticks: process.start_ticks,
    };
    state.overlay = Some(Overlay::Choose(victim, deeds));
}

fn help(state: &mut State, command: Command) {
    match command {
        Command::Cancel => state.overlay = None,
        movement => state.help.scroll(movement),
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
        let writes = matches!(command, Command::Export | Command::Report);
        if writes && result.path.is_none() {
            state.trouble("this session could not be saved: nothing to export".to_owned());
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
        state.trouble(text.to_owned());
        return Vec::new();
    }
    if command == Command::Report && state.sessions.reported().is_empty() {
        state.trouble("there is no session to report".to_owned());
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
