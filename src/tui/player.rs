//! The services of a replay: a thread that reads the recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use jiff::Timestamp;

use super::services::{AppServices, FeedSenders};
use super::threads::CommandThread;
use crate::app::error::{ArchiveError, ReplayError};
use crate::app::replay::{FoundItem, Frame, ReplayTimeline, TimelineTrigger, find_gaps};
use crate::app::{Effect, Message, Seek};
use crate::files::output;
use crate::files::safe_text::SafeText;
use crate::recording::{Recording, RecordingReadError, SampleMark, TriggerMark};
use crate::snapshot::{SampleHistory, Snapshot};
use crate::trace::requests::RequestLine;
use crate::tui::screens::requests::view::{RequestAggregator, RequestsView};
use crate::why::{EvidenceWindow, WINDOW, diagnose};

/// Time between two views while playing.
const PLAY_INTERVAL: Duration = Duration::from_millis(250);

/// How long to wait at the end for a file that is being written.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Milliseconds of requests that are shown: the time span of the charts on the Requests screen.
const REQUEST_WINDOW_MS: u64 = 60_000;
/// Maximum number of requests in that time.
const MAX_REQUESTS: u32 = 2_000_000;

/// Views that a diagnosis takes into account, at least and at most, whatever their interval.
const RECENT_VIEWS: (usize, usize) = (4, 30);

/// Commands to the thread.
#[derive(Debug, Clone)]
enum PlayerCommand {
    Seek(Seek),
    Find { text: String, forward: bool },
    ExportFrame,
}

/// Plays a recording; dropping it ends the thread.
#[derive(Debug)]
pub struct RecordingPlayer(CommandThread<PlayerCommand>);

/// The time line of a recording. Without readable times the screens show none.
#[must_use]
pub fn timeline(path: &Path, cursor: &mut Recording) -> ReplayTimeline {
    let times = cursor.times();
    let recording = &*cursor;
    let rates = recording
        .view_marks()
        .iter()
        .map(|mark| mark.bytes_per_s)
        .collect();
    let name = SafeText::from_path(path);
    let note = match recording.damage() {
        Some(damage) => Some(damage.to_string().into()),
        None => (!recording.ended_cleanly()).then(|| "the recording was cut off".into()),
    };
    let marks: Vec<TriggerMark> = recording.trigger_marks().collect();
    let frame_times_ms: Vec<u64> = recording
        .view_marks()
        .iter()
        .map(|mark| mark.time_ms)
        .collect();
    let timeline = ReplayTimeline {
        has_requests: recording.has_requests(),
        times,
        gaps: find_gaps(&frame_times_ms).into(),
        frame_times_ms: frame_times_ms.into(),
        ..ReplayTimeline::new(name, rates, note)
    };
    ReplayTimeline {
        triggers: timeline_triggers(cursor, &marks),
        ..timeline
    }
}

/// The triggers that can be read.
fn timeline_triggers(cursor: &mut Recording, marks: &[TriggerMark]) -> Arc<[TimelineTrigger]> {
    let mut triggers = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        if let Ok(Some(record)) = cursor.read_trigger(index) {
            triggers.push(TimelineTrigger {
                frame_index: mark.view,
                observation: record.summary(),
                conclusion: record.diagnosis.map(|diagnosis| diagnosis.sentence),
            });
        }
    }
    triggers.into()
}

impl RecordingPlayer {
    /// Shows the view at the cursor.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(cursor: Recording, senders: FeedSenders) -> std::io::Result<Self> {
        let state = PlayerState {
            cursor,
            history: SampleHistory::default(),
            recent: Vec::new(),
            is_playing: false,
            senders,
        };
        let body = move |inbox: &Receiver<_>| state.run(inbox);
        CommandThread::start("player", STOP_TIMEOUT, body).map(Self)
    }
}

impl AppServices for RecordingPlayer {
    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Seek(seek) => self.0.send(PlayerCommand::Seek(seek)),
            Effect::FindFrame { text, forward } => {
                self.0.send(PlayerCommand::Find { text, forward });
            }
            Effect::ExportFrame => self.0.send(PlayerCommand::ExportFrame),
            // Other effects do not apply to a recording.
            _ => {}
        }
    }
}

/// How a search ended.
enum SearchEnd {
    Found(usize, FoundItem),
    NotFound,
    Interrupted(PlayerCommand),
}

