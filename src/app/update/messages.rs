//! Messages from the services and their effect on the state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::error::{ArchiveError, BenchmarkError};
use crate::app::message::Message;
use crate::app::result::{ResultState, SavedRun};
use crate::app::state::AppState;
use crate::tui::screens::bench::BenchStage;
use crate::tui::screens::sessions::SessionEdit;

/// Applies a message to the state and returns the requested effects.
pub(super) fn handle(state: &mut AppState, message: Message) -> Vec<Effect> {
    match message {
        Message::Snapshot(snapshot) => return state.live.set_snapshot(snapshot),
        Message::Frame(frame) => {
            state.requests.show_frame(frame.requests.clone());
            state.why.show_frame(frame.diagnosis.clone());
            state.live.show_frame(*frame);
        }
        Message::FrameFound(Some(found)) => {
            state.live.select_found(&found);
            state.show_success(found.to_string());
        }
        Message::FrameFound(None) => {
            state.show_error("no further snapshot has I/O of a process or a device that matches");
        }
        Message::ReplayFailed(error) => state.show_error(error.to_string()),
        Message::Requests(view) => state.requests.update_view(view),
        Message::HotFiles(result) => state.hot_files.set_view(result),
        Message::Diagnosis(watched) => state.why.update(&watched),
        Message::FollowFailed(unavailable) => state.requests.unavailable = Some(unavailable),
        Message::BenchmarkEvent(event) => {
            if let BenchStage::Running(running) = &mut state.bench.stage {
                running.latest_event = Some(event);
            }
        }
        Message::BenchmarkEnded(result) => benchmark_ended(state, *result),
        Message::Targets(choices) => return state.bench.launcher.set_targets(choices),
        Message::TargetInspected { path, result } => {
            state.bench.launcher.set_inspected_target(&path, *result);
        }
        Message::OverwriteImpact { question, impact } => {
            state.bench.launcher.set_impact(question, impact);
        }
        Message::Sessions(entries) => state.sessions.set_entries(entries),
        Message::SessionEdited(Ok(edit)) => {
            state.show_success(match edit {
                SessionEdit::Deleted => "session deleted",
                SessionEdit::NoteStored => "note saved in the session",
            });
            return vec![Effect::ListSessions];
        }
        Message::SessionEdited(Err(error)) => state.show_error(error.to_string()),
        Message::SessionOpened(result) => match *result {
            Ok(opened) => state.sessions.show_opened(opened),
            Err(error) => state.show_error(error.to_string()),
        },
        Message::SessionsCompared(result) => match *result {
            Ok(comparison) => state.sessions.show_comparison(comparison),
            Err(error) => state.show_error(error.to_string()),
        },
        Message::SessionExported(result) => session_exported(state, result),
        Message::OpenFiles { pid, files } => state.live.set_open_files(pid, files),
        Message::DeletedFiles(files) => state.live.set_deleted_files(files),
        Message::ProcessActionDone(Ok(outcome)) => state.show_success(outcome.to_string()),
        Message::ProcessActionDone(Err(error)) => state.show_error(error.to_string()),
        Message::AccountingChanged(Ok(on)) => {
            state.live.accounting_enabled = on;
            let text = if on {
                "delay accounting is on for processes started from now on; restored on exit"
            } else {
                "kernel.task_delayacct is restored"
            };
            state.show_success(text);
        }
        Message::AccountingChanged(Err(error)) => {
            state.show_error(format!("{error}; {}", error.advice()));
        }
    }
    Vec::new()
}

fn benchmark_ended(state: &mut AppState, result: Result<SavedRun, Arc<BenchmarkError>>) {
    match result {
        Ok(saved) => {
            if let Some(problem) = saved.save_errors.into_iter().next() {
                state.show_error(problem);
            }
            let result = ResultState::new(vec![saved.run], saved.path);
            state.bench.stage = BenchStage::Result(Box::new(result));
        }
        Err(error) => {
            state.bench.stage = BenchStage::Launcher;
            state.bench.launcher.start_error = Some(error);
        }
    }
}

fn session_exported(state: &mut AppState, result: Result<PathBuf, Arc<ArchiveError>>) {
    match result {
        Ok(path) => {
            state.show_success(written_message(&path));
            if let Some(result) = state.front_result() {
                result.exported_path = Some(path);
            }
        }
        Err(error) => state.show_error(error.to_string()),
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
