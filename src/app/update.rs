//! The transition function of the state.

mod messages;

use super::dialog::Dialog;
use super::effect::Effect;
use super::help::HelpState;
use super::hot_files::HotFilesScope;
use super::key::{KeyPress, KeySymbol};
use super::keymap;
use super::keymap::{KeyCommand, KeyContext};
use super::message::AppEvent;
use super::process_action::{ProcessAction, ProcessId, ProcessTarget};
use super::running::RunningState;
use super::screen::Screen;
use super::shown_frame::ShownFrame;
use super::state::{AppState, BenchStage};
use super::text::TextInput;

/// Applies an event to the state and returns the requested effects.
pub fn update(state: &mut AppState, event: AppEvent) -> Vec<Effect> {
    let effects = match event {
        AppEvent::FrameShown(frame) => {
            state.record_shown_frame(frame);
            Vec::new()
        }
        AppEvent::ScreenLost => {
            state.forget_shown_question();
            Vec::new()
        }
        AppEvent::Message(message) => messages::handle(state, message),
        input if state.shown_frame == ShownFrame::TooSmall => handle_unseen_input(state, &input),
        input => handle_input(state, input),
    };
    state.forget_closed_question();
    effects
}

/// Handles input where the terminal is too small to show what it would change: the keys that the
/// message names, Escape where it leads back, and the keys of the terminal.
fn handle_unseen_input(state: &mut AppState, input: &AppEvent) -> Vec<Effect> {
    let AppEvent::Key(key) = input else {
        return Vec::new();
    };
    match keymap::find_command(KeyContext::Global, *key) {
        // No question can be shown; the message says that the benchmark is stopped.
        Some(KeyCommand::Quit) if state.bench.is_running() => {
            vec![Effect::StopBenchmark, Effect::Quit]
        }
        Some(KeyCommand::Quit) => vec![Effect::Quit],
        Some(KeyCommand::Suspend) => vec![Effect::Suspend],
        Some(KeyCommand::Redraw) => vec![Effect::Redraw],
        _ if *key == KeyPress::new(KeySymbol::Esc) && !would_stop_benchmark(state) => {
            handle_key(state, *key)
        }
        _ => Vec::new(),
    }
}

/// Whether Escape would stop the benchmark that runs, which the message does not say.
fn would_stop_benchmark(state: &AppState) -> bool {
    state.key_context() == KeyContext::Running
}

fn handle_input(state: &mut AppState, event: AppEvent) -> Vec<Effect> {
    let effects = apply_input(state, event);
    state.sessions.await_views(&effects);
    effects
}

fn apply_input(state: &mut AppState, event: AppEvent) -> Vec<Effect> {
    match event {
        AppEvent::Key(key) => handle_key(state, key),
        AppEvent::Paste(text) => {
            if state.key_context().takes_text() {
                let letters = text.chars().filter(|letter| !letter.is_control());
                letters.for_each(|letter| handle_text_input(state, TextInput::Insert(letter)));
            }
            Vec::new()
        }
        AppEvent::Wheel { up } => {
            let code = if up { KeySymbol::Up } else { KeySymbol::Down };
            // In a field these keys move the text cursor.
            match keymap::find_command(state.key_context(), KeyPress::new(code)) {
                Some(KeyCommand::EditText(_)) | None => Vec::new(),
                Some(_) => handle_key(state, KeyPress::new(code)),
            }
        }
        AppEvent::FrameShown(_) | AppEvent::ScreenLost | AppEvent::Message(_) => Vec::new(),
    }
}

