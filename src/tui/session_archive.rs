//! Lists, reads and exports saved sessions.

use std::path::{Path, PathBuf};

use crate::app::SessionEntry;
use crate::app::error::ArchiveError;
use crate::files::error::FileError;
use crate::files::output;
use crate::files::safe_text::SafeText;
use crate::report::html;
use crate::session::compare;
use crate::session::compare::{ComparisonInput, format_parameters};
use crate::session::document::{BenchmarkRun, Session};
use crate::session::store;
use crate::tui::screens::sessions::ComparisonState;
use crate::tui::screens::sessions::{OpenedSession, SessionStatus};

/// Maximum number of listed sessions: each is read for its line.
const MAX_LISTED_SESSIONS: usize = 200;
/// Maximum number of exports of one session in a directory.
const MAX_EXPORTS: u32 = 1000;

/// The saved sessions, the latest first. Unreadable sessions are listed with the reason.
///
/// # Errors
///
/// When the directory cannot be read.
pub fn list_sessions(directory: &Path) -> Result<Vec<SessionEntry>, ArchiveError> {
    let paths = store::list_sessions(directory)?;
    let entry = |path: PathBuf| match store::load_session(&path) {
        Ok(session) => session_entry(path, &session),
        Err(error) => SessionEntry {
            path,
            started: SafeText::new(),
            summary: error.to_string().into(),
            model: None,
            parameters: SafeText::new(),
            headline: SafeText::new(),
            invalid_check: None,
            note: None,
            status: SessionStatus::Unreadable,
        },
    };
    Ok(paths
        .into_iter()
        .take(MAX_LISTED_SESSIONS)
        .map(entry)
        .collect())
}

/// The line of a session in the list.
pub(super) fn session_entry(path: PathBuf, session: &Session) -> SessionEntry {
    let last = session.runs.last();
    let status = last.map_or(SessionStatus::Empty, |run| {
        SessionStatus::LastRun(run.state)
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
        model: last.and_then(|run| run.target.model.clone()),
        parameters: last.map_or_else(SafeText::new, |run| {
            format_parameters(run).join(", ").into()
        }),
        headline: last.and_then(headline_metric).unwrap_or_default().into(),
        invalid_check: last.and_then(|run| {
            let check = run.findings.invalid_check()?;
            Some(check.to_string().into())
        }),
        note: session.note.clone(),
        status,
    }
}

/// The first headline metric of the benchmark.
fn headline_metric(run: &BenchmarkRun) -> Option<String> {
    let names = crate::bench::find_benchmark(&run.test)?
        .description()
        .headline_metrics;
    let metric = names.iter().find_map(|name| run.findings.metric(name))?;
    let text = format!(
        "{} {}",
        metric.value_with_named_unit(),
        metric.label_without_unit()
    );
    Some(text.trim_end().to_owned())
}

/// Reads a session.
///
/// # Errors
/// When it cannot be read.
pub fn open_session(path: PathBuf) -> Result<OpenedSession, ArchiveError> {
    let session = store::load_session(&path)?;
    Ok(OpenedSession { path, session })
}

/// Compares saved sessions; parameters of these names may differ.
///
/// # Errors
/// When one cannot be read.
pub fn compare_sessions(
    paths: Vec<PathBuf>,
    ignored: Vec<String>,
) -> Result<ComparisonState, ArchiveError> {
    let sessions = load_sessions(&paths)?;
    Ok(compare_loaded(paths, ignored, &sessions))
}

/// Compares these sessions, each with its name.
pub(super) fn compare_loaded(
    paths: Vec<PathBuf>,
    ignored: Vec<String>,
    sessions: &[(String, Session)],
) -> ComparisonState {
    let comparison = compare::compare_sessions(&comparison_inputs(sessions), &ignored);
    ComparisonState::new(paths, ignored, comparison)
}

/// Sessions with their names.
fn load_sessions(paths: &[PathBuf]) -> Result<Vec<(String, Session)>, ArchiveError> {
    let loaded = store::load_sessions(paths)?.into_iter().zip(paths);
    Ok(loaded
        .map(|((session, _), path)| (file_stem(path), session))
        .collect())
}

fn comparison_inputs(sessions: &[(String, Session)]) -> Vec<ComparisonInput<'_>> {
    let sessions = sessions.iter();
    sessions
        .map(|(name, session)| ComparisonInput { name, session })
        .collect()
}

/// Writes an HTML report of saved sessions into `directory`, as [`export_session`] does; several
/// are compared, and parameters of these names may differ.
///
/// # Errors
///
/// When one cannot be read, or the report cannot be written.
pub fn write_report(
    paths: &[PathBuf],
    ignored: &[String],
    directory: &Path,
) -> Result<PathBuf, ArchiveError> {
    let sessions = load_sessions(paths)?;
    let inputs = comparison_inputs(&sessions);
    let comparison = (inputs.len() > 1).then(|| compare::compare_sessions(&inputs, ignored));
    let page = html::html_page(&inputs, comparison.as_ref());
    let name = match inputs.as_slice() {
        [] => return Err(ArchiveError::NoSession),
        [one] => format!("diskscope-{}", one.name),
        [first, ..] => format!("diskscope-comparison-{}", first.name),
    };
    write_new(directory, &name, "html", page.as_bytes())
}

