//! The services of the demo: a recording and its sessions, from memory. Nothing is measured and no
//! file is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::demo_content::DemoSessions;
use super::player::RecordingPlayer;
use super::services::{AppServices, FeedSenders};
use super::session_archive;
use crate::app::error::{ArchiveError, BenchmarkError, TargetError};
use crate::app::{Effect, Message, SavedRun, Seek, TargetChoice, TargetGroup};
use crate::bench::RunRequest;
use crate::drive::{Target, TargetKind};
use crate::recording::Recording;
use crate::session::document::TargetRecord;
use crate::tui::screens::sessions::OpenedSession;

/// The services of the demo.
#[derive(Debug)]
pub struct DemoServices {
    player: RecordingPlayer,
    sessions: DemoSessions,
    senders: FeedSenders,
}

impl DemoServices {
    /// Plays the recording.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        cursor: Recording,
        sessions: DemoSessions,
        senders: FeedSenders,
    ) -> std::io::Result<Self> {
        let mut player = RecordingPlayer::start(cursor, senders.clone())?;
        player.perform_effect(Effect::Seek(Seek::Play(true)));
        Ok(Self {
            player,
            sessions,
            senders,
        })
    }

    /// Sends a message from another thread: the loop must not wait for its own queue.
    fn answer(&self, message: impl FnOnce(&DemoSessions) -> Message + Send + 'static) {
        let (sessions, senders) = (self.sessions.clone(), self.senders.clone());
        thread::spawn(move || {
            // The receiver is gone once the program ends.
            let _ = senders.messages.blocking_send(message(&sessions));
        });
    }
}

impl AppServices for DemoServices {
    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Seek(_) | Effect::FindFrame { .. } => self.player.perform_effect(effect),
            Effect::ListTargets => {
                self.answer(|sessions| Message::Targets(recorded_targets(sessions)));
            }
            Effect::InspectTarget(path) => self.answer(move |_| {
                let error = TargetError::NotInDemo { path: path.clone() };
                let result = Box::new(Err(Arc::new(error)));
                Message::TargetInspected { path, result }
            }),
            Effect::StartBenchmark(spec) => self.answer(move |sessions| {
                let run = recorded_run(sessions, &spec).map_err(Arc::new);
                Message::BenchmarkEnded(Box::new(run))
            }),
            Effect::ListSessions => self.answer(|sessions| {
                let sessions = sessions.iter();
                let entries = sessions
                    .map(|(path, session)| session_archive::session_entry(path.clone(), session));
                Message::Sessions(Ok(entries.collect()))
            }),
            Effect::OpenSession(path) => self.answer(move |sessions| {
                let session = sessions.find(&path).cloned();
                let opened = session.map(|session| OpenedSession { path, session });
                Message::SessionOpened(Box::new(opened.ok_or_else(read_only)))
            }),
            Effect::CompareSessions(paths, ignored) => self.answer(move |sessions| {
                let named = |path: &PathBuf| {
                    let session = sessions.find(path)?;
                    Some((session_archive::file_stem(path), session.clone()))
                };
                let named: Vec<_> = paths.iter().filter_map(named).collect();
                let compared = session_archive::compare_loaded(paths, ignored, &named);
                Message::SessionsCompared(Box::new(Ok(compared)))
            }),
            Effect::ExportFrame | Effect::ExportSession(_) | Effect::WriteReport(..) => {
                self.answer(|_| Message::SessionExported(Err(read_only())));
            }
            Effect::DeleteSession(_) | Effect::SetSessionNote(..) => {
                self.answer(|_| Message::SessionEdited(Err(read_only())));
            }
            // Other effects concern this machine.
            _ => {}
        }
    }
}

fn read_only() -> Arc<ArchiveError> {
    Arc::new(ArchiveError::ReadOnlyDemo)
}

/// The targets of the recorded runs, each once.
fn recorded_targets(sessions: &DemoSessions) -> Vec<TargetChoice> {
    let mut choices: Vec<TargetChoice> = Vec::new();
    for run in sessions.iter().flat_map(|(_, session)| &session.runs) {
        let choice = target_choice(&run.target);
        if choices.iter().all(|known| known.name != choice.name) {
            choices.push(choice);
        }
    }
    choices
}

fn target_choice(record: &TargetRecord) -> TargetChoice {
    let name = record.path.to_string();
    let label = record.model.clone().or_else(|| record.file_system.clone());
    let (group, kind) = match record.is_block_device() {
        true => (TargetGroup::Drive, TargetKind::BlockDevice),
        false => (TargetGroup::Directory, TargetKind::ScratchFile),
    };
    TargetChoice {
        group,
        label: label.unwrap_or_default().to_string(),
        size_bytes: Some(record.size_bytes),
        kind: "recorded".to_owned(),
        used_by: String::new(),
        target: Ok(Target {
            name: name.clone(),
            kind,
            size_bytes: record.size_bytes,
            logical_block_bytes: record.logical_block_bytes,
            physical_block_bytes: record.physical_block_bytes,
            buffer_alignment: record.logical_block_bytes,
            supports_direct_io: true,
            drive: None,
            file_system: record.file_system.as_ref().map(ToString::to_string),
        }),
        path: PathBuf::from(&name),
        name,
    }
}

/// The recorded run of this benchmark on this target; its parameters may be others.
fn recorded_run(sessions: &DemoSessions, spec: &RunRequest) -> Result<SavedRun, BenchmarkError> {
    let benchmark = spec.benchmark.description().name;
    let runs = || {
        sessions.iter().flat_map(|(path, session)| {
            let runs = session.runs.iter();
            runs.map(move |run| (path.as_path(), run))
        })
    };
    let found: Option<(&Path, _)> =
        runs().find(|(_, run)| *run.test == *benchmark && *run.target.path == *spec.target().name);
    let Some((path, run)) = found else {
        let mut recorded: Vec<String> = runs()
            .map(|(_, run)| format!("{} on {}", run.test, run.target.path))
            .collect();
        recorded.dedup();
        return Err(BenchmarkError::NotInDemo {
            benchmark,
            target: spec.target().name.clone(),
            recorded: recorded.join(", "),
        });
    };
    Ok(SavedRun {
        run: run.clone(),
        path: Some(path.to_owned()),
        save_errors: Vec::new(),
    })
}