fn handle_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    state.status_message = None;
    let context = state.key_context();
    if context.is_question() && !state.may_answer_question() && !leaves_unseen_question(key) {
        return Vec::new();
    }
    let Some(command) = keymap::find_command(context, key) else {
        if context.is_question() {
            state.close_question();
        } else if let Some(input) = TextInput::from_key(key) {
            handle_text_input(state, input);
        }
        return Vec::new();
    };
    match command {
        KeyCommand::EditText(edit) => {
            handle_text_input(state, TextInput::Edit(edit));
            Vec::new()
        }
        KeyCommand::Quit if state.bench.is_running() => {
            state.dialog = Some(Dialog::ConfirmQuit);
            Vec::new()
        }
        KeyCommand::Quit => vec![Effect::Quit],
        KeyCommand::Suspend => vec![Effect::Suspend],
        KeyCommand::Redraw => vec![Effect::Redraw],
        KeyCommand::ToggleHelp => {
            state.help = HelpState::new(context);
            state.dialog = Some(Dialog::Help);
            Vec::new()
        }
        KeyCommand::ShowScreen(screen) => show_screen(state, screen),
        KeyCommand::ShowLauncher => {
            if !state.bench.is_running() {
                state.bench.stage = BenchStage::Launcher;
            }
            show_screen(state, Screen::Bench)
        }
        command => dispatch(state, context, command),
    }
}

/// Whether a key acts before a question was shown: Escape, which closes it, and the keys with Ctrl,
/// which answer none.
fn leaves_unseen_question(key: KeyPress) -> bool {
    key.control || key.code == KeySymbol::Esc
}

fn handle_text_input(state: &mut AppState, input: TextInput) {
    match state.key_context() {
        KeyContext::HelpSearch => state.help.type_input(input),
        KeyContext::ReplayField => {
            if let Some(timeline) = &mut state.live.timeline {
                timeline.type_input(input);
            }
        }
        KeyContext::Filter if state.screen == Screen::Requests => {
            state.requests.filter.apply_input(input)
        }
        KeyContext::Filter | KeyContext::Note if state.screen == Screen::Sessions => {
            state.sessions.type_input(input);
        }
        KeyContext::Filter => state.live.type_filter(input),
        KeyContext::Search | KeyContext::Field | KeyContext::OverwriteConsent => {
            state.bench.launcher.type_input(input);
        }
        _ => {}
    }
}

/// Shows a screen and reloads its lists. Requests are traced only while their screen is shown.
fn show_screen(state: &mut AppState, screen: Screen) -> Vec<Effect> {
    let timeline = state.live.timeline.as_ref();
    let is_recording = timeline.is_some();
    if let Some(text) = timeline.and_then(|timeline| timeline.unavailable_reason(screen)) {
        state.show_error(text);
        return Vec::new();
    }
    let before = std::mem::replace(&mut state.screen, screen);
    let closed = match before == screen {
        true => Vec::new(),
        false => state.hot_files.close(),
    };
    let mut effects = match screen {
        Screen::Live => Vec::new(),
        Screen::Bench if matches!(state.bench.stage, BenchStage::Launcher) => {
            vec![Effect::ListTargets]
        }
        Screen::Bench => Vec::new(),
        Screen::Requests if is_recording || before == screen => Vec::new(),
        Screen::Requests => state.requests.start_following(&state.live),
        Screen::Sessions => vec![Effect::ListSessions],
        Screen::Why if is_recording => Vec::new(),
        Screen::Why => vec![Effect::WatchCauses(true)],
    };
    if before == Screen::Why && screen != before && !is_recording {
        effects.extend(state.why.leave());
    }
    if before == Screen::Requests && screen != before && !is_recording {
        effects.push(Effect::FollowRequests(None));
    }
    effects.extend(closed);
    effects
}

