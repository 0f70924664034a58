//! A recording that is read: its samples, requests and triggers, and a position in it.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::error::{RecordingDamage, RecordingReadError};
use super::line::is_request;
use super::member::SampleMark;
use super::recorded_file::{FoundMembers, Member, MemberContent, members_of, open_members};
use super::ring::ring_files;
use super::times::RecordingTimes;
use super::trigger::{TriggerMark, TriggerRecord};
use crate::files::error::FileError;
use crate::files::file_id::FileId;
use crate::files::json;
use crate::snapshot::history::MAX_SAMPLES;
use crate::snapshot::{SampleHistory, Snapshot};
use crate::units::whole_milliseconds;

/// A recording: a file, or the files of a ring.
#[derive(Debug)]
pub struct Recording {
    /// The members of the files of samples in their order, each with the number of the samples before it.
    members: Vec<(usize, Member)>,
    /// Of all samples, in their order.
    marks: Vec<SampleMark>,
    /// In order of time.
    triggers: Vec<(TriggerMark, Member)>,
    /// The first that was found when it was opened.
    damage: Option<RecordingDamage>,
    /// The member that was read last.
    last_read: Option<(usize, MemberContent)>,
    /// The current view.
    position: usize,
}

impl Recording {
    /// Opens a file, or a directory that is a ring, at its first view.
    ///
    /// # Errors
    /// If it cannot be read or is no recording. Damage is no error.
    pub fn open(path: &Path) -> Result<Self, RecordingReadError> {
        if path.is_dir() {
            return Self::open_ring(path);
        }
        Ok(Self::new(open_members(path)?, Vec::new()))
    }

