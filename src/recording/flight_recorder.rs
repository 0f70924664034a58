//! Watches for the conditions of a flight recorder, and collects what is kept around a trigger.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::trigger::{
    BEFORE_TRIGGER, BlockedThread, KeptRequests, Observation, RecordedDiagnosis, TriggerRecord,
};
use crate::alerts::{Condition, ConditionMonitor, ConditionSet, Trigger};
use crate::files::safe_text::SafeText;
use crate::probe::facts::{BlockedDetails, FactsReader};
use crate::probe::process::task_scan::BlockedTask;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::trace::requests::{DeviceNumber, RequestLine, TracedRequest};
use crate::trace::retained_requests::{RetainedRequestTrace, RetainedRequests};
use crate::why::recorder::{WindowRecorder, process_of};
use crate::why::requests::RequestEvidence;
use crate::why::{Diagnosis, DiagnosisDocument, diagnose, diagnosis_text};

/// A condition does not trigger again before this time has passed.
const TRIGGER_PAUSE: Duration = Duration::from_secs(300);
/// Time between two samples after a trigger, if the interval is longer.
pub const TRIGGER_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Snapshots before a trigger that are diagnosed at least, whatever the interval.
const MIN_SNAPSHOTS: usize = 3;
/// Blocked threads that are kept at most.
const MAX_BLOCKED: usize = 64;
/// Conditions that are kept at most beside the first one of a trigger.
const MAX_FURTHER: usize = 64;

/// Watches for triggers.
#[derive(Debug)]
pub struct FlightRecorder {
    roots: SysPaths,
    monitor: ConditionMonitor,
    /// The trace, or why there is none.
    trace: Result<RetainedRequestTrace, SafeText>,
    most_requests: usize,
    /// Snapshots of the last seconds with their times on the boot clock.
    recent: VecDeque<(Duration, Arc<Snapshot>)>,
    /// The conditions that do not trigger again now, and since when.
    paused: Vec<(Condition, Duration)>,
    pending: Option<PendingTrigger>,
}

/// A trigger whose time after it has not passed yet.
#[derive(Debug)]
struct PendingTrigger {
    record: TriggerRecord,
    /// Time of the trigger on the boot clock.
    at: Duration,
    /// Snapshots before it.
    before: Vec<Arc<Snapshot>>,
    window: WindowRecorder,
}

impl FlightRecorder {
    /// Starts watching, and tracing requests into the kernel's memory where that is permitted. At
    /// most `most_requests` of them are kept for a trigger.
    #[must_use]
    pub fn start(roots: SysPaths, conditions: ConditionSet, most_requests: usize) -> Self {
        let trace =
            RetainedRequestTrace::start(&roots).map_err(|error| SafeText::from(error.to_string()));
        Self {
            monitor: ConditionMonitor::new(conditions),
            trace,
            most_requests,
            recent: VecDeque::new(),
            paused: Vec::new(),
            pending: None,
            roots,
        }
    }

    /// Why no requests can be kept; `None` where they can.
    #[must_use]
    pub fn trace_problem(&self) -> Option<&SafeText> {
        self.trace.as_ref().err()
    }

    /// Adds a snapshot of this time on the boot clock. Returns the conditions that triggered: the
    /// first one begins a trigger, which is pending until it is finished, and all others belong to
    /// the pending one.
    pub fn observe(&mut self, live: &Arc<Snapshot>, now: Duration) -> Vec<Trigger> {
        self.remember(live, now);
        if let Some(pending) = &mut self.pending {
            pending.window.add_snapshot(Arc::clone(live));
        }
        self.paused
            .retain(|(_, since)| now.saturating_sub(*since) < TRIGGER_PAUSE);
        let mut triggers = self.monitor.observe(live, now);
        let is_paused = |condition: &Condition| self.paused.iter().any(|(it, _)| it == condition);
        triggers.retain(|trigger| !is_paused(&trigger.condition));
        for trigger in &triggers {
            self.paused.push((trigger.condition.clone(), now));
            self.keep_trigger(trigger, now);
        }
        triggers
    }

    fn keep_trigger(&mut self, trigger: &Trigger, now: Duration) {
        let observed = observed(trigger);
        if let Some(PendingTrigger { record, .. }) = &mut self.pending {
            if record.further.len() < MAX_FURTHER {
                record.further.push(observed);
            }
            return;
        }
        let recent = self.recent.iter().map(|(_, live)| live);
        self.pending = Some(PendingTrigger {
            record: TriggerRecord {
                first: observed,
                blocked: blocked_threads(&self.roots),
                ..TriggerRecord::default()
            },
            at: now,
            // The first snapshot of a sampler has no rates.
            before: recent.filter(|it| it.interval.is_some()).cloned().collect(),
            window: WindowRecorder::begin(self.roots.clone(), false),
        });
    }

