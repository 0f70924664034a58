//! The Live screen: devices, transfers and processes.

#[rustfmt::skip]
pub mod keys;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::hot_files::HotFilesScope;
use crate::app::live::{LivePane, LiveState};
use crate::app::text::TextInput;
use crate::app::{Dialog, Effect, ProcessAction, ProcessId, ProcessTarget};
use crate::tui::keys::common::FILTER;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::{ScreenState, Shared};
use crate::tui::theme::Theme;
use crate::ui::live as lists;

/// The Live screen, whose state the other screens use as well.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveScreen;

impl ScreenState for LiveScreen {
    fn key_lists(&self, live: &LiveState) -> Vec<&'static KeyList> {
        if live.is_editing_filter {
            return vec![&FILTER];
        }
        let mut lists: Vec<&'static KeyList> = Vec::new();
        if live.timeline.is_some() {
            lists.push(&keys::REPLAY);
        }
        if live.shows_units() {
            lists.push(&keys::UNITS);
        } else if !live.pane.is_lists() {
            lists.push(&keys::PANE);
        }
        lists.push(&keys::LIVE);
        lists
    }

    fn offers(&self, command: KeyCommand, live: &LiveState) -> bool {
        match command {
            KeyCommand::ChooseIoClass | KeyCommand::ChooseSignal | KeyCommand::ShowOpenFiles => {
                matches!(
                    live.pane,
                    LivePane::Lists | LivePane::Process | LivePane::OpenFiles(_)
                )
            }
            _ => true,
        }
    }

    /// Commands with external effects ask for confirmation first.
    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        if let Some(effects) = shared.seek(command) {
            return effects;
        }
        match command {
            // The recorded processes and settings may be of another machine.
            command if command.needs_machine() && shared.is_recording() => {
                shared.show_error("not available in a recording: it shows past snapshots");
            }
            KeyCommand::ChooseIoClass | KeyCommand::ChooseSignal | KeyCommand::ShowOpenFiles
                if !self.offers(command, shared.live) =>
            {
                shared.show_error("no process is selected here: Esc leads back to the lists");
            }
            KeyCommand::ChooseIoClass => choose_action(&ProcessAction::IO_CLASS_CHOICES, shared),
            KeyCommand::ChooseSignal => choose_action(&ProcessAction::SIGNAL_CHOICES, shared),
            KeyCommand::ToggleAccounting if shared.live.accounting_enabled => {
                return vec![Effect::SetAccounting(false)];
            }
            KeyCommand::ToggleAccounting if shared.live.is_accounting_on() => {
                shared.show_success("delay accounting is on already");
            }
            KeyCommand::ToggleAccounting => *shared.dialog = Some(Dialog::ConfirmAccounting),
            KeyCommand::ShowHotFiles => {
                let scope = HotFilesScope::of_live(shared.live);
                return shared.hot_files.open(scope);
            }
            command => return shared.live.handle_command(command),
        }
        Vec::new()
    }

    fn type_input(&mut self, input: TextInput, live: &mut LiveState) {
        live.type_filter(input);
    }

    fn draw(&self, live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
        lists::draw(live, theme, area, buf);
    }
}

/// Asks what is done with the selected process.
fn choose_action(actions: &'static [ProcessAction], shared: &mut Shared<'_>) {
    let Some(process) = shared.live.selected_process() else {
        return shared.show_error("select a process with the arrow keys first");
    };
    if process.exited {
        return shared.show_error("these processes have ended");
    }
    let target = ProcessTarget {
        id: ProcessId {
            pid: process.pid,
            start_ticks: process.start_ticks,
        },
        user: process.user.clone(),
        command: process.command.clone(),
    };
    *shared.dialog = Some(Dialog::ChooseProcessAction(target, actions));
}