/// The first process or device with I/O that matches the text: a part of the command or the name,
/// in any case, or the process id.
fn find_in_snapshot(snapshot: &Snapshot, text: &str) -> Option<FoundItem> {
    let wanted = text.to_lowercase();
    let matches = |name: &str| name.to_lowercase().contains(&wanted);
    let is_active = |rates: [Option<f64>; 2]| rates.iter().flatten().any(|rate| *rate > 0.0);
    let mut processes = snapshot.processes.iter();
    let process = processes.find(|process| {
        let is_wanted = process.pid.to_string() == wanted || matches(&process.command);
        is_wanted && is_active([process.read_bytes_per_s, process.write_bytes_per_s])
    });
    if let Some(process) = process {
        return Some(FoundItem::Process {
            pid: process.pid,
            command: process.command.clone(),
        });
    }
    let mut devices = snapshot.devices.iter();
    let device = devices.find(|device| {
        matches(&device.name) && is_active([device.read_bytes_per_s, device.write_bytes_per_s])
    });
    device.map(|device| FoundItem::Device(device.name.clone()))
}

/// State of the thread.
struct PlayerState {
    cursor: Recording,
    history: SampleHistory,
    /// The snapshots of the last seconds up to the current view, for the diagnosis.
    recent: Vec<Arc<Snapshot>>,
    is_playing: bool,
    senders: FeedSenders,
}

