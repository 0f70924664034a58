//! Saved sessions: listed, read, exported.

use std::path::{Path, PathBuf};

use crate::app::SessionEntry;
use crate::app::comparison::ComparisonState;
use crate::named_file::{self, OutputError};
use crate::safe_text::SafeText;
use crate::session::compare::{self, Input};
use crate::session::document::{Run, RunState, Session};
use crate::session::store;

/// Sessions that are listed at most: each is read for its line.
const LISTED: usize = 200;

/// The saved sessions, the latest first. What cannot be read is listed with the reason.
///
/// # Errors
/// When the directory cannot be read.
pub fn list(directory: &Path) -> Result<Vec<SessionEntry>, String> {
    let paths = store::list(directory).map_err(|error| error.to_string())?;
    let entry = |path: PathBuf| match store::load(&path) {
        Ok(session) => entry(path, &session),
        Err(error) => SessionEntry {
            path,
            started: SafeText::new(),
            summary: error.to_string().into(),
            headline: SafeText::new(),
            state: "unreadable".into(),
        },
    };
    Ok(paths.into_iter().take(LISTED).map(entry).collect())
}

fn entry(path: PathBuf, session: &Session) -> SessionEntry {
    let last = session.runs.last();
    let state = last.map_or("empty", |run| match run.state {
        RunState::Running => "cut off",
        RunState::Finished => "finished",
        RunState::Interrupted => "interrupted",
        RunState::Failed => "failed",
    });
    let runs: Vec<_> = session
        .runs
        .iter()
        .map(|run| format!("{} of {}", run.test, run.target.path))
        .collect();
    SessionEntry {
        path,
        started: session.started.clone(),
        summary: runs.join(", ").into(),
        headline: last.and_then(headline).unwrap_or_default().into(),
        state: state.into(),
    }
}

/// The first of the figures that the test is made for.
fn headline(run: &Run) -> Option<String> {
    let names = crate::bench::find(&run.test)?.description().headline;
    let figure = names.iter().find_map(|name| run.findings.figure(name))?;
    Some(figure.text())
}

/// Reads a session.
///
/// # Errors
/// When it cannot be read.
pub fn open(path: PathBuf) -> Result<(PathBuf, Session), String> {
    match store::load(&path) {
        Ok(session) => Ok((path, session)),
        Err(error) => Err(error.to_string()),
    }
}

/// Compares saved sessions with the first of them; parameters of these names may differ.
///
/// # Errors
/// When one cannot be read.
pub fn compare(paths: Vec<PathBuf>, passed_over: Vec<String>) -> Result<ComparisonState, String> {
    let load = |path: &PathBuf| store::load(path).map_err(|error| error.to_string());
    let sessions: Vec<Session> = paths.iter().map(load).collect::<Result<_, _>>()?;
    let names: Vec<String> = paths.iter().map(|path| stem(path)).collect();
    let inputs: Vec<Input<'_>> = sessions
        .iter()
        .zip(&names)
        .map(|(session, name)| Input { name, session })
        .collect();
    let comparison = compare::compare(&inputs, &passed_over);
    Ok(ComparisonState::new(paths, passed_over, comparison))
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "session".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// Writes a saved session as a document into `directory`; an existing file is left alone and the
/// name gets a number. Only its owner may read it.
///
/// # Errors
/// When it cannot be read or written.
pub fn export(path: &Path, directory: &Path) -> Result<PathBuf, String> {
    let session = store::load(path).map_err(|error| error.to_string())?;
    let text = store::text(&session).map_err(|error| error.to_string())?;
    let stem = stem(path);
    for number in 0..1000 {
        let free = match number {
            0 => directory.join(format!("diskscope-{stem}.json")),
            number => directory.join(format!("diskscope-{stem}-{number}.json")),
        };
        match named_file::write_private(&free, &text) {
            Ok(()) => return Ok(free),
            Err(OutputError::Exists { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let directory = directory.display();
    Err(format!("{directory} is full of exports: move some away"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample;

    #[test]
    fn saved_sessions_are_compared_with_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let saved = |name: &str, iops: f64| {
            let session = sample::session("web-07", vec![sample::run("iops", iops, 1.0)]);
            let path = directory.path().join(name);
            std::fs::write(&path, store::text(&session).unwrap()).unwrap();
            path
        };
        let paths = vec![saved("before.json", 100.0), saved("after.json", 150.0)];
        let compared = compare(paths.clone(), Vec::new()).unwrap();
        assert_eq!(compared.comparison.sides[1].name, "after");
        let iops = &compared.front().unwrap().figures[0];
        let against = iops.sides[1].as_ref().unwrap().against_first.as_ref();
        assert!((against.unwrap().ratio - 1.5).abs() < 1e-9);

        let missing = directory.path().join("gone.json");
        let message = compare(vec![paths[0].clone(), missing], Vec::new()).unwrap_err();
        assert!(message.contains("gone.json"), "{message}");
    }
}
