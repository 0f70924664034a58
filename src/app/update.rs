//! The transition function of the state.

mod messages;

use super::dialog::Dialog;
use super::effect::Effect;
use super::help::HelpState;
use super::key::{KeyPress, KeySymbol};
use super::message::AppEvent;
use super::screen::Screen;
use super::shown_frame::ShownFrame;
use super::state::AppState;
use super::text::TextInput;
use crate::tui::keys;
use crate::tui::keys::KeyCommand;
use crate::tui::screens::bench::BenchStage;
use crate::tui::screens::bench::keys::RUNNING;

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
    match keys::find_command(&[], *key) {
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
    state.front_keys() == &RUNNING
}

fn handle_input(state: &mut AppState, event: AppEvent) -> Vec<Effect> {
    match event {
        AppEvent::Key(key) => handle_key(state, key),
        AppEvent::Paste(text) => {
            if state.front_keys().takes_text() {
                let letters = text.chars().filter(|letter| !letter.is_control());
                letters.for_each(|letter| handle_text_input(state, TextInput::Insert(letter)));
            }
            Vec::new()
        }
        AppEvent::Wheel { up } => {
            let code = if up { KeySymbol::Up } else { KeySymbol::Down };
            // In a field these keys move the text cursor.
            match keys::find_command(&state.key_lists(), KeyPress::new(code)) {
                Some(KeyCommand::EditText(_)) | None => Vec::new(),
                Some(_) => handle_key(state, KeyPress::new(code)),
            }
        }
        AppEvent::FrameShown(_) | AppEvent::ScreenLost | AppEvent::Message(_) => Vec::new(),
    }
}

fn handle_key(state: &mut AppState, key: KeyPress) -> Vec<Effect> {
    state.status_message = None;
    let lists = state.key_lists();
    let is_question = state.front_keys().is_question();
    if is_question && !state.may_answer_question() && !leaves_unseen_question(key) {
        return Vec::new();
    }
    let Some(command) = keys::find_command(&lists, key) else {
        if is_question {
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
            state.help = HelpState::new(lists);
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
        command => dispatch(state, command),
    }
}

/// Whether a key acts before a question was shown: Escape, which closes it, and the keys with Ctrl,
/// which answer none.
fn leaves_unseen_question(key: KeyPress) -> bool {
    key.control || key.code == KeySymbol::Esc
}

fn handle_text_input(state: &mut AppState, input: TextInput) {
    if !state.front_keys().takes_text() {
        return;
    }
    if state.dialog.is_some() {
        return state.help.type_input(input);
    }
    if state.is_replay_field_open() {
        if let Some(timeline) = &mut state.live.timeline {
            timeline.type_input(input);
        }
        return;
    }
    let (screen, shared) = state.split(state.screen);
    screen.type_input(input, shared.live);
}

/// Shows a screen, or reloads its lists.
fn show_screen(state: &mut AppState, screen: Screen) -> Vec<Effect> {
    let timeline = state.live.timeline.as_ref();
    if let Some(text) = timeline.and_then(|timeline| timeline.unavailable_reason(screen)) {
        state.show_error(text);
        return Vec::new();
    }
    let before = std::mem::replace(&mut state.screen, screen);
    let (shown, mut shared) = state.split(screen);
    let mut effects = shown.show(before == screen, &mut shared);
    if before != screen {
        let (left, mut shared) = state.split(before);
        effects.extend(left.leave(&mut shared));
        effects.extend(state.hot_files.close());
    }
    effects
}

/// Handles a command of the keys that apply: of the dialog, of what covers the screen, or of the
/// screen.
fn dispatch(state: &mut AppState, command: KeyCommand) -> Vec<Effect> {
    match &state.dialog {
        Some(Dialog::Help) => {
            if !state.help.handle_command(command) {
                state.dialog = None;
            }
            return Vec::new();
        }
        Some(Dialog::ChooseProcessAction(..)) => {
            handle_choice(state, command);
            return Vec::new();
        }
        Some(_) => {
            let dialog = state.dialog.take();
            return match command {
                KeyCommand::Confirm => confirmed_effects(dialog),
                _ => Vec::new(),
            };
        }
        None if state.is_replay_field_open() => return handle_replay_field(state, command),
        None if state.hot_files.is_shown() => return state.hot_files.handle_command(command),
        None => {}
    }
    let (screen, mut shared) = state.split(state.screen);
    screen.handle(command, &mut shared)
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
