//! What the services tell, and what it does to the state.

use std::path::{Path, PathBuf};

use super::action::{Effect, News, Saved};
use super::result::ResultState;
use super::{Stage, State};

/// Takes news; what shall be done about them outside is returned.
pub(super) fn hear(state: &mut State, news: News) -> Vec<Effect> {
    match news {
        News::Sample(live) => return state.live.sampled(live),
        News::Moment(moment) => {
            state.requests.recalled(moment.requests.clone());
            state.live.recalled(*moment);
        }
        News::NotReplayed(message) => state.trouble(message),
        News::Requests(view) => state.requests.seen(view),
        News::NotFollowed { message, advice } => {
            state.requests.refused = Some([message.into(), advice.into()])
        }
        News::Progress(view) => {
            if let Stage::Running(running) = &mut state.bench.stage {
                running.view = Some(view);
            }
        }
        News::Ended(result) => ended(state, *result),
        News::Targets(choices) => state.bench.launcher.listed(choices),
        News::Inspected(result) => state.bench.launcher.inspected(*result),
        News::AtStake(path, stakes) => state.bench.launcher.weighed(&path, stakes),
        News::Sessions(entries) => state.sessions.listed(entries),
        News::Opened(result) => match *result {
            Ok((path, session)) => {
                state.sessions.open = Some(ResultState::new(session.runs, Some(path)));
            }
            Err(message) => state.trouble(message),
        },
        News::Compared(result) => match *result {
            Ok(comparison) => state.sessions.comparison = Some(comparison),
            Err(message) => state.trouble(message),
        },
        News::Exported(result) => exported(state, result),
        News::Files(pid, files) => state.live.listed_files(pid, files),
        News::Deleted(files) => state.live.listed_deleted(files),
        News::Done(Ok(text)) => state.good(text),
        News::Done(Err(text)) => state.trouble(text),
        News::Accounting(Ok(on)) => {
            state.live.accounting = on;
            let text = if on {
                "I/O wait is counted now, of processes that start from here on; put back at the end"
            } else {
                "kernel.task_delayacct is as it was before"
            };
            state.good(text.to_owned());
        }
        News::Accounting(Err(text)) => state.trouble(text),
    }
    Vec::new()
}

fn ended(state: &mut State, result: Result<Saved, String>) {
    match result {
        Ok(saved) => {
            if let Some(problem) = saved.problems.into_iter().next() {
                state.trouble(problem);
            }
            let result = ResultState::new(vec![saved.run], saved.path);
            state.bench.stage = Stage::Result(Box::new(result));
        }
        Err(message) => {
            state.bench.stage = Stage::Launcher;
            state.bench.launcher.failed = Some(message);
        }
    }
}

fn exported(state: &mut State, result: Result<PathBuf, String>) {
    match result {
        Ok(path) => {
            state.good(written(&path));
            if let Some(result) = state.result() {
                result.exported = Some(path);
            }
        }
        Err(message) => state.trouble(message),
    }
}

/// Where a file was written: the name first, since the line may be cut at its end.
fn written(path: &Path) -> String {
    match (path.file_name(), path.parent()) {
        (Some(name), Some(directory)) => {
            let name = name.to_string_lossy();
            format!("wrote {name} in {}", directory.display())
        }
        _ => format!("wrote {}", path.display()),
    }
}
