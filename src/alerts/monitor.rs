//! Evaluates conditions over a sequence of snapshots.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use super::condition::{Condition, ConditionError};
use super::metric::exists;
use super::scope::{ScopeInstance, ScopeKind};
use crate::files::safe_text::SafeText;
use crate::probe::Wanted;
use crate::snapshot::Snapshot;

/// Conditions, in the order in which they were given; each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConditionSet(Vec<Condition>);

impl ConditionSet {
    /// Parses one condition from each text.
    ///
    /// # Errors
    /// As [`Condition::parse`], for the first text that is none.
    pub fn parse(texts: &[String]) -> Result<Self, ConditionError> {
        let mut set = Vec::new();
        for text in texts {
            let condition = Condition::parse(text)?;
            if !set.contains(&condition) {
                set.push(condition);
            }
        }
        Ok(Self(set))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What snapshots must contain, beyond what they always do, so that they can be evaluated.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for condition in &self.0 {
            (condition.source.want)(condition.metric.name, &mut wanted);
        }
        wanted
    }
}

/// A condition began to hold, for as long as it demands, for one instance of its scope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trigger {
    /// Time of the snapshot, RFC 3339.
    pub time: SafeText,
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// What it holds for.
    #[serde(flatten)]
    pub instance: ScopeInstance,
    /// The value of the metric in its unit.
    pub value: f64,
    /// Time of the first snapshot for which it has held since, RFC 3339.
    pub since: SafeText,
    /// Nanoseconds from that snapshot to this one.
    pub held_ns: u64,
}

/// The snapshots for which a condition has held in an unbroken sequence.
#[derive(Debug)]
struct HoldingPeriod {
    /// Time of the first of them.
    since: Duration,
    /// The same as RFC 3339.
    since_time: SafeText,
    /// Whether the trigger was returned.
    has_triggered: bool,
}

/// Evaluates conditions over a sequence of snapshots.
#[derive(Debug)]
pub struct ConditionMonitor {
    set: ConditionSet,
    /// For each condition the instances for which it holds.
    holding: Vec<HashMap<ScopeInstance, HoldingPeriod>>,
}

impl ConditionMonitor {
    /// Starts without a snapshot.
    #[must_use]
    pub fn new(set: ConditionSet) -> Self {
        Self {
            holding: set.0.iter().map(|_| HashMap::new()).collect(),
            set,
        }
    }

