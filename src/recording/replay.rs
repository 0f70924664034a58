//! Walks through a recording.

use super::frame::Mark;
use super::reader::{ReadError, Recording};
use crate::model::history::KEPT;
use crate::model::{History, Live};

/// A place in a recording, and the ways to another.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    at: usize,
}

impl Replay {
    /// Stands at the first view.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self { recording, at: 0 }
    }

    /// The recording.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Number of the view at which it stands, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes to a view, or the last one if there are not so many.
    pub fn seek(&mut self, view: usize) {
        self.at = view.min(self.recording.len().saturating_sub(1));
    }

    /// Goes forwards, or backwards by a negative number; no further than to the ends. False when
    /// it did not move.
    pub fn step(&mut self, by: isize) -> bool {
        let before = self.at;
        self.seek(self.at.saturating_add_signed(by));
        self.at != before
    }

    /// Goes to the view whose time is the last that is not later than `time_ms`, in milliseconds
    /// since 1970, or to the first one. Where the clock was set back some times come twice: then to
    /// the later view.
    pub fn seek_time(&mut self, time_ms: u64) {
        let marks = self.recording.marks().enumerate();
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
            .marks()
            .enumerate()
            .filter_map(|(view, mark)| Some((mark.bytes_per_s?, view)))
            .max_by_key(|(rate, view)| (*rate, std::cmp::Reverse(*view)));
        match busiest {
            Some((_, view)) => {
                self.at = view;
                true
            }
            None => false,
        }
    }

    /// What is known of the view without opening it.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        self.recording.mark(self.at)
    }

    /// The view; `None` when the recording is empty.
    ///
    /// # Errors
    /// As [`Recording::view`].
    pub fn view(&mut self) -> Result<Option<Live>, ReadError> {
        self.recording.view(self.at)
    }

    /// Goes through the requests since the view before, lines of JSON that are safe to print, while
    /// `each` says so.
    ///
    /// # Errors
    /// As [`Recording::requests`].
    pub fn requests(&mut self, each: &mut dyn FnMut(&str) -> bool) -> Result<bool, ReadError> {
        self.recording.requests(self.at, each)
    }

    /// Goes through the requests of the time up to this view: of as many views as these
    /// milliseconds hold.
    ///
    /// # Errors
    /// As [`Recording::requests`].
    pub fn requests_of(
        &mut self,
        last_ms: u64,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ReadError> {
        let Some(here) = self.mark() else {
            return Ok(());
        };
        let begin = here.time_ms.saturating_sub(last_ms);
        let is_before = |mark: &Mark| mark.time_ms < begin;
        let first = self.recording.marks().take_while(is_before).count();
        for view in first.min(self.at)..=self.at {
            if !self.recording.requests(view, each)? {
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
    pub fn history(&mut self) -> Result<History, ReadError> {
        let mut history = History::default();
        for view in self.at.saturating_sub(KEPT - 1)..=self.at {
            if let Some(live) = self.recording.view(view)? {
                history.record(&live);
            }
        }
        Ok(history)
    }
}
