//! A recording that is read: its samples, requests and triggers.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};

use super::member::SampleMark;
use super::recorded_file::{MemberContent, RecordedFile, RecordingDamage, RecordingReadError};
use super::ring::RingFileName;
use super::stream::is_request;
use super::trigger::{TriggerMark, TriggerRecord};
use crate::files::file_id::FileId;
use crate::files::json;
use crate::snapshot::Snapshot;

/// What is wrong with a request.
const NOT_AN_OBJECT: &str = "a line is not a JSON object";

/// A recording: a file, or the files of a ring.
#[derive(Debug)]
pub struct Recording {
    /// The files of samples in their order.
    files: Vec<RecordedFile>,
    /// Their members.
    members: Vec<MemberPlace>,
    sample_count: usize,
    /// In order of time.
    triggers: Vec<RecordedTrigger>,
    /// A file of the ring that is none of a recording.
    damaged_file: Option<RecordingDamage>,
    /// The member that was read last.
    last_read: Option<(usize, MemberContent)>,
}

/// A member of a file of samples.
#[derive(Debug)]
struct MemberPlace {
    file: usize,
    member: usize,
    /// Number of the samples before it.
    first_sample: usize,
}

#[derive(Debug)]
struct RecordedTrigger {
    mark: TriggerMark,
    file: RecordedFile,
}

impl Recording {
    /// Opens a file, or a directory that is a ring.
    ///
    /// # Errors
    /// If it cannot be read or is no recording. Damage is no error.
    pub fn open(path: &Path) -> Result<Self, RecordingReadError> {
        if path.is_dir() {
            return Self::open_ring(path);
        }
        Ok(Self::new(vec![RecordedFile::open(path)?], Vec::new()))
    }

