//! Messages from the services and their effect on the state.

use std::path::{Path, PathBuf};

use crate::app::effect::Effect;
use crate::app::message::Message;
use crate::app::result::{ResultState, SavedRun};
use crate::app::state::{AppState, BenchStage};

/// Applies a message to the state and returns the requested effects.
pub(super) fn handle(state: &mut AppState, news: Message) -> Vec<Effect> {
    match news {
        Message::Snapshot(live) => return state.live.set_snapshot(live),
        Message::Frame(moment) => {
            state.requests.show_frame(moment.requests.clone());
            state.live.show_frame(*moment);
        }
        Message::ReplayFailed(message) => state.show_error(message),
        Message::Requests(view) => state.requests.update_view(view),
        Message::FollowFailed { message, advice } => {
            state.requests.unavailable = Some([message.into(), advice.into()])
        }
        Message::BenchmarkProgress(view) => {
            if let BenchStage::Running(running) = &mut state.bench.stage {
                running.snapshot = Some(view);
            }
        }
        Message::BenchmarkEnded(result) => benchmark_ended(state, *result),
        Message::Targets(choices) => state.bench.launcher.set_targets(choices),
        Message::TargetInspected(result) => state.bench.launcher.set_inspected_target(*result),
        Message::OverwriteImpact(path, stakes) => state.bench.launcher.set_impact(&path, stakes),
        Message::Sessions(entries) => state.sessions.set_entries(entries),
        Message::SessionOpened(result) => match *result {
            Ok((path, session)) => {
                state.sessions.open_result = Some(ResultState::new(session.runs, Some(path)));
            }
            Err(message) => state.show_error(message),
        },
        Message::SessionsCompared(result) => match *result {
            Ok(comparison) => state.sessions.comparison = Some(comparison),
            Err(message) => state.show_error(message),
        },
        Message::SessionExported(result) => session_exported(state, result),
        Message::OpenFiles(pid, files) => state.live.set_open_files(pid, files),
        Message::DeletedFiles(files) => state.live.set_deleted_files(files),
        Message::ProcessActionDone(Ok(text)) => state.show_success(text),
        Message::ProcessActionDone(Err(text)) => state.show_error(text),
        Message::AccountingChanged(Ok(on)) => {
            state.live.accounting_enabled = on;
            let text = if on {
                "I/O wait is counted now, of processes that start from here on; put back at the end"
            } else {
                "kernel.task_delayacct is as it was before"
            };
            state.show_success(text.to_owned());
        }
        Message::AccountingChanged(Err(text)) => state.show_error(text),
    }
    Vec::new()
}

fn benchmark_ended(state: &mut AppState, result: Result<SavedRun, String>) {
    match result {
        Ok(saved) => {
            if let Some(problem) = saved.save_errors.into_iter().next() {
                state.show_error(problem);
            }
            let result = ResultState::new(vec![saved.run], saved.path);
            state.bench.stage = BenchStage::Result(Box::new(result));
        }
        Err(message) => {
            state.bench.stage = BenchStage::Launcher;
            state.bench.launcher.start_error = Some(message);
        }
    }
}

fn session_exported(state: &mut AppState, result: Result<PathBuf, String>) {
    match result {
        Ok(path) => {
            state.show_success(written_message(&path));
            if let Some(result) = state.front_result() {
                result.exported_path = Some(path);
            }
        }
        Err(message) => state.show_error(message),
    }
}

/// Reports where a file was written: the name comes first because the line may be truncated.
fn written_message(path: &Path) -> String {
    match (path.file_name(), path.parent()) {
        (Some(name), Some(directory)) => {
            let name = name.to_string_lossy();
            format!("wrote {name} in {}", directory.display())
        }
        _ => format!("wrote {}", path.display()),
    }
}