    /// What snapshots must contain.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.set.wanted()
    }

    /// The conditions about a device, unit or mount of which a snapshot has none. Processes come and go.
    pub fn absent<'s>(&'s self, live: &'s Snapshot) -> impl Iterator<Item = &'s Condition> {
        self.set.0.iter().filter(|condition| {
            let scope = &condition.scope;
            let is_named = scope.name.is_some() && scope.kind != ScopeKind::Process;
            is_named && !exists(scope, live)
        })
    }

    /// Evaluates the next snapshot; `now` is its time on a monotonic clock that includes suspension
    /// (`SystemSample::boot_time`).
    ///
    /// A trigger is returned once, when the condition has held for its duration. It is returned
    /// again after the condition was false, or the value unknown, in a snapshot between: an unknown
    /// value neither triggers nor keeps a condition. In the first snapshot of a sampler all rates
    /// are unknown.
    pub fn observe(&mut self, live: &Snapshot, now: Duration) -> Vec<Trigger> {
        let mut triggers = Vec::new();
        for (condition, holding) in self.set.0.iter().zip(&mut self.holding) {
            let mut before = std::mem::take(holding);
            let name = condition.metric.name;
            for (instance, value) in (condition.source.in_scope)(name, &condition.scope, live) {
                let Some(value) = value.filter(|value| condition.holds_for(*value)) else {
                    continue;
                };
                // Another thread of the same process, blocked for a shorter time.
                if holding.contains_key(&instance) {
                    continue;
                }
                let mut period = before.remove(&instance).unwrap_or_else(|| HoldingPeriod {
                    since: now,
                    since_time: live.time.clone(),
                    has_triggered: false,
                });
                let held = now.saturating_sub(period.since);
                if !period.has_triggered && held >= condition.duration {
                    period.has_triggered = true;
                    triggers.push(Trigger {
                        time: live.time.clone(),
                        condition: condition.clone(),
                        instance: instance.clone(),
                        value,
                        since: period.since_time.clone(),
                        held_ns: u64::try_from(held.as_nanos()).unwrap_or(u64::MAX),
                    });
                }
                holding.insert(instance, period);
            }
        }
        triggers
    }

    /// For each condition, in order, whether it holds now, for as long as it demands, for any
    /// instance.
    pub fn firing(&self) -> impl Iterator<Item = (&Condition, bool)> {
        let conditions = self.set.0.iter();
        conditions.zip(&self.holding).map(|(condition, holding)| {
            let fires = holding.values().any(|period| period.has_triggered);
            (condition, fires)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DriveKind;
    use crate::probe::SystemSample;
    use crate::probe::sample::UnitKind;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::{
        BlockedTaskView, DeviceView, IoErrorsView, MountView, ProcessView, UnitView,
    };

    fn monitor(texts: &[&str]) -> ConditionMonitor {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        ConditionMonitor::new(ConditionSet::parse(&texts).unwrap())
    }

    fn snapshot() -> Snapshot {
        ViewBuilder::default().update(SystemSample::default().into())
    }

    /// A snapshot with two drives, a partition of the first, and a volume; the value is the busy
    /// fraction of the first.
    fn with_busy(busy: Option<f64>) -> Snapshot {
        let device = |name: &str, busy| DeviceView {
            name: name.into(),
            busy,
            ..DeviceView::default()
        };
        let mut live = snapshot();
        live.devices = vec![
            device("sda", busy),
            DeviceView {
                kind: Some(DriveKind::Partition),
                ..device("sda1", busy)
            },
            DeviceView {
                label: "vg0-data".into(),
                ..device("dm-0", Some(0.5))
            },
            device("sdb", None),
        ];
        live
    }

    /// Names of the instances that triggered in each snapshot, one per second.
    fn triggered(monitor: &mut ConditionMonitor, snapshots: &[Snapshot]) -> Vec<Vec<String>> {
        let observe = |(second, live): (u64, &Snapshot)| {
            let triggers = monitor.observe(live, Duration::from_secs(second));
            let names = triggers.iter().map(|it| it.instance.name.to_string());
            names.collect()
        };
        (100..).zip(snapshots).map(observe).collect()
    }

    #[test]
    fn condition_triggers_once_when_it_has_held_for_its_duration() {
        let values = [0.95, 0.95, 0.95, 0.95, 0.1, 0.95, 0.95, 0.95, 0.95];
        let snapshots = values.map(|busy| with_busy(Some(busy)));
        let mut monitor = monitor(&["busy(sda)>90% for 2s"]);
        let found = triggered(&mut monitor, &snapshots);
        let at: Vec<usize> = (0..found.len()).filter(|i| !found[*i].is_empty()).collect();
        assert_eq!(at, [2, 7]);
        let (_, fires) = monitor.firing().next().unwrap();
        assert!(fires);
    }

    #[test]
    fn unknown_value_neither_triggers_nor_keeps_a_condition() {
        let values = [Some(0.95), Some(0.95), None, Some(0.95), Some(0.95)];
        let snapshots = values.map(with_busy);
        let found = triggered(&mut monitor(&["busy(sda)>90% for 2s"]), &snapshots);
        assert!(found.iter().all(Vec::is_empty), "{found:?}");
        let below = triggered(&mut monitor(&["busy(sdb)<10%"]), &snapshots);
        assert!(below.iter().all(Vec::is_empty), "unknown is not 0");
    }

    #[test]
    fn trigger_says_what_holds_since_when() {
        let mut monitor = monitor(&["busy(vg0-data)>=50% for 10s"]);
        let mut live = with_busy(None);
        live.time = "2026-01-01T00:00:00Z".into();
        assert_eq!(monitor.observe(&live, Duration::from_secs(5)), []);
        live.time = "2026-01-01T00:00:12Z".into();
        let triggers = monitor.observe(&live, Duration::from_secs(17));
        let [trigger] = triggers.as_slice() else {
            panic!("{triggers:?}");
        };
        assert_eq!(&*trigger.instance.name, "dm-0");
        assert_eq!(&*trigger.instance.label, "vg0-data");
        assert_eq!((trigger.value, trigger.held_ns), (0.5, 12_000_000_000));
        assert_eq!(&*trigger.since, "2026-01-01T00:00:00Z");
        let json = serde_json::to_string(trigger).unwrap();
        assert!(json.contains("\"scope\":\"device\""), "{json}");
    }

    #[test]
    fn any_device_is_any_but_a_partition() {
        let found = triggered(&mut monitor(&["busy(any)>40%"]), &[with_busy(Some(0.95))]);
        assert_eq!(found, [["sda", "dm-0"]]);
        let absent = |text| monitor(&[text]).absent(&with_busy(None)).count() == 1;
        assert!(absent("busy(sdx)>1%") && absent("available(/srv)<5%"));
        assert!(!absent("busy(vg0-data)>1%") && !absent("dstate(cp)>1s"));
        assert!(!absent("io_errors(sda)>0") && absent("io_errors(sdx)>0"));
        let found = triggered(&mut monitor(&["busy(sda1)>40%"]), &[with_busy(Some(0.95))]);
        assert_eq!(found, [["sda1"]]);
    }

    #[test]
    fn blocked_processes_and_errors_of_vanished_devices_trigger() {
        let task = |pid, tid, blocked_ns| BlockedTaskView {
            pid,
            tid,
            command: "/usr/bin/dd if=x".into(),
            blocked_ns,
            ..BlockedTaskView::default()
        };
        let mut live = snapshot();
        live.blocked = Some(vec![task(7, 8, 40_000_000_000), task(7, 7, 35_000_000_000)]);
        live.io_errors = Some(vec![IoErrorsView {
            device: "sdz".into(),
            logged: Some(3),
            ..IoErrorsView::default()
        }]);
        let mut all = monitor(&["dstate(any)>30s", "dstate(dd)>30s", "dstate(7)>30s"]);
        assert_eq!(all.observe(&live, Duration::ZERO).len(), 3);
        let mut none = monitor(&["dstate(cp)>30s", "dstate(8)>30s", "dstate(any)>40s"]);
        assert_eq!(none.observe(&live, Duration::ZERO), []);
        let found = triggered(&mut monitor(&["io_errors(any)>0"]), &[live]);
        assert_eq!(found, [["sdz"]]);
    }

    #[test]
    fn units_mounts_processes_and_the_system_are_scopes() {
        let mut live = snapshot();
        live.host.pressure_full = Some(0.2);
        live.processes = vec![ProcessView {
            pid: 5,
            tid: 5,
            command: "rsync -a".into(),
            read_bytes_per_s: Some(2e6),
            ..ProcessView::default()
        }];
        live.units = Some(vec![UnitView {
            path: "/system.slice/a.service".into(),
            name: "a.service".into(),
            kind: UnitKind::Service,
            read_bytes_per_s: None,
            write_bytes_per_s: None,
            read_ios_per_s: None,
            write_ios_per_s: None,
            pressure_some: Some(0.5),
            pressure_full: None,
            limits: Vec::new(),
        }]);
        let mount = |mount_point: &str, file_system: &str| MountView {
            mount_point: mount_point.into(),
            file_system: file_system.into(),
            size_bytes: Some(1000),
            available_bytes: Some(40),
            ..MountView::default()
        };
        live.mounts = Some(vec![mount("/", "ext4"), mount("/snap/x", "squashfs")]);
        for (text, names) in [
            ("pressure_full(system)>=20%", vec![""]),
            ("pressure_full(system)>20%", vec![]),
            ("pressure_some(any)>40%", vec!["/system.slice/a.service"]),
            (
                "pressure_some(a.service)>40%",
                vec!["/system.slice/a.service"],
            ),
            ("pressure_full(a.service)<40%", vec![]),
            ("read_bytes_per_s(process:rsync)>1MB/s", vec!["rsync -a"]),
            ("read_bytes_per_s(rsync)>1MB/s", vec![]),
            ("available(any)<5%", vec!["/"]),
            ("available_bytes(/snap/x)<50", vec!["/snap/x"]),
        ] {
            let found = triggered(&mut monitor(&[text]), &[live.clone()]);
            assert_eq!(found, [names], "{text}");
        }
    }
}
