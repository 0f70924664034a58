//! A running benchmark.

use std::sync::Arc;

use super::effect::Effect;
use crate::bench::{RunEvent, RunRequest};
use crate::tui::keys::KeyCommand;

/// The view of a running benchmark.
#[derive(Debug, Clone)]
pub struct RunningState {
    /// The benchmark, its target and parameters.
    pub spec: RunRequest,
    /// The latest event; `None` until the first arrives.
    pub latest_event: Option<Arc<RunEvent>>,
    /// Whether the user asked it to stop.
    pub is_stopping: bool,
}

impl RunningState {
    /// Creates the state of a benchmark that was just started.
    #[must_use]
    pub fn new(spec: RunRequest) -> Self {
        Self {
            spec,
            latest_event: None,
            is_stopping: false,
        }
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        if command == KeyCommand::Stop && !self.is_stopping {
            self.is_stopping = true;
            return vec![Effect::StopBenchmark];
        }
        Vec::new()
    }
}
