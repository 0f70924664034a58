//! Walks through a recording.

use super::frame::FrameMark;
use super::reader::{Recording, RecordingReadError};
use crate::model::history::MAX_SAMPLES;
use crate::model::{SampleHistory, Snapshot};

/// A place in a recording, and the ways to another.
#[derive(Debug)]
pub struct RecordingCursor {
    recording: Recording,
    current_view: usize,
}

impl RecordingCursor {
    /// Stands at the first view.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self {
            recording,
            current_view: 0,
        }
    }

    /// The recording.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Number of the view at which it stands, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.current_view
    }

    /// Goes to a view, or the last one if there are not so many.
    pub fn seek(&mut self, view: usize) {
        self.current_view = view.min(self.recording.view_count().saturating_sub(1));
    }

    /// Goes forwards, or backwards by a negative number; no further than to the ends. False when
    /// it did not move.
    pub fn step(&mut self, by: isize) -> bool {
        let before = self.current_view;
        self.seek(self.current_view.saturating_add_signed(by));
        self.current_view != before
    }

    /// Goes to the view whose time is the last that is not later than `time_ms`, in milliseconds
    /// since 1970, or to the first one. Where the clock was set back some times come twice: then to
    /// the later view.
    pub fn seek_time(&mut self, time_ms: u64) {
        let marks = self.recording.view_marks().enumerate();
        let last = marks
            .map(|(view, mark)| (mark.time_ms, view))
            .filter(|(time, _)| *time <= time_ms)
            .max();
        self.seek(last.map_or(0, |(_, view)| view));
    }

    /// Goes to the view at which the drives moved most bytes per second; the first of them where
    /// there are several. False when no rate is known.
    pub fn seek_busiest(&mut self) -> bool {
        let busiest = self
            .recording
            .view_marks()
            .enumerate()
            .filter_map(|(view, mark)| Some((mark.bytes_per_s?, view)))
            .max_by_key(|(rate, view)| (*rate, std::cmp::Reverse(*view)));
        match busiest {
            Some((_, view)) => {
                self.current_view = view;
                true
            }
            None => false,
        }
    }

    /// What is known of the view without opening it.
    #[must_use]
    pub fn current_mark(&self) -> Option<FrameMark> {
        self.recording.view_mark(self.current_view)
    }

    /// The view; `None` when the recording is empty.
    ///
    /// # Errors
    /// As [`Recording::view`].
    pub fn read_view(&mut self) -> Result<Option<Snapshot>, RecordingReadError> {
        self.recording.read_view(self.current_view)
    }

    /// Goes through the requests since the view before, lines of JSON that are safe to print, while
    /// `each` says so.
    ///
    /// # Errors
    /// As [`Recording::requests`].
    pub fn for_each_request(
        &mut self,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        self.recording.for_each_request(self.current_view, each)
    }

    /// Goes through the requests of the time up to this view: of as many views as these
    /// milliseconds hold.
    ///
    /// # Errors
    /// As [`Recording::requests`].
    pub fn for_each_request_since(
        &mut self,
        last_ms: u64,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), RecordingReadError> {
        let Some(here) = self.current_mark() else {
            return Ok(());
        };
        let begin = here.time_ms.saturating_sub(last_ms);
        let is_before = |mark: &FrameMark| mark.time_ms < begin;
        let first = self.recording.view_marks().take_while(is_before).count();
        for view in first.min(self.current_view)..=self.current_view {
            if !self.recording.for_each_request(view, each)? {
                break;
            }
        }
        Ok(())
    }

    /// The past of the devices as it was known at this view, for sparklines. After a jump it is
    /// put together anew from up to [`KEPT`] views.
    ///
    /// # Errors
    /// As [`Recording::view`].
    pub fn device_history(&mut self) -> Result<SampleHistory, RecordingReadError> {
        let mut history = SampleHistory::default();
        for view in self.current_view.saturating_sub(MAX_SAMPLES - 1)..=self.current_view {
            if let Some(live) = self.recording.read_view(view)? {
                history.record(&live);
            }
        }
        Ok(history)
    }
}