impl PlayerState {
    fn run(mut self, inbox: &Receiver<PlayerCommand>) {
        self.show_frame(None);
        let mut interrupting = None;
        loop {
            let command = if let Some(command) = interrupting.take() {
                Ok(command)
            } else if self.is_playing {
                inbox.recv_timeout(PLAY_INTERVAL)
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match command {
                Ok(PlayerCommand::Seek(seek)) => self.seek(seek),
                Ok(PlayerCommand::Find { text, forward }) => {
                    interrupting = self.find(&text, forward, inbox);
                }
                Ok(PlayerCommand::ExportFrame) => {
                    let exported = self.export_frame().map_err(Arc::new);
                    self.send_message(Message::SessionExported(exported));
                }
                Err(RecvTimeoutError::Timeout) => self.seek(Seek::Forward(1)),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn seek(&mut self, seek: Seek) {
        let before = self.cursor.position();
        match seek {
            Seek::Forward(by) => {
                // At the end there is nothing left to play.
                if !self.cursor.step(by) {
                    self.is_playing = false;
                }
            }
            Seek::First => self.cursor.seek(0),
            Seek::Last => self.cursor.seek(usize::MAX),
            Seek::Frame(view) => self.cursor.seek(view),
            Seek::Time(time_ms) => self.cursor.seek_time(time_ms),
            Seek::Busiest => {
                self.cursor.seek_busiest();
            }
            Seek::Play(playing) => self.is_playing = playing,
        }
        self.show_frame(Some(before));
    }

    /// Seeks to the next view, forwards or backwards, in which a process or a device with I/O matches
    /// the text. A command that arrives meanwhile ends the search and is returned.
    fn find(
        &mut self,
        text: &str,
        forward: bool,
        inbox: &Receiver<PlayerCommand>,
    ) -> Option<PlayerCommand> {
        let before = self.cursor.position();
        self.is_playing = false;
        let end = self.find_view(before, text, forward, inbox);
        self.cursor.seek(before);
        match end {
            SearchEnd::Found(view, found) => {
                self.cursor.seek(view);
                self.show_frame(Some(before));
                self.send_message(Message::FrameFound(Some(found)));
            }
            SearchEnd::NotFound => self.send_message(Message::FrameFound(None)),
            SearchEnd::Interrupted(command) => return Some(command),
        }
        None
    }

    fn find_view(
        &mut self,
        start: usize,
        text: &str,
        forward: bool,
        inbox: &Receiver<PlayerCommand>,
    ) -> SearchEnd {
        let after = start + 1..self.cursor.view_count();
        let views: Vec<usize> = match forward {
            true => after.collect(),
            false => (0..start).rev().collect(),
        };
        for view in views {
            if let Ok(command) = inbox.try_recv() {
                return SearchEnd::Interrupted(command);
            }
            self.cursor.seek(view);
            // What is damaged is passed over.
            let snapshot = self.cursor.read_current().ok().flatten();
            if let Some(found) = snapshot.and_then(|it| find_in_snapshot(&it, text)) {
                return SearchEnd::Found(view, found);
            }
        }
        SearchEnd::NotFound
    }

    /// Sends the current view with its history; after a jump the history is rebuilt.
    fn show_frame(&mut self, before: Option<usize>) {
        let message = match self.frame_after(before) {
            Ok(frame) => Message::Frame(Box::new(frame)),
            Err(error) => {
                self.is_playing = false;
                Message::ReplayFailed(Arc::new(error))
            }
        };
        self.send_message(message);
    }

    /// The view of the Requests screen at that time; `None` without requests.
    fn requests_view(&mut self) -> Result<Option<RequestsView>, RecordingReadError> {
        if !self.cursor.has_requests() {
            return Ok(None);
        }
        // A trigger keeps the requests of all drives: the one with the most is shown.
        let mut spans: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        self.for_each_request(&mut |line| {
            let times = line.request().timestamps;
            if !spans.contains_key(line.device()) {
                spans.insert(line.device().to_owned(), (0, u64::MAX, 0));
            }
            if let Some((count, start, until)) = spans.get_mut(line.device()) {
                *count += 1;
                *start = times.first_timestamp().min(*start);
                *until = times.completed.max(*until);
            }
        })?;
        let busiest = spans.into_iter().max_by_key(|(_, (count, _, _))| *count);
        let Some((device, (_, start, until))) = busiest else {
            return Ok(None);
        };
        let device = SafeText::from(device);
        let mut aggregator = RequestAggregator::new(&device, start);
        self.for_each_request(&mut |line| {
            if line.device() == device.as_str() {
                aggregator.add_requests(&[line.request()]);
            }
        })?;
        Ok(Some(aggregator.view(until)))
    }

    /// Calls `take` for the requests that are shown; requests written by a newer program are
    /// skipped.
    fn for_each_request(
        &mut self,
        take: &mut dyn FnMut(&RequestLine<'_>),
    ) -> Result<bool, RecordingReadError> {
        let mut left = MAX_REQUESTS;
        self.cursor
            .for_each_request(REQUEST_WINDOW_MS, &mut |text| {
                if let Ok(line) = serde_json::from_str(text) {
                    take(&line);
                }
                left -= 1;
                left > 0
            })
    }

    /// The current view with its history; `before` is the position before the seek.
    fn frame_after(&mut self, before: Option<usize>) -> Result<Frame, ReplayError> {
        let snapshot = self.cursor.read_current()?.ok_or(ReplayError::NoFrame)?;
        let position = self.cursor.position();
        match before {
            Some(before) if before == position => {}
            Some(before) if before + 1 == position => self.history.record(&snapshot),
            _ => self.history = self.cursor.device_history(),
        }
        if before != Some(position) {
            let views = self.cursor.views_within(WINDOW, RECENT_VIEWS);
            self.recent = views.into_iter().map(Arc::new).collect();
        }
        let window = EvidenceWindow::of_snapshots(self.recent.iter().cloned());
        Ok(Frame {
            index: position,
            snapshot: Arc::new(snapshot),
            requests: self.requests_view()?.map(Arc::new),
            diagnosis: diagnose(&window).map(Arc::new),
            history: self.history.clone(),
            is_playing: self.is_playing,
        })
    }

    /// Writes the current view as a new JSON file in the working directory.
    fn export_frame(&mut self) -> Result<PathBuf, ArchiveError> {
        let snapshot = self.cursor.read_current().map_err(ReplayError::from)?;
        let snapshot = snapshot.ok_or(ReplayError::NoFrame)?;
        let text = serde_json::to_vec_pretty(&snapshot)
            .map_err(|error| ArchiveError::Serialize(error.into()))?;
        let stem = view_name(&snapshot.time, self.cursor.current_mark());
        let name = format!("diskscope-view-{stem}.json");
        Ok(output::write_new(Path::new(""), &name, &text)?)
    }

    fn send_message(&self, message: Message) {
        // The receiver is gone once the program ends.
        let _ = self.senders.messages.blocking_send(message);
    }
}

/// Time of a view for a file name. The content of a recording is not trusted: if it is no valid
/// time, the frame's own time is used.
fn view_name(time: &str, mark: Option<SampleMark>) -> String {
    let of_mark = || {
        let milliseconds = i64::try_from(mark?.time_ms).ok()?;
        Timestamp::from_millisecond(milliseconds).ok()
    };
    let time = time.parse::<Timestamp>().ok().or_else(of_mark);
    // Some file systems refuse colons.
    time.map_or_else(
        || "unknown-time".to_owned(),
        |time| time.to_string().replace(':', ""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_view_is_a_time_whatever_the_recording_says() {
        let mark = |time_ms| {
            Some(SampleMark {
                time_ms,
                bytes_per_s: None,
            })
        };
        for (time, mark, expected) in [
            ("2026-11-21T22:26:19.5Z", None, "2026-11-21T222619.5Z"),
            ("2026-11-21T22:26:19+01:00", None, "2026-11-21T212619Z"),
            (
                "/../../etc/cron",
                mark(1_700_000_000_000),
                "2023-11-14T221320Z",
            ),
            ("..", mark(u64::MAX), "unknown-time"),
            ("2026-11-21T22:26:19Z/../x", None, "unknown-time"),
            ("", None, "unknown-time"),
        ] {
            assert_eq!(view_name(time, mark), expected, "{time}");
        }
    }
}
