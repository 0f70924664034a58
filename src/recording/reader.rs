//! Reads a recording up to its first damage.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Decompress;
use serde::de::DeserializeOwned;

use super::frame::{FrameKind, FrameMark};
use super::index::{FrameIndex, RecordingDamage, RecordingReadError, index_file};
use super::inflate::{ByteSink, ContentError, InflateError, LineSplitter, inflate_frame};
use super::scan::FrameEntry;
use super::trigger::{TriggerMark, TriggerRecord};
use crate::files::input;
use crate::files::input::InputKind;
use crate::snapshot::Snapshot;

/// A recording, open up to its first damage.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: File,
    entries: Vec<FrameEntry>,
    /// Indices of the entries that are views.
    view_entries: Vec<usize>,
    /// In order of time.
    triggers: Vec<TriggerEntry>,
    damage: Option<RecordingDamage>,
    stream: CompressedStream,
}

/// A trigger in the index.
#[derive(Debug, Clone)]
struct TriggerEntry {
    mark: TriggerMark,
    /// Index of its entry.
    entry: usize,
    /// Indices of the entries with its requests.
    request_entries: Range<usize>,
}

/// Position in the compressed stream.
#[derive(Debug)]
struct CompressedStream {
    decompress: Decompress,
    /// The next entry of the stream; `None` if decompression has to restart.
    next_entry: Option<usize>,
}

impl Recording {
    /// Opens a file, and verifies every frame.
    ///
    /// # Errors
    /// If the file cannot be read or is not a recording. Damage after the file header is no error.
    pub fn open(path: &Path) -> Result<Self, RecordingReadError> {
        let (file, _) = input::open_input(path, InputKind::RegularFile)?;
        Self::from_file(path, file)
    }