    /// A recording in a file that is open; messages call it `path`.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file(path: &Path, file: File) -> Result<Self, RecordingReadError> {
        let about = file.metadata();
        let about = about.map_err(|error| FileError::io("examine", path, error))?;
        let members = members_of(path, file, FileId::of_metadata(&about))?;
        Ok(Self::new(members, Vec::new()))
    }

    fn open_ring(path: &Path) -> Result<Self, RecordingReadError> {
        let (mut samples, mut triggers, mut damage) = (Vec::new(), Vec::new(), None);
        for file in ring_files(path)?.0 {
            let (members, damaged) = match open_members(&path.join(file.name())) {
                // The recorder has deleted it meanwhile.
                Err(RecordingReadError::Input(error)) if error.is_not_found() => continue,
                // After a power cut a file may hold nothing but zeros.
                Err(RecordingReadError::NotARecording(path, reason)) => {
                    let damage = RecordingDamage {
                        path,
                        offset: 0,
                        bytes: file.bytes,
                        reason: reason.to_owned(),
                    };
                    (Vec::new(), Some(damage))
                }
                found => found?,
            };
            damage = damage.or(damaged);
            if file.is_trigger {
                triggers.extend(members.into_iter().next());
            } else {
                samples.extend(members);
            }
        }
        if samples.is_empty() && triggers.is_empty() {
            let reason = "it is a directory without a file of a ring";
            return Err(RecordingReadError::NotARecording(path.to_owned(), reason));
        }
        Ok(Self::new((samples, damage), triggers))
    }

    fn new((samples, damage): FoundMembers, triggers: Vec<Member>) -> Self {
        let (mut members, mut marks) = (Vec::new(), Vec::new());
        for member in samples {
            let before = marks.len();
            marks.extend(&member.marks);
            members.push((before, member));
        }
        let mut recording = Self {
            members,
            marks,
            triggers: Vec::new(),
            damage,
            last_read: None,
            position: 0,
        };
        let mark = |member: &Member| {
            let time_ms = member.marks.first()?.time_ms;
            let view = recording.view_at(time_ms);
            Some(TriggerMark { view, time_ms })
        };
        let marked = triggers.into_iter().filter_map(|it| Some((mark(&it)?, it)));
        let mut marked: Vec<_> = marked.collect();
        marked.sort_by_key(|(mark, _)| mark.time_ms);
        recording.triggers = marked;
        recording
    }

    fn all_members(&self) -> impl Iterator<Item = &Member> {
        let of_triggers = self.triggers.iter().map(|(_, member)| member);
        self.members
            .iter()
            .map(|(_, member)| member)
            .chain(of_triggers)
    }

    /// The identity of its files; one may occur several times.
    #[must_use]
    pub fn file_ids(&self) -> Vec<FileId> {
        self.all_members().map(|member| member.file.id).collect()
    }

    /// Number of samples.
    #[must_use]
    pub fn view_count(&self) -> usize {
        self.marks.len()
    }

    /// Whether it contains single requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        self.all_members().any(|member| member.has_requests)
    }

    /// The first damage that was found when it was opened: what is wrong within a member is found when
    /// that is read.
    #[must_use]
    pub fn damage(&self) -> Option<&RecordingDamage> {
        self.damage.as_ref()
    }

    /// Whether the recorder has ended it; otherwise it was killed, or is still recording.
    #[must_use]
    pub fn ended_cleanly(&self) -> bool {
        self.members
            .last()
            .is_some_and(|(_, last)| last.is_complete())
    }

    /// What is known of the samples without decompressing them, in their order.
    #[must_use]
    pub fn view_marks(&self) -> &[SampleMark] {
        &self.marks
    }

    /// First and last time; `None` without a view that can be read.
    pub fn times(&mut self) -> Option<RecordingTimes> {
        let times = self.marks.iter().map(|mark| mark.time_ms);
        let (first_ms, last_ms) = (times.clone().min()?, times.max()?);
        let first = (0..self.view_count()).find_map(|view| self.read_view(view).ok()?);
        first.map(|view| RecordingTimes::new(first_ms, last_ms, &view.time))
    }

    /// The last view that is not later than `time_ms`, in milliseconds since 1970, or the first view. If
    /// the clock was set back, some times occur twice: then the later view counts.
    fn view_at(&self, time_ms: u64) -> usize {
        let marks = self.marks.iter().enumerate();
        let times = marks.map(|(view, mark)| (mark.time_ms, view));
        let last = times.filter(|(time, _)| *time <= time_ms).max();
        last.map_or(0, |(_, view)| view)
    }

    /// Index of the current view, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// What is known of the current view without decompressing it.
    #[must_use]
    pub fn current_mark(&self) -> Option<SampleMark> {
        self.marks.get(self.position).copied()
    }

    /// Seeks to a view, or to the last one if there are fewer.
    pub fn seek(&mut self, view: usize) {
        self.position = view.min(self.view_count().saturating_sub(1));
    }

    /// Moves forwards, or backwards if `by` is negative, limited by the ends. False if the position
    /// did not change.
    pub fn step(&mut self, by: isize) -> bool {
        let before = self.position;
        self.seek(self.position.saturating_add_signed(by));
        self.position != before
    }

    /// Seeks to the last view that is not later than `time_ms`, in milliseconds since 1970, or to the
    /// first view.
    pub fn seek_time(&mut self, time_ms: u64) {
        self.seek(self.view_at(time_ms));
    }

    /// Seeks to the view with the highest throughput of the drives; to the first if there are
    /// several. False if no throughput is known.
    pub fn seek_busiest(&mut self) -> bool {
        let marks = self.marks.iter().enumerate().rev();
        let rates = marks.filter_map(|(view, mark)| Some((mark.bytes_per_s?, view)));
        let busiest = rates.max_by_key(|(rate, _)| *rate);
        self.position = busiest.map_or(self.position, |(_, view)| view);
        busiest.is_some()
    }

    /// Reads the current view; `None` if the recording is empty.
    ///
    /// # Errors
    /// As [`Self::read_view`].
    pub fn read_current(&mut self) -> Result<Option<Snapshot>, RecordingReadError> {
        self.read_view(self.position)
    }

    /// Reads a sample; `None` if the number is too high. Sequential access is cheapest.
    ///
    /// # Errors
    /// If its member is damaged, or the file can no longer be read.
    pub fn read_view(&mut self, view: usize) -> Result<Option<Snapshot>, RecordingReadError> {
        let Some(member) = self.member_of(view) else {
            return Ok(None);
        };
        let number = view - self.members[member].0;
        let content = self.content(member)?;
        let line = content.lines().filter(|line| !is_request(line)).nth(number);
        match parse_line(line) {
            Ok(live) => Ok(Some(live)),
            Err(reason) => Err(self.members[member].1.damage(&reason).into()),
        }
    }

    /// The current view and those before it within `length`, the oldest first, without what is damaged; at
    /// least `least` and at most `most` of them, where there are as many.
    pub fn views_within(
        &mut self,
        length: Duration,
        (least, most): (usize, usize),
    ) -> Vec<Snapshot> {
        let within = self.numbers_within(whole_milliseconds(length));
        let fewest = (self.position + 1).saturating_sub(least);
        let first = (*within.start()).min(fewest);
        let views = first.max((self.position + 1).saturating_sub(most))..=self.position;
        views
            .filter_map(|view| self.read_view(view).ok()?)
            .collect()
    }

    /// The current view and those before it within a time.
    fn numbers_within(&self, length_ms: u64) -> RangeInclusive<usize> {
        let here = self.current_mark().map_or(0, |mark| mark.time_ms);
        let begin = here.saturating_sub(length_ms);
        let is_within = |mark: &&SampleMark| mark.time_ms > begin && mark.time_ms <= here;
        let before = self.marks.iter().take(self.position).rev();
        self.position - before.take_while(is_within).count()..=self.position
    }

    /// The history of the devices as it was at the current view, for sparklines: of up to
    /// [`MAX_SAMPLES`] views, without what is damaged.
    pub fn device_history(&mut self) -> SampleHistory {
        let mut history = SampleHistory::default();
        for view in self.position.saturating_sub(MAX_SAMPLES - 1)..=self.position {
            if let Ok(Some(live)) = self.read_view(view) {
                history.record(&live);
            }
        }
        history
    }

    fn member_of(&self, view: usize) -> Option<usize> {
        let after = self.members.partition_point(|(before, _)| *before <= view);
        (view < self.view_count()).then(|| after - 1)
    }

    /// Decompresses a member of samples, unless it was the last one.
    fn content(&mut self, member: usize) -> Result<&MemberContent, RecordingReadError> {
        let last = self.last_read.take().filter(|(last, _)| *last == member);
        let content = match last {
            Some((_, content)) => content,
            None => self.members[member].1.read()?,
        };
        Ok(&self.last_read.insert((member, content)).1)
    }

    /// Calls `each` for the requests of the last `last_ms` milliseconds up to the current view, in whole
    /// views, and of the triggers at these views: one JSON object at a time, safe to print, while it
    /// returns true. The requests of a view are those since the one before it. Returns false if `each`
    /// ended the iteration.
    ///
    /// # Errors
    /// If a member is damaged, a line is no JSON object, or the file can no longer be read.
    pub fn for_each_request(
        &mut self,
        last_ms: u64,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let views = self.numbers_within(last_ms);
        let Some(end) = self.member_of(self.position) else {
            return Ok(true);
        };
        // The requests of a view may begin in the member before it.
        let begin = self.member_of(views.start().saturating_sub(1)).unwrap_or(0);
        for member in begin..=end {
            let (mut view, ref found) = self.members[member];
            if !found.has_requests {
                continue;
            }
            let lines = self.content(member)?.lines().filter(|line| {
                view += usize::from(!is_request(line));
                is_request(line) && views.contains(&view)
            });
            match pass_on(lines, each) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(reason) => return Err(self.members[member].1.damage(reason).into()),
            }
        }
        for trigger in 0..self.triggers.len() {
            if views.contains(&self.triggers[trigger].0.view)
                && !self.for_each_trigger_request(trigger, each)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Calls `each` for the requests of a trigger, as [`Self::for_each_request`].
    ///
    /// # Errors
    /// As [`Self::for_each_request`].
    pub fn for_each_trigger_request(
        &self,
        trigger: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let Some((_, member)) = self.triggers.get(trigger) else {
            return Ok(true);
        };
        let content = member.read()?;
        let requests = content.lines().filter(|line| is_request(line));
        Ok(pass_on(requests, each).map_err(|reason| member.damage(reason))?)
    }

    /// The triggers, in order of time.
    pub fn trigger_marks(&self) -> impl Iterator<Item = TriggerMark> {
        self.triggers.iter().map(|(mark, _)| *mark)
    }

    /// Reads a trigger; `None` if the number is too high.
    ///
    /// # Errors
    /// As [`Self::read_view`].
    pub fn read_trigger(
        &self,
        trigger: usize,
    ) -> Result<Option<TriggerRecord>, RecordingReadError> {
        let Some((_, member)) = self.triggers.get(trigger) else {
            return Ok(None);
        };
        let record = parse_line(member.read()?.lines().next());
        Ok(record.map_err(|reason| member.damage(&reason))?)
    }
}

/// The value of a line, or why it has none.
fn parse_line<T: DeserializeOwned>(line: Option<&[u8]>) -> Result<T, String> {
    let line = line.ok_or("a line that its index names is missing")?;
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// Passes requests on while `each` returns true; false if it ended the iteration. A line that is no JSON
/// object is an error.
fn pass_on<'l>(
    requests: impl Iterator<Item = &'l [u8]>,
    each: &mut dyn FnMut(&str) -> bool,
) -> Result<bool, &'static str> {
    for line in requests {
        let text = std::str::from_utf8(line).ok().filter(|text| {
            text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
        });
        let text = text.ok_or("a line is not a JSON object")?;
        if !each(&json::escape_controls(text)) {
            return Ok(false);
        }
    }
    Ok(true)
}