/// Handles a command of the context.
fn dispatch(state: &mut AppState, context: KeyContext, command: KeyCommand) -> Vec<Effect> {
    match context {
        KeyContext::Help | KeyContext::HelpSearch => {
            handle_help(state, command);
            Vec::new()
        }
        KeyContext::Question | KeyContext::DestructiveQuestion => {
            let dialog = state.dialog.take();
            if command == KeyCommand::Confirm {
                return confirmed_effects(dialog);
            }
            Vec::new()
        }
        KeyContext::ChoiceList => {
            handle_choice(state, command);
            Vec::new()
        }
        KeyContext::Filter if state.screen == Screen::Requests => {
            state.requests.handle_command(command, &state.live)
        }
        KeyContext::Filter if state.screen == Screen::Sessions => handle_sessions(state, command),
        KeyContext::HotFiles | KeyContext::HotFilesUnavailable => {
            state.hot_files.handle_command(command)
        }
        KeyContext::Live | KeyContext::LivePane | KeyContext::Units
            if command == KeyCommand::ShowHotFiles =>
        {
            state.hot_files.open(HotFilesScope::of_live(&state.live))
        }
        KeyContext::Requests | KeyContext::RequestsAwaited
            if command == KeyCommand::ShowHotFiles =>
        {
            let device = state.requests.device.as_ref();
            let scope = HotFilesScope::of_device(&state.live, device);
            state.hot_files.open(scope)
        }
        KeyContext::ReplayField => handle_replay_field(state, command),
        // The recorded processes and settings may be of another machine.
        KeyContext::Replay if command.needs_machine() => {
            state.show_error("not available in a recording: it shows past snapshots");
            Vec::new()
        }
        KeyContext::Live
        | KeyContext::LivePane
        | KeyContext::Units
        | KeyContext::Replay
        | KeyContext::Filter => handle_live(state, command),
        KeyContext::Requests | KeyContext::RequestsAwaited | KeyContext::RequestsUnavailable => {
            state.requests.handle_command(command, &state.live)
        }
        KeyContext::RecordedRequests => handle_recorded_requests(state, command),
        KeyContext::Why => state.why.handle_command(command),
        KeyContext::RecordedWhy => handle_recorded_why(state, command),
        KeyContext::Launcher
        | KeyContext::Search
        | KeyContext::Form
        | KeyContext::Field
        | KeyContext::OverwriteConsent
        | KeyContext::OverwriteRefused => handle_launcher(state, command),
        KeyContext::Running => match &mut state.bench.stage {
            BenchStage::Running(running) => running.handle_command(command),
            _ => Vec::new(),
        },
        KeyContext::Result => handle_result(state, command),
        KeyContext::Sessions | KeyContext::Note | KeyContext::Deletion => {
            handle_sessions(state, command)
        }
        KeyContext::Comparison => handle_comparison(state, command),
        KeyContext::Global | KeyContext::TextEditing => Vec::new(),
    }
}

/// Handles a command while a time or a search is typed below the time line.
fn handle_replay_field(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    let Some(timeline) = &mut state.live.timeline else {
        return Vec::new();
    };
    match timeline.handle_input_command(command) {
        Ok(effects) => effects,
        Err(error) => {
            state.show_error(error.to_string());
            Vec::new()
        }
    }
}

/// Handles a command of the Requests screen in a recording, where no device can be traced.
fn handle_recorded_requests(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    let timeline = state.live.timeline.as_mut();
    if let Some(effects) = timeline.and_then(|timeline| timeline.handle_command(command)) {
        return effects;
    }
    match command {
        KeyCommand::Next | KeyCommand::Previous | KeyCommand::ReloadList => Vec::new(),
        command => state.requests.handle_command(command, &state.live),
    }
}

/// Handles a command of the Why screen in a recording, whose requests cannot be traced any more.
fn handle_recorded_why(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    let timeline = state.live.timeline.as_mut();
    if let Some(effects) = timeline.and_then(|timeline| timeline.handle_command(command)) {
        return effects;
    }
    match command {
        KeyCommand::ToggleTrace => Vec::new(),
        command => state.why.handle_command(command),
    }
}

/// The effects of confirming a dialog.
fn confirmed_effects(dialog: Option<Dialog>) -> Vec<Effect> {
    match dialog {
        Some(Dialog::ConfirmQuit) => vec![Effect::StopBenchmark, Effect::Quit],
        Some(Dialog::ConfirmProcessAction(process, action)) => {
            vec![Effect::ApplyProcessAction(process.id, action)]
        }
        Some(Dialog::ConfirmAccounting) => vec![Effect::SetAccounting(true)],
        _ => Vec::new(),
    }
}