pub(super) fn file_stem(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "session".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// Stores a note in a saved session, or removes it when `note` is empty. The file is replaced as every output that the user names.
///
/// # Errors
///
/// When the session cannot be read or written, or is a journal.
pub fn set_note(path: &Path, note: &str) -> Result<(), ArchiveError> {
    Ok(store::set_note(path, note)?)
}

/// Writes a saved session as a session file into `directory`: a document as it is. An existing file is kept, and the
/// name gets a number. Only its owner may read it.
///
/// # Errors
///
/// When it cannot be read or written.
pub fn export_session(path: &Path, directory: &Path) -> Result<PathBuf, ArchiveError> {
    let text = store::export_document(path)?;
    write_new(
        directory,
        &format!("diskscope-{}", file_stem(path)),
        "json",
        &text,
    )
}

/// Writes a file with that name; if it exists already the name gets a number. Only its owner may
/// read it.
fn write_new(
    directory: &Path,
    name: &str,
    extension: &str,
    bytes: &[u8],
) -> Result<PathBuf, ArchiveError> {
    for number in 0..MAX_EXPORTS {
        let file_name = match number {
            0 => format!("{name}.{extension}"),
            number => format!("{name}-{number}.{extension}"),
        };
        match output::write_new(directory, &file_name, bytes) {
            Ok(path) => return Ok(path),
            Err(FileError::AlreadyExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ArchiveError::TooManyExports {
        directory: directory.to_owned(),
        count: MAX_EXPORTS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample;

    fn saved_session(path: &Path) {
        let session = sample::sample_session("web-07", vec![sample::sample_run("iops", 1.0, 1.0)]);
        std::fs::write(path, store::serialize_session(&session).unwrap()).unwrap();
    }

    fn stored_note(path: &Path) -> Option<String> {
        let note = store::load_session(path).unwrap().note;
        note.map(String::from)
    }

    #[test]
    fn note_keeps_mode_and_link_of_the_file() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let [plain, link, behind] =
            ["a.json", "c.json", "behind"].map(|name| directory.path().join(name));
        for path in [&plain, &behind] {
            saved_session(path);
        }
        std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("behind", &link).unwrap();
        for path in [&plain, &link] {
            set_note(path, "new").unwrap();
            assert_eq!(stored_note(path).as_deref(), Some("new"), "{path:?}");
        }
        assert_eq!(plain.metadata().unwrap().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(stored_note(&behind).as_deref(), Some("new"));
    }

    #[test]
    fn note_that_is_there_already_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        saved_session(&path);
        let before = path.metadata().unwrap();
        set_note(&path, " ").unwrap();
        let after = path.metadata().unwrap();
        assert_eq!(
            crate::files::file_id::FileId::of_metadata(&before),
            crate::files::file_id::FileId::of_metadata(&after)
        );
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    }

    #[test]
    fn archive_compares_sessions_with_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let saved = |name: &str, iops: f64| {
            let session =
                sample::sample_session("web-07", vec![sample::sample_run("iops", iops, 1.0)]);
            let path = directory.path().join(name);
            std::fs::write(&path, store::serialize_session(&session).unwrap()).unwrap();
            path
        };
        let paths = vec![saved("before.json", 100.0), saved("after.json", 150.0)];
        let compared = compare_sessions(paths.clone(), Vec::new()).unwrap();
        assert_eq!(compared.comparison.sessions[1].name, "after");
        let iops = &compared.selected_benchmark().unwrap().metrics[0];
        let against = iops.samples[1].as_ref().unwrap().against_baseline.as_ref();
        assert!((against.unwrap().ratio - 1.5).abs() < 1e-9);

        let missing = directory.path().join("gone.json");
        let error = compare_sessions(vec![paths[0].clone(), missing], Vec::new()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("gone.json"), "{message}");
    }

    #[test]
    fn reports_are_new_private_files_with_descriptive_names() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let saved = |name: &str, depth: u64| {
            let mut run = sample::sample_run("iops", 100.0, 1.0);
            run.parameters.insert("depth".into(), depth.into());
            let path = directory.path().join(name);
            let session = sample::sample_session("web-07", vec![run]);
            std::fs::write(&path, store::serialize_session(&session).unwrap()).unwrap();
            path
        };
        let paths = [saved("before.json", 1), saved("after.json", 32)];
        let out = tempfile::tempdir().unwrap();
        let written = |paths: &[PathBuf], ignored: &[String]| {
            let path = write_report(paths, ignored, out.path()).unwrap();
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{path:?}");
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        };
        let (name, page) = written(&paths[..1], &[]);
        assert_eq!(name, "diskscope-before.html");
        assert!(page.contains("<title>Drive report of web-07</title>"));
        assert_eq!(written(&paths[..1], &[]).0, "diskscope-before-1.html");
        let (name, page) = written(&paths, &[]);
        assert_eq!(name, "diskscope-comparison-before.html");
        assert!(page.contains("Not compared") && !page.contains("ignored: depth"));
        let (_, page) = written(&paths, &["depth".to_owned()]);
        assert!(page.contains("ignored: depth 1 (A), 32 (B)"));
        assert!(write_report(&[], &[], out.path()).is_err());
        let nowhere = out.path().join("none");
        assert!(write_report(&paths, &[], &nowhere).is_err());
    }
}