    /// A recording in a file that is open; messages call it `path`.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file(path: &Path, file: File) -> Result<Self, RecordingReadError> {
        let about = file.metadata().map_err(|source| RecordingReadError::Io {
            tried: "examine",
            path: path.to_owned(),
            source,
        })?;
        let id = FileId::of_metadata(&about);
        Ok(Self::new(
            vec![RecordedFile::of_file(path, file, id)?],
            Vec::new(),
        ))
    }

    fn open_ring(path: &Path) -> Result<Self, RecordingReadError> {
        let (mut samples, mut triggers, mut damaged_file) = (Vec::new(), Vec::new(), None);
        for (name, path) in ring_files(path)? {
            let file = match RecordedFile::open(&path) {
                // The recorder has deleted it meanwhile.
                Err(RecordingReadError::Input(error)) if error.is_not_found() => continue,
                // After a power cut a file may hold nothing but zeros.
                Err(RecordingReadError::NotARecording { reason, .. }) => {
                    damaged_file = Some(RecordingDamage::of_file(path, reason));
                    continue;
                }
                file => file?,
            };
            // A file may have been made and not written yet.
            if file.members.is_empty() {
                continue;
            }
            if name.is_trigger {
                triggers.push(file);
            } else {
                samples.push(file);
            }
        }
        if samples.is_empty() && triggers.is_empty() {
            return Err(RecordingReadError::NotARecording {
                path: path.to_owned(),
                reason: "it is a directory without a file of a ring".to_owned(),
            });
        }
        Ok(Self {
            damaged_file,
            ..Self::new(samples, triggers)
        })
    }

    fn new(files: Vec<RecordedFile>, triggers: Vec<RecordedFile>) -> Self {
        let mut members = Vec::new();
        let mut sample_count = 0;
        for (file, recorded) in files.iter().enumerate() {
            for (member, found) in recorded.members.iter().enumerate() {
                members.push(MemberPlace {
                    file,
                    member,
                    first_sample: sample_count,
                });
                sample_count += found.marks.len();
            }
        }
        let mut recording = Self {
            files,
            members,
            sample_count,
            triggers: Vec::new(),
            damaged_file: None,
            last_read: None,
        };
        recording.triggers = recording.place_triggers(triggers);
        recording
    }

    /// The triggers with the samples at which they are shown.
    fn place_triggers(&self, files: Vec<RecordedFile>) -> Vec<RecordedTrigger> {
        // The latest time up to each sample: where the clock was set back, the first later one counts.
        let mut latest: Vec<u64> = self.view_marks().map(|mark| mark.time_ms).collect();
        for sample in 1..latest.len() {
            latest[sample] = latest[sample].max(latest[sample - 1]);
        }
        let mut triggers: Vec<RecordedTrigger> = files
            .into_iter()
            .filter_map(|file| {
                let time_ms = file.members.first()?.marks.first()?.time_ms;
                let later = latest.partition_point(|time| *time <= time_ms);
                let view = later.saturating_sub(1);
                let mark = TriggerMark { view, time_ms };
                Some(RecordedTrigger { mark, file })
            })
            .collect();
        triggers.sort_by_key(|trigger| trigger.mark.time_ms);
        triggers
    }

    fn all_files(&self) -> impl Iterator<Item = &RecordedFile> {
        let of_triggers = self.triggers.iter().map(|trigger| &trigger.file);
        self.files.iter().chain(of_triggers)
    }

    /// The identity of its files.
    #[must_use]
    pub fn file_ids(&self) -> Vec<FileId> {
        self.all_files().map(|file| file.id).collect()
    }

    /// Number of samples.
    #[must_use]
    pub fn view_count(&self) -> usize {
        self.sample_count
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sample_count == 0
    }

    /// The first damage that was found when it was opened: what is wrong within a member is found when
    /// that is read.
    #[must_use]
    pub fn damage(&self) -> Option<&RecordingDamage> {
        let within = self.all_files().find_map(|file| file.damage.as_ref());
        within.or(self.damaged_file.as_ref())
    }

    /// Whether the recorder has ended it; otherwise it was killed, or is still recording.
    #[must_use]
    pub fn ended_cleanly(&self) -> bool {
        self.files.last().is_some_and(RecordedFile::is_complete)
    }

    /// What is known of a sample without decompressing it.
    #[must_use]
    pub fn view_mark(&self, view: usize) -> Option<SampleMark> {
        let (place, number) = self.place_of(view)?;
        let member = &self.files[place.file].members[place.member];
        member.marks.get(number).copied()
    }

    /// The same of all samples in order.
    pub fn view_marks(&self) -> impl Iterator<Item = SampleMark> {
        let members = self.files.iter().flat_map(|file| &file.members);
        members.flat_map(|member| member.marks.iter().copied())
    }

    /// The member of a sample, and its number in it.
    fn place_of(&self, view: usize) -> Option<(&MemberPlace, usize)> {
        let place = &self.members[self.member_of(view)?];
        Some((place, view - place.first_sample))
    }

    fn member_of(&self, view: usize) -> Option<usize> {
        let after = self
            .members
            .partition_point(|place| place.first_sample <= view);
        (view < self.sample_count).then(|| after - 1)
    }

    /// Reads a sample; `None` if the number is too high. Sequential access is cheapest.
    ///
    /// # Errors
    /// If its member is damaged, or the file can no longer be read.
    pub fn read_view(&mut self, view: usize) -> Result<Option<Snapshot>, RecordingReadError> {
        let Some(member) = self.member_of(view) else {
            return Ok(None);
        };
        let number = view - self.members[member].first_sample;
        let content = self.content(member)?;
        let line = content.lines().filter(|line| !is_request(line)).nth(number);
        match parse_line(line) {
            Ok(live) => Ok(Some(live)),
            Err(reason) => Err(self.invalid_line(member, &reason)),
        }
    }

    /// Decompresses a member of samples, unless it was the last one.
    fn content(&mut self, member: usize) -> Result<&MemberContent, RecordingReadError> {
        let last = self.last_read.take().filter(|(last, _)| *last == member);
        let content = match last {
            Some((_, content)) => content,
            None => {
                let place = &self.members[member];
                self.files[place.file].read(place.member)?
            }
        };
        Ok(&self.last_read.insert((member, content)).1)
    }

    fn invalid_line(&self, member: usize, reason: &str) -> RecordingReadError {
        let place = &self.members[member];
        self.files[place.file].invalid_line(place.member, reason)
    }

    /// Calls `each` for the requests between the previous sample and this one, and those of the triggers
    /// at this one: one JSON object at a time, safe to print, while it returns true. Returns false if it
    /// ended the iteration.
    ///
    /// # Errors
    /// If a member is damaged, a line is no JSON object, or the file can no longer be read.
    pub fn for_each_request(
        &mut self,
        view: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let Some(end) = self.member_of(view) else {
            return Ok(true);
        };
        let begin = view
            .checked_sub(1)
            .and_then(|before| self.member_of(before));
        for member in begin.unwrap_or(0)..=end {
            if !self.for_each_request_of(member, view, each)? {
                return Ok(false);
            }
        }
        for trigger in 0..self.triggers.len() {
            if self.triggers[trigger].mark.view == view
                && !self.for_each_trigger_request(trigger, each)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for one member.
    fn for_each_request_of(
        &mut self,
        member: usize,
        view: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let place = &self.members[member];
        if !self.files[place.file].members[place.member].has_requests {
            return Ok(true);
        }
        let mut next_view = place.first_sample;
        let invalid = self.invalid_line(member, NOT_AN_OBJECT);
        for line in self.content(member)?.lines() {
            if !is_request(line) {
                next_view += 1;
            } else if next_view == view {
                match printable_object(line) {
                    Some(text) if each(&text) => {}
                    Some(_) => return Ok(false),
                    None => return Err(invalid),
                }
            }
        }
        Ok(true)
    }

    /// Calls `each` for the requests of a trigger, as [`Self::for_each_request`].
    ///
    /// # Errors
    /// As [`Self::for_each_request`].
    pub fn for_each_trigger_request(
        &mut self,
        trigger: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, RecordingReadError> {
        let Some(RecordedTrigger { file, .. }) = self.triggers.get(trigger) else {
            return Ok(true);
        };
        for member in 0..file.members.len() {
            let content = file.read(member)?;
            for line in content.lines().filter(|line| is_request(line)) {
                let text = printable_object(line)
                    .ok_or_else(|| file.invalid_line(member, NOT_AN_OBJECT))?;
                if !each(&text) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The triggers, in order of time.
    pub fn trigger_marks(&self) -> impl Iterator<Item = TriggerMark> {
        self.triggers.iter().map(|trigger| trigger.mark)
    }

    /// Reads a trigger; `None` if the number is too high.
    ///
    /// # Errors
    /// As [`Self::read_view`].
    pub fn read_trigger(
        &mut self,
        trigger: usize,
    ) -> Result<Option<TriggerRecord>, RecordingReadError> {
        let Some(RecordedTrigger { file, .. }) = self.triggers.get(trigger) else {
            return Ok(None);
        };
        let content = file.read(0)?;
        let mut record: TriggerRecord =
            parse_line(content.lines().next()).map_err(|reason| file.invalid_line(0, &reason))?;
        if !file.is_complete() {
            // The recorder was killed before it had written all requests.
            let mut count = 0;
            self.for_each_trigger_request(trigger, &mut |_| {
                count += 1;
                true
            })?;
            record.requests.kept = count;
        }
        Ok(Some(record))
    }

    /// Whether it contains single requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        let mut members = self.all_files().flat_map(|file| &file.members);
        members.any(|member| member.has_requests)
    }
}

/// The files of a ring, in their order.
fn ring_files(path: &Path) -> Result<Vec<(RingFileName, PathBuf)>, RecordingReadError> {
    let failed = |source| RecordingReadError::Io {
        tried: "list",
        path: path.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if let Some(name) = RingFileName::parse(&entry.file_name()) {
            files.push((name, entry.path()));
        }
    }
    files.sort();
    Ok(files)
}

/// The value of a line, or why it has none.
fn parse_line<T: DeserializeOwned>(line: Option<&[u8]>) -> Result<T, String> {
    let line = line.ok_or("a line that its index names is missing")?;
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// A line that is a JSON object, without control characters; `None` for another one.
fn printable_object(line: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let text = std::str::from_utf8(line).ok()?;
    let is_object = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    (is_object && !text.bytes().any(|byte| byte < b' ')).then(|| json::escape_controls(text))
}