fn handle_choice(state: &mut AppState, command: KeyCommand) {
    let dialog = state.dialog.take();
    if let (Some(Dialog::ChooseProcessAction(process, actions)), KeyCommand::PickChoice(number)) =
        (dialog, command)
    {
        let index = usize::from(number).checked_sub(1);
        let action = index.and_then(|index| actions.get(index));
        state.dialog = action.map(|action| Dialog::ConfirmProcessAction(process, *action));
    }
}

/// Handles a command of the Live screen; commands with external effects ask for confirmation first.
fn handle_live(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    match command {
        KeyCommand::ChooseIoClass | KeyCommand::ChooseSignal | KeyCommand::ShowOpenFiles
            if !state.is_applicable(command) =>
        {
            state.show_error("no process is selected here: Esc leads back to the lists");
        }
        KeyCommand::ChooseIoClass => open_action_choice(state, &ProcessAction::IO_CLASS_CHOICES),
        KeyCommand::ChooseSignal => open_action_choice(state, &ProcessAction::SIGNAL_CHOICES),
        KeyCommand::ToggleAccounting if state.live.accounting_enabled => {
            return vec![Effect::SetAccounting(false)];
        }
        KeyCommand::ToggleAccounting if state.live.is_accounting_on() => {
            state.show_success("delay accounting is on already");
        }
        KeyCommand::ToggleAccounting => state.dialog = Some(Dialog::ConfirmAccounting),
        KeyCommand::NextTrigger | KeyCommand::PreviousTrigger => {
            let effects = state.live.handle_command(command);
            if effects.is_empty() {
                state.show_error(match command {
                    KeyCommand::NextTrigger => "no later trigger in the recording",
                    _ => "no earlier trigger in the recording",
                });
            }
            return effects;
        }
        command => return state.live.handle_command(command),
    }
    Vec::new()
}

fn open_action_choice(state: &mut AppState, actions: &'static [ProcessAction]) {
    let Some(process) = state.live.selected_process() else {
        state.show_error("select a process with the arrow keys first");
        return;
    };
    if process.exited {
        state.show_error("these processes have ended");
        return;
    }
    let target = ProcessTarget {
        id: ProcessId {
            pid: process.pid,
            start_ticks: process.start_ticks,
        },
        user: process.user.clone(),
        command: process.command.clone(),
    };
    state.dialog = Some(Dialog::ChooseProcessAction(target, actions));
}

fn handle_help(state: &mut AppState, command: KeyCommand) {
    if !state.help.handle_command(command) {
        state.dialog = None;
    }
}

fn handle_launcher(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    let effects = state.bench.launcher.handle_command(command);
    if let Some(Effect::StartBenchmark(spec)) = effects.first() {
        let running = RunningState::new(Clone::clone(spec));
        state.bench.stage = BenchStage::Running(Box::new(running));
    }
    effects
}

fn handle_result(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    if command != KeyCommand::Cancel {
        let Some(result) = state.front_result() else {
            return Vec::new();
        };
        let writes = matches!(command, KeyCommand::ExportSession | KeyCommand::WriteReport);
        if writes && result.path.is_none() {
            state.show_error("this session was not saved: there is nothing to export");
            return Vec::new();
        }
        return result.handle_command(command);
    }
    if state.screen == Screen::Sessions {
        state.sessions.open_result = None;
        return Vec::new();
    }
    state.bench.stage = BenchStage::Launcher;
    vec![Effect::ListTargets]
}

fn handle_sessions(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    if command == KeyCommand::CompareMarked && state.sessions.marked_paths.len() < 2 {
        state.show_error("mark two or more sessions with the space bar: the first is the baseline");
        return Vec::new();
    }
    if command == KeyCommand::WriteReport && state.sessions.report_paths().is_empty() {
        state.show_error("there is no session to report");
        return Vec::new();
    }
    state.sessions.handle_command(command)
}

fn handle_comparison(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    if command == KeyCommand::Cancel {
        state.sessions.comparison = None;
        return Vec::new();
    }
    let comparison = state.sessions.comparison.as_mut();
    comparison.map_or_else(Vec::new, |comparison| comparison.handle_command(command))
}
