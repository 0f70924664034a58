//! Navigates through a recording.

use std::time::Duration;

use super::member::SampleMark;
use super::reader::Recording;
use super::recorded_file::RecordingReadError;
use super::trigger::TriggerRecord;
use super::view_time::RecordingTimes;
use crate::snapshot::history::MAX_SAMPLES;
use crate::snapshot::{SampleHistory, Snapshot};
use crate::units::whole_milliseconds;

/// A position in a recording, and operations to change it.
#[derive(Debug)]
pub struct RecordingCursor {
    recording: Recording,
    current_view: usize,
}

impl RecordingCursor {
    /// Creates a cursor at the first view.
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

    /// Index of the current view, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.current_view
    }

    /// Seeks to a view, or to the last one if there are fewer.
    pub fn seek(&mut self, view: usize) {
        self.current_view = view.min(self.recording.view_count().saturating_sub(1));
    }

    /// Moves forwards, or backwards if `by` is negative, limited by the ends. False if the position
    /// did not change.
    pub fn step(&mut self, by: isize) -> bool {
        let before = self.current_view;
        self.seek(self.current_view.saturating_add_signed(by));
        self.current_view != before
    }

    /// Seeks to the last view that is not later than `time_ms`, in milliseconds since 1970, or to
    /// the first view. If the clock was set back, some times occur twice: then the later view
    /// counts.
    pub fn seek_time(&mut self, time_ms: u64) {
        let marks = self.recording.view_marks().enumerate();
        let last = marks
            .map(|(view, mark)| (mark.time_ms, view))
            .filter(|(time, _)| *time <= time_ms)
            .max();
        self.seek(last.map_or(0, |(_, view)| view));
    }

    /// Seeks to the first view with known rates: the first sample has none. Does not move where no
    /// view has any.
    pub fn seek_first_rates(&mut self) {
        let mut marks = self.recording.view_marks();
        let first = marks.position(|mark| mark.bytes_per_s.is_some());
        if let Some(view) = first {
            self.current_view = view;
        }
    }

    /// First and last time of the recording; `None` without a view that can be read.
    pub fn times(&mut self) -> Option<RecordingTimes> {
        let (mut first_ms, mut last_ms) = (u64::MAX, 0);
        for mark in self.recording.view_marks() {
            first_ms = first_ms.min(mark.time_ms);
            last_ms = last_ms.max(mark.time_ms);
        }
        let mut views = 0..self.recording.view_count();
        let first = views.find_map(|view| self.recording.read_view(view).ok()?);
        first.map(|view| RecordingTimes::new(first_ms, last_ms, &view.time))
    }

    /// Seeks to the view with the highest throughput of the drives; to the first if there are
    /// several. False if no throughput is known.
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

    /// Summary of the current view, without decompressing it.
    #[must_use]
    pub fn current_mark(&self) -> Option<SampleMark> {
        self.recording.view_mark(self.current_view)
    }

    /// Reads the current view; `None` if the recording is empty.
    ///
    /// # Errors
    /// As [`Recording::read_view`].
    pub fn read_view(&mut self) -> Result<Option<Snapshot>, RecordingReadError> {
        self.recording.read_view(self.current_view)
    }

    /// Reads a trigger; `None` if the index is too high.
    ///
    /// # Errors
    /// As [`Recording::read_view`].
    pub fn read_trigger(
        &mut self,
        trigger: usize,
    ) -> Result<Option<TriggerRecord>, RecordingReadError> {
        self.recording.read_trigger(trigger)
    }

    /// The current view and those before it within `length`, the oldest first, without what is damaged; at
    /// least `least` and at most `most` of them, where there are as many.
    pub fn views_within(
        &mut self,
        length: Duration,
        (least, most): (usize, usize),
    ) -> Vec<Snapshot> {
        let Some(here) = self.current_mark() else {
            return Vec::new();
        };
        let begin = here.time_ms.saturating_sub(whole_milliseconds(length));
        let is_within = |view: &usize| {
            let mark = self.recording.view_mark(*view);
            mark.is_some_and(|mark| mark.time_ms > begin && mark.time_ms <= here.time_ms)
        };
        let before = (0..self.current_view).rev().take_while(is_within).count();
        let count = (before + 1).max(least).min(most).min(self.current_view + 1);
        let views = self.current_view + 1 - count..=self.current_view;
        views
            .filter_map(|view| self.recording.read_view(view).ok()?)
            .collect()
    }

    /// Iterates over the requests since the previous view, as lines of JSON that are safe to print,
    /// while `each` returns true.
    ///
    /// # Errors
    /// As [`Recording::for_each_request`].
    pub fn for_each_request(
        &mut self,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        self.recording.for_each_request(self.current_view, each)
    }

    /// Iterates over the requests of the last `last_ms` milliseconds up to this view, in whole
    /// views.
    ///
    /// # Errors
    /// As [`Recording::for_each_request`].
    pub fn for_each_request_since(
        &mut self,
        last_ms: u64,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), RecordingReadError> {
        let Some(here) = self.current_mark() else {
            return Ok(());
        };
        let begin = here.time_ms.saturating_sub(last_ms);
        let is_before = |mark: &SampleMark| mark.time_ms < begin;
        let first = self.recording.view_marks().take_while(is_before).count();
        for view in first.min(self.current_view)..=self.current_view {
            if !self.recording.for_each_request(view, each)? {
                break;
            }
        }
        Ok(())
    }

    /// The history of the devices as it was at this view, for sparklines. After a seek it is
    /// rebuilt from up to [`MAX_SAMPLES`] views, without what is damaged.
    pub fn device_history(&mut self) -> SampleHistory {
        let mut history = SampleHistory::default();
        for view in self.current_view.saturating_sub(MAX_SAMPLES - 1)..=self.current_view {
            if let Ok(Some(live)) = self.recording.read_view(view) {
                history.record(&live);
            }
        }
        history
    }
}
