//! The Bench screen: the launcher, a benchmark that runs, and its result.

#[rustfmt::skip]
pub mod keys;
mod state;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::Effect;
use crate::app::live::LiveState;
use crate::app::text::TextInput;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::{ScreenState, Shared};
use crate::tui::theme::Theme;
use crate::ui::bench;

pub use self::state::{BenchStage, BenchState};

impl ScreenState for BenchState {
    fn key_lists(&self, _live: &LiveState) -> Vec<&'static KeyList> {
        vec![match &self.stage {
            BenchStage::Launcher => self.launcher_keys(),
            BenchStage::Running(_) => &keys::RUNNING,
            BenchStage::Result(_) => &keys::RESULT,
        }]
    }

    fn handle(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        self.handle_command(command, shared)
    }

    fn type_input(&mut self, input: TextInput, _live: &mut LiveState) {
        self.launcher.type_input(input);
    }

    fn show(&mut self, _was_shown: bool, _shared: &mut Shared<'_>) -> Vec<Effect> {
        match self.stage {
            BenchStage::Launcher => vec![Effect::ListTargets],
            BenchStage::Running(_) | BenchStage::Result(_) => Vec::new(),
        }
    }

    fn draw(&self, _live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
        match &self.stage {
            BenchStage::Launcher => bench::launcher::draw(&self.launcher, theme, area, buf),
            BenchStage::Running(running) => bench::running::draw(running, theme, area, buf),
            BenchStage::Result(result) => bench::result::draw(result, theme, area, buf),
        }
    }
}
