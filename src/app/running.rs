//! A benchmark that runs.

use std::sync::Arc;

use super::action::{Effect, RunView};
use super::keymap::Command;
use crate::bench::Job;

/// A benchmark that runs.
#[derive(Debug, Clone)]
pub struct RunningState {
    /// What was asked for.
    pub job: Job,
    /// The latest state; `None` until the first arrives.
    pub view: Option<Arc<RunView>>,
    /// Whether it was asked to stop.
    pub stopping: bool,
}

impl RunningState {
    /// A benchmark that was just started.
    #[must_use]
    pub fn new(job: Job) -> Self {
        Self {
            job,
            view: None,
            stopping: false,
        }
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        if command == Command::Stop && !self.stopping {
            self.stopping = true;
            return vec![Effect::Stop];
        }
        Vec::new()
    }
}