    /// Scans the tasks if a trigger is pending.
    pub fn scan(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.window.scan();
        }
    }

    /// Ends the time after the pending trigger: reads the requests and diagnoses. Returns what is to be
    /// recorded: the trigger, and the requests as lines of JSON.
    pub fn finish_pending(&mut self) -> Option<(TriggerRecord, Vec<u8>)> {
        let mut pending = self.pending.take()?;
        let at = nanoseconds(pending.at);
        let from = nanoseconds(pending.at.saturating_sub(BEFORE_TRIGGER));
        let taken = match &mut self.trace {
            Ok(trace) => trace
                .take((from, at), self.most_requests)
                .map_err(|error| SafeText::from(error.to_string())),
            Err(reason) => Err(reason.clone()),
        };
        let mut window = pending.window.finish();
        window.snapshots.splice(..0, pending.before);
        let mut requests = Vec::new();
        match taken {
            Ok(taken) => {
                window.requests = request_evidence(&self.roots, &taken);
                pending.record.requests = KeptRequests {
                    kept: taken.requests.len() as u64,
                    left_out: taken.left_out,
                    reach_ns: Some(at.saturating_sub(taken.complete_since.max(from))),
                    lost_events: taken.dropped_events,
                    in_flight: taken.in_flight,
                    ..KeptRequests::default()
                };
                requests = request_lines(&taken, from);
            }
            Err(reason) => pending.record.requests.unavailable = Some(reason),
        }
        pending.record.diagnosis = diagnose(&window).map(recorded_diagnosis);
        Some((pending.record, requests))
    }

    /// Keeps the snapshots of the time before a trigger.
    fn remember(&mut self, live: &Arc<Snapshot>, now: Duration) {
        self.recent.push_back((now, Arc::clone(live)));
        let is_old = |(at, _): &(Duration, _)| now.saturating_sub(*at) > BEFORE_TRIGGER;
        while self.recent.len() > MIN_SNAPSHOTS && self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
    }
}

/// What a trigger says, as it is recorded.
fn observed(trigger: &Trigger) -> Observation {
    let value = trigger.condition.metric.unit.format(trigger.value);
    Observation {
        time: trigger.time.clone(),
        condition: trigger.condition.to_string().into(),
        subject: match trigger.instance.pid {
            Some(pid) => format!("{pid} {}", trigger.instance.name).into(),
            None => trigger.instance.name.clone(),
        },
        value: trigger.value,
        value_text: value.into(),
    }
}

/// The threads in uninterruptible sleep, with their kernel stacks where root allows.
fn blocked_threads(roots: &SysPaths) -> Vec<BlockedThread> {
    let mut facts = FactsReader::new(roots.clone());
    let sample = facts.read();
    let scan = facts.scan().unwrap_or_default();
    let examine = |task: &BlockedTask| {
        let stack = BlockedDetails::read(roots, &sample.mounts, task).stack;
        BlockedThread {
            pid: task.pid,
            tid: task.tid,
            name: SafeText::from_bytes(&task.name),
            wait_channel: task.wait_channel.as_ref().map(SafeText::from),
            stack: stack.map(|stack| stack.iter().map(SafeText::from).collect()),
        }
    };
    scan.blocked.iter().take(MAX_BLOCKED).map(examine).collect()
}

/// The evidence of the drive with the most requests in flight: the sum of their times.
fn request_evidence(roots: &SysPaths, taken: &RetainedRequests) -> Option<RequestEvidence> {
    let mut times: BTreeMap<DeviceNumber, u64> = BTreeMap::new();
    for request in &taken.requests {
        let (begin, end) = (
            request.timestamps.first_timestamp(),
            request.timestamps.completed,
        );
        *times.entry(request.device).or_default() += end.saturating_sub(begin);
    }
    let (busiest, _) = times.into_iter().max_by_key(|(_, time)| *time)?;
    let name = taken.drive_names.get(&busiest)?;
    let requests = taken.requests.iter().filter(|it| it.device == busiest);
    let requests: Vec<TracedRequest> = requests.cloned().collect();
    let evidence = RequestEvidence::new(name.into(), &requests, |tid| process_of(roots, tid));
    Some(evidence)
}