    /// As [`Recording::open`], from an open file at its begin; messages call it `path`.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file(path: &Path, file: File) -> Result<Self, RecordingReadError> {
        let FrameIndex { entries, damage } = index_file(path, &file)?;
        let views: Vec<usize> = (0..entries.len())
            .filter(|index| entries[*index].head.kind == FrameKind::View)
            .collect();
        let triggers = find_triggers(&entries, &views);
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
            view_entries: views,
            triggers,
            damage,
            stream: CompressedStream {
                decompress: Decompress::new(false),
                next_entry: None,
            },
        })
    }

    /// Number of views.
    #[must_use]
    pub fn view_count(&self) -> usize {
        self.view_entries.len()
    }

    /// Whether there are no views.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view_entries.is_empty()
    }

    /// The damage, if there is any.
    #[must_use]
    pub fn damage(&self) -> Option<&RecordingDamage> {
        self.damage.as_ref()
    }

    /// Whether the recording has a regular end; it has none if the recorder was killed.
    #[must_use]
    pub fn ended_cleanly(&self) -> bool {
        self.entries
            .last()
            .is_some_and(|entry| entry.head.kind == FrameKind::EndOfRecording)
    }

    /// Summary of a view, without decompressing it.
    #[must_use]
    pub fn view_mark(&self, view: usize) -> Option<FrameMark> {
        Some(self.entries[*self.view_entries.get(view)?].head.mark)
    }

    /// Summaries of all views in order.
    pub fn view_marks(&self) -> impl Iterator<Item = FrameMark> {
        self.view_entries
            .iter()
            .map(|index| self.entries[*index].head.mark)
    }

    /// Reads a view; `None` if the index is too high. Sequential access is cheapest.
    ///
    /// # Errors
    /// If the file can no longer be read, the view is of a later version of the program and cannot
    /// be parsed, or it is larger than any real view.
    pub fn read_view(&mut self, view: usize) -> Result<Option<Snapshot>, RecordingReadError> {
        let Some(index) = self.view_entries.get(view).copied() else {
            return Ok(None);
        };
        self.parse_entry(index).map(Some)
    }

    /// Reads and parses the content of a frame.
    fn parse_entry<T: DeserializeOwned>(&mut self, index: usize) -> Result<T, RecordingReadError> {
        let mut content = Vec::new();
        self.inflate_entry(index, &mut |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        serde_json::from_slice(&content)
            .map_err(|error| self.content_error(index, ContentError::Sample(error.to_string())))
    }

    /// Iterates over the requests recorded between the previous view and this one, and over those of
    /// the triggers at this view. `each` receives
    /// one JSON object at a time, safe to print, and returns whether to continue. Returns false if
    /// `each` ended the iteration. At most one line is held in memory.
    ///
    /// # Errors
    /// If the file can no longer be read, or a line is not a JSON object or is too long.
    pub fn for_each_request(
        &mut self,
        view: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let Some(end) = self.view_entries.get(view).copied() else {
            return Ok(true);
        };
        let begin = view
            .checked_sub(1)
            .and_then(|before| self.view_entries.get(before))
            .map_or(0, |before| before + 1);
        let of_triggers = self
            .triggers
            .iter()
            .filter(|trigger| trigger.mark.view == view)
            .flat_map(|trigger| trigger.request_entries.clone());
        let of_view = (begin..end).filter(|index| self.kind_of(*index) == FrameKind::Requests);
        let entries: Vec<usize> = of_view.chain(of_triggers).collect();
        for index in entries {
            if !self.for_each_line(index, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Iterates over the requests of a trigger, as [`Self::for_each_request`].
    ///
    /// # Errors
    /// As [`Self::for_each_request`].
    pub fn for_each_trigger_request(
        &mut self,
        trigger: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let found = self.triggers.get(trigger);
        for index in found.map_or(0..0, |found| found.request_entries.clone()) {
            if !self.for_each_line(index, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn kind_of(&self, index: usize) -> FrameKind {
        self.entries[index].head.kind
    }

    /// Iterates over the lines of a frame; false if `each` ended the iteration.
    fn for_each_line(
        &mut self,
        index: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let mut lines = LineSplitter::new(&mut *each);
        let result = self
            .inflate_entry(index, &mut |piece| lines.push_bytes(piece))
            .and_then(|()| {
                lines
                    .finish_line()
                    .map_err(|reason| self.content_error(index, reason))
            });
        if lines.is_stopped() {
            self.stream.next_entry = None;
            return Ok(false);
        }
        result.map(|()| true)
    }

    /// The triggers, in order of time.
    pub fn trigger_marks(&self) -> impl Iterator<Item = TriggerMark> {
        self.triggers.iter().map(|trigger| trigger.mark)
    }

    /// Reads a trigger; `None` if the index is too high.
    ///
    /// # Errors
    /// As [`Self::read_view`].
    pub fn read_trigger(
        &mut self,
        trigger: usize,
    ) -> Result<Option<TriggerRecord>, RecordingReadError> {
        let Some(entry) = self.triggers.get(trigger).map(|found| found.entry) else {
            return Ok(None);
        };
        let mut record: TriggerRecord = self.parse_entry(entry)?;
        if let Some(diagnosis) = &mut record.diagnosis {
            diagnosis.remove_passing_commands();
        }
        Ok(Some(record))
    }

    /// Whether the recording contains individual requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        let mut kinds = self.entries.iter().map(|entry| entry.head.kind);
        kinds.any(|kind| matches!(kind, FrameKind::Requests | FrameKind::TriggerRequests))
    }

    fn content_error(&self, index: usize, reason: ContentError) -> RecordingReadError {
        RecordingReadError::InvalidContent {
            path: self.path.clone(),
            index,
            reason,
        }
    }

    /// Decompresses a frame chunk by chunk. Decompresses the frames before it from the last restart
    /// of the stream, unless they were just read.
    fn inflate_entry(
        &mut self,
        index: usize,
        sink: &mut ByteSink<'_>,
    ) -> Result<(), RecordingReadError> {
        let restart = (0..=index)
            .rev()
            .find(|entry| self.entries[*entry].head.is_restart)
            .ok_or_else(|| self.content_error(index, ContentError::NoRestart))?;
        let begin = self
            .stream
            .next_entry
            .filter(|next| (restart..=index).contains(next))
            .unwrap_or(restart);
        self.stream.next_entry = None;
        for entry in begin..=index {
            let FrameEntry {
                head,
                payload_offset: payload,
            } = self.entries[entry];
            if head.is_restart {
                self.stream.decompress.reset(false);
            }
            let failed = |source| RecordingReadError::Io {
                tried: "read",
                path: self.path.clone(),
                source,
            };
            (&self.file)
                .seek(SeekFrom::Start(payload))
                .map_err(failed)?;
            let frame = (&self.file).take(head.payload_bytes as u64);
            let skip: &mut ByteSink<'_> = &mut |_| Ok(());
            let sink = if entry == index { &mut *sink } else { skip };
            match inflate_frame(&mut self.stream.decompress, frame, sink) {
                Ok(()) => {}
                Err(InflateError::Io(source)) => return Err(failed(source)),
                Err(InflateError::Content(reason)) => {
                    return Err(self.content_error(entry, reason));
                }
            }
        }
        self.stream.next_entry = Some(index + 1);
        Ok(())
    }
}

/// The triggers with the requests before them.
fn find_triggers(entries: &[FrameEntry], views: &[usize]) -> Vec<TriggerEntry> {
    // The latest time up to each view: where the clock was set back, the first later view counts.
    let latest: Vec<u64> = views
        .iter()
        .scan(0, |latest: &mut u64, view| {
            *latest = (*latest).max(entries[*view].head.mark.time_ms);
            Some(*latest)
        })
        .collect();
    let view_at = |time_ms: u64| {
        let later = latest.partition_point(|time| *time <= time_ms);
        later.saturating_sub(1)
    };
    let mut triggers: Vec<TriggerEntry> = (0..entries.len())
        .filter(|index| entries[*index].head.kind == FrameKind::Trigger)
        .map(|index| {
            let before = entries[..index].iter().rev();
            let requests = before.take_while(|entry| entry.head.kind == FrameKind::TriggerRequests);
            let time_ms = entries[index].head.mark.time_ms;
            TriggerEntry {
                mark: TriggerMark {
                    view: view_at(time_ms),
                    time_ms,
                },
                entry: index,
                request_entries: index - requests.count()..index,
            }
        })
        .collect();
    triggers.sort_by_key(|trigger| trigger.mark.time_ms);
    triggers
}
