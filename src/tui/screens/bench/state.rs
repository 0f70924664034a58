//! State of the Bench screen.

use crate::app::Effect;
use crate::app::launcher::{LauncherPane, LauncherState};
use crate::app::result::ResultState;
use crate::app::running::RunningState;
use crate::tui::keys::{KeyCommand, KeyList};
use crate::tui::screens::Shared;
use crate::tui::screens::bench::keys;

/// Stage of the Bench screen.
#[derive(Debug, Clone)]
pub enum BenchStage {
    /// Selection of target, benchmark and parameters.
    Launcher,
    /// A benchmark is running.
    Running(Box<RunningState>),
    /// The result is shown.
    Result(Box<ResultState>),
}

/// The Bench screen.
#[derive(Debug, Clone)]
pub struct BenchState {
    /// The launcher: kept while a benchmark runs.
    pub launcher: LauncherState,
    /// The current stage.
    pub stage: BenchStage,
}

impl BenchState {
    /// Whether a benchmark runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.stage, BenchStage::Running(_))
    }

    /// The keys of the launcher.
    pub(super) fn launcher_keys(&self) -> &'static KeyList {
        match &self.launcher.overwrite_question {
            Some(question) if question.is_refused() => &keys::OVERWRITE_REFUSED,
            Some(_) => &keys::OVERWRITE_CONSENT,
            None if self.launcher.search.is_some() => &keys::SEARCH,
            None if self.launcher.form.editor.is_some() => &keys::FIELD,
            None if self.launcher.pane == LauncherPane::Form => &keys::FORM,
            None => &keys::LAUNCHER,
        }
    }

    /// Handles a command of the stage.
    pub(super) fn handle_command(
        &mut self,
        command: KeyCommand,
        shared: &mut Shared<'_>,
    ) -> Vec<Effect> {
        match &mut self.stage {
            BenchStage::Launcher => {
                let effects = self.launcher.handle_command(command);
                if let Some(Effect::StartBenchmark(spec)) = effects.first() {
                    let running = RunningState::new(Clone::clone(spec));
                    self.stage = BenchStage::Running(Box::new(running));
                }
                effects
            }
            BenchStage::Running(running) => running.handle_command(command),
            BenchStage::Result(_) if command == KeyCommand::Cancel => {
                self.stage = BenchStage::Launcher;
                vec![Effect::ListTargets]
            }
            BenchStage::Result(result) => result.handle_command(command, shared),
        }
    }
}