/// The requests as lines of JSON, whose times count from `begin`.
fn request_lines(taken: &RetainedRequests, begin: u64) -> Vec<u8> {
    let mut lines = Vec::new();
    for request in &taken.requests {
        let number = request.device;
        let name = taken.drive_names.get(&number).cloned();
        let name = name.unwrap_or_else(|| format!("{}:{}", number.0, number.1));
        let line = RequestLine::new(request, &name, begin);
        // A request has no value without a form in JSON.
        lines.extend(serde_json::to_vec(&line).unwrap_or_default());
        lines.push(b'\n');
    }
    lines
}

fn recorded_diagnosis(mut diagnosis: Diagnosis) -> RecordedDiagnosis {
    diagnosis.remove_process_remedies();
    let text = diagnosis_text(&diagnosis, true);
    RecordedDiagnosis {
        sentence: diagnosis.conclusion().into(),
        text: text.lines().map(SafeText::from).collect(),
        document: serde_json::to_value(DiagnosisDocument::new(&diagnosis)).unwrap_or_default(),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ViewBuilder;
    use crate::why::remedies::{ProcessInstance, kernel_log, pause};
    use crate::why::{Cause, Remedy, Severity};

    /// A snapshot of that second with these shares of time in which tasks wait for I/O and memory.
    fn snapshot(second: u64, io: f64, memory: f64) -> Arc<Snapshot> {
        let mut live = ViewBuilder::default().update(Arc::default());
        live.time = format!("2026-01-01T00:00:{second:02}Z").into();
        live.interval = Some(Duration::from_secs(1));
        live.host.pressure_some = Some(io);
        live.host.memory_pressure_some = Some(memory);
        Arc::new(live)
    }

    /// A diagnosis with these measures.
    fn diagnosis(remedies: &[Remedy]) -> Diagnosis {
        let mut cause = Cause::new(
            "dirty-throttled",
            Severity::Warning,
            &"2026-01-01T00:00:01Z".into(),
        );
        cause.remedies = remedies.to_vec();
        Diagnosis {
            causes: vec![cause],
            ..Diagnosis::default()
        }
    }

    #[test]
    fn diagnosis_of_a_trigger_is_read_back_as_it_was_printed() {
        let diagnosis = diagnosis(&[kernel_log()]);
        let printed = diagnosis_text(&diagnosis, true);
        let command = "\n  do           messages of the kernel:\n                 dmesg ";
        assert!(printed.contains(command), "{printed}");
        let stored = serde_json::to_string(&recorded_diagnosis(diagnosis)).unwrap();
        let read: RecordedDiagnosis = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.text.join("\n") + "\n", printed);
    }

    #[test]
    fn diagnosis_of_a_trigger_has_no_measure_for_a_process_number() {
        let process = ProcessInstance {
            pid: 4711,
            start_ticks: 1,
        };
        let remedies = [kernel_log(), pause(process)];
        assert_eq!(
            recorded_diagnosis(diagnosis(&remedies)),
            recorded_diagnosis(diagnosis(&[kernel_log()]))
        );
    }

    #[test]
    fn condition_that_triggers_in_the_time_after_another_is_kept_with_it() {
        let empty = tempfile::tempdir().unwrap();
        let texts = [
            "pressure_some(system)>50%",
            "memory_pressure_some(system)>50%",
        ];
        let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
        let conditions = ConditionSet::parse(&texts).unwrap();
        let mut recorder =
            FlightRecorder::start(SysPaths::under_root(empty.path()), conditions, 100);
        let mut observe = |second, io, memory| {
            let at = Duration::from_secs(1000 + second);
            recorder.observe(&snapshot(second, io, memory), at).len()
        };
        assert_eq!(observe(1, 0.1, 0.1), 0);
        assert_eq!(observe(2, 0.8, 0.1), 1);
        assert_eq!(observe(3, 0.8, 0.8), 1);
        // Neither holds anew within the pause.
        assert_eq!(observe(4, 0.1, 0.1), 0);
        assert_eq!(observe(5, 0.8, 0.8), 0);
        let record = recorder.finish_pending().unwrap().0;
        assert_eq!(record.first.condition.as_str(), texts[0]);
        assert_eq!(record.further.len(), 1, "{record:?}");
        assert_eq!(record.further[0].condition.as_str(), texts[1]);
        assert_eq!(record.further[0].time.as_str(), "2026-01-01T00:00:03Z");
        assert!(recorder.finish_pending().is_none());
    }
}
