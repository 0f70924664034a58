//! Rates of control groups.

use std::collections::{HashMap, HashSet};

use super::view::{DeviceView, UnitLimit, UnitView};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::{ControlGroupSample, DeviceIo, IoLimit, PressureLine, PressureStall};
use crate::stats::sorting::SortList as _;

/// The units of a sample, the busiest first; `None` where control groups were not sampled.
///
/// Only drives are counted: what a group does on a device that is on top of others is counted there
/// too.
#[must_use]
pub fn unit_views(interval: &SampleInterval<'_>, devices: &[DeviceView]) -> Option<Vec<UnitView>> {
    let now = units_of(interval.current)?;
    let before: HashMap<&str, &ControlGroupSample> = interval
        .previous
        .and_then(units_of)
        .into_iter()
        .flatten()
        .collect();
    let media: HashSet<&str> = devices
        .iter()
        .filter(|view| view.is_medium())
        .map(|view| view.name.as_str())
        .collect();
    let disks = interval.current.disks.iter();
    let names: HashMap<(u32, u32), &str> = disks
        .map(|disk| (disk.device_number, disk.name.as_str()))
        .collect();
    let views = now.map(|(path, group)| {
        let earlier = before.get(path);
        let change = UnitChange {
            before: earlier
                .and_then(|earlier| earlier.io.as_ref())
                .zip(interval.seconds()),
            now: group.io.as_ref(),
        };
        let is_medium = |device| names.get(&device).is_some_and(|name| media.contains(name));
        let total = change.total(is_medium);
        let pressure = |line: fn(PressureStall) -> PressureLine| {
            let before = earlier.and_then(|earlier| earlier.pressure).map(line);
            Some(line(group.pressure?).fraction_since(before, interval.seconds()))
        };
        UnitView {
            path: group.unit.path.clone(),
            name: group.unit.name.clone(),
            kind: group.unit.kind,
            read_bytes_per_s: total.map(|rates| rates.read_bytes),
            write_bytes_per_s: total.map(|rates| rates.write_bytes),
            read_ios_per_s: total.map(|rates| rates.reads),
            write_ios_per_s: total.map(|rates| rates.writes),
            pressure_some: pressure(|stall| stall.some),
            pressure_full: pressure(|stall| stall.full),
            limits: group
                .limits
                .iter()
                .map(|limit| change.limit(limit, &names))
                .collect(),
        }
    });
    let mut views: Vec<UnitView> = views.collect();
    views.sort_list_by(|a, b| {
        let by_rate = b.total_bytes_per_s().total_cmp(&a.total_bytes_per_s());
        by_rate.then_with(|| a.path.as_str().cmp(b.path.as_str()))
    });
    Some(views)
}

/// The units of a sample with their paths.
fn units_of(sample: &SystemSample) -> Option<impl Iterator<Item = (&str, &ControlGroupSample)>> {
    let groups = sample.control_groups.as_ref()?.groups.iter();
    let units = groups.filter(|group| group.is_unit);
    Some(units.map(|group| (group.unit.path.as_str(), group)))
}

/// Rates on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct IoRates {
    /// Bytes read per second.
    read_bytes: f64,
    /// Bytes written per second.
    write_bytes: f64,
    /// Reads per second.
    reads: f64,
    /// Writes per second.
    writes: f64,
}

impl IoRates {
    /// The rates of a group between two samples; `None` when a counter went backwards.
    fn between(before: &DeviceIo, now: &DeviceIo, seconds: f64) -> Option<Self> {
        let rate = |now: u64, before: u64| Some(now.checked_sub(before)? as f64 / seconds);
        Some(Self {
            read_bytes: rate(now.read_bytes, before.read_bytes)?,
            write_bytes: rate(now.written_bytes, before.written_bytes)?,
            reads: rate(now.read_ios, before.read_ios)?,
            writes: rate(now.write_ios, before.write_ios)?,
        })
    }

    /// Both together.
    fn add(&self, other: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
        }
    }

    /// The largest part that they take of a limit, 1 for all of it; `None` without one.
    fn usage(&self, limit: &IoLimit) -> Option<f64> {
        let used = |rate: f64, limit: Option<u64>| Some(rate / limit.filter(|it| *it > 0)? as f64);
        let uses = [
            used(self.read_bytes, limit.read_bytes_per_s),
            used(self.write_bytes, limit.write_bytes_per_s),
            used(self.reads, limit.read_ios_per_s),
            used(self.writes, limit.write_ios_per_s),
        ];
        uses.into_iter().flatten().reduce(f64::max)
    }
}

/// The counters of a group, as far as the kernel counts for it.
struct UnitChange<'c> {
    /// Those of the sample before, and the seconds since then.
    before: Option<(&'c Vec<DeviceIo>, f64)>,
    now: Option<&'c Vec<DeviceIo>>,
}

impl UnitChange<'_> {
    /// The rates on these devices together. A group without lines has done nothing: that is known only of
    /// two samples.
    fn total(&self, is_counted: impl Fn((u32, u32)) -> bool) -> Option<IoRates> {
        let (_, now) = self.before.zip(self.now)?;
        let mut counted = now.iter().filter(|io| is_counted(io.device));
        counted.try_fold(IoRates::default(), |sum, io| {
            Some(sum.add(&self.rates(io)?))
        })
    }

    /// The rates on a device; `None` without an earlier sample, or when a counter went backwards.
    fn rates(&self, now: &DeviceIo) -> Option<IoRates> {
        let (before, seconds) = self.before?;
        // A device of which the group had not used anything has no line yet.
        let before = before.iter().find(|io| io.device == now.device).copied();
        IoRates::between(&before.unwrap_or_default(), now, seconds)
    }

    fn limit(&self, limit: &IoLimit, names: &HashMap<(u32, u32), &str>) -> UnitLimit {
        let device = limit.device;
        let none = DeviceIo {
            device,
            ..DeviceIo::default()
        };
        let io = self.now.map(|devices| {
            devices
                .iter()
                .find(|io| io.device == device)
                .unwrap_or(&none)
        });
        let rates = io.and_then(|io| self.rates(io));
        let usage = rates.and_then(|rates| rates.usage(limit));
        let name = names
            .get(&device)
            .map(|name| SafeText::from_bytes(name.as_bytes()));
        UnitLimit {
            device: name.unwrap_or_else(|| format!("{}:{}", device.0, device.1).into()),
            read_bytes_per_s: limit.read_bytes_per_s,
            write_bytes_per_s: limit.write_bytes_per_s,
            read_ios_per_s: limit.read_ios_per_s,
            write_ios_per_s: limit.write_ios_per_s,
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::probe::sample::{ControlGroupsSample, DiskCounters, IoAccounting, Unit, UnitKind};

    fn group(path: &str, io: Option<Vec<DeviceIo>>) -> ControlGroupSample {
        ControlGroupSample {
            unit: Arc::new(Unit {
                path: path.into(),
                name: path.rsplit('/').next().unwrap().into(),
                kind: UnitKind::Service,
            }),
            is_unit: true,
            io,
            pressure: None,
            limits: Vec::new(),
        }
    }

    fn io(minor: u32, read_bytes: u64, write_ios: u64) -> DeviceIo {
        DeviceIo {
            device: (8, minor),
            read_bytes,
            written_bytes: 0,
            read_ios: 0,
            write_ios,
        }
    }

    fn sample(second: u64, groups: Vec<ControlGroupSample>) -> SystemSample {
        let disk = |name: &str, minor| DiskCounters {
            name: name.to_owned(),
            device_number: (8, minor),
            ..DiskCounters::default()
        };
        SystemSample {
            boot_time: Duration::from_secs(second),
            disks: vec![disk("sda", 0), disk("sdb", 16)],
            control_groups: Some(ControlGroupsSample {
                accounting: IoAccounting::V2,
                groups,
            }),
            ..SystemSample::default()
        }
    }

    fn views(before: Option<&SystemSample>, now: &SystemSample) -> Vec<UnitView> {
        let devices = ["sda", "sdb"].map(|name| DeviceView {
            name: name.into(),
            ..DeviceView::default()
        });
        unit_views(&SampleInterval::new(before, now), &devices).unwrap()
    }

    #[test]
    fn pressure_is_that_of_the_interval() {
        let line = |seconds| PressureLine {
            average_10_s: 12.5,
            total: Duration::from_secs(seconds),
        };
        let with_pressure = |some, full| ControlGroupSample {
            pressure: Some(PressureStall {
                some: line(some),
                full: line(full),
            }),
            ..group("/a.service", None)
        };
        let before = sample(10, vec![with_pressure(7, 5)]);
        let now = sample(14, vec![with_pressure(9, 5)]);
        let pressure = |before| {
            let view = views(before, &now).remove(0);
            (view.pressure_some, view.pressure_full)
        };
        assert_eq!(pressure(Some(&before)), (Some(0.5), Some(0.0)));
        assert_eq!(pressure(None), (Some(0.125), Some(0.125)));
    }

    #[test]
    fn unit_rates_are_summed_over_drives_and_sorted() {
        let before = sample(
            10,
            vec![
                group("/a.service", Some(vec![io(0, 1000, 10)])),
                group("/b.service", Some(vec![])),
            ],
        );
        let now = sample(
            12,
            vec![
                group("/a.service", Some(vec![io(0, 3000, 14), io(16, 500, 0)])),
                group("/b.service", Some(vec![io(0, 9000, 0)])),
                group("/new.service", Some(vec![io(0, 7, 0)])),
                group("/off.service", None),
            ],
        );
        let found = views(Some(&before), &now);
        let rates: Vec<_> = found
            .iter()
            .map(|view| {
                (
                    view.name.as_str(),
                    view.read_bytes_per_s,
                    view.write_ios_per_s,
                )
            })
            .collect();
        assert_eq!(
            rates,
            [
                ("b.service", Some(4500.0), Some(0.0)),
                ("a.service", Some(1250.0), Some(2.0)),
                ("new.service", None, None),
                ("off.service", None, None),
            ]
        );
        assert!(
            views(None, &now)
                .iter()
                .all(|view| view.read_bytes_per_s.is_none())
        );
    }

    #[test]
    fn unit_whose_counters_went_backwards_has_no_rates() {
        let before = sample(10, vec![group("/a.service", Some(vec![io(0, 1000, 0)]))]);
        let now = sample(12, vec![group("/a.service", Some(vec![io(0, 10, 0)]))]);
        assert_eq!(views(Some(&before), &now)[0].read_bytes_per_s, None);
    }

    #[test]
    fn usage_of_limit_is_highest_rate_as_fraction_of_its_limit() {
        let limited = |read| {
            let mut group = group("/a.service", Some(vec![io(0, read, 0)]));
            group.limits = vec![IoLimit {
                device: (8, 0),
                read_bytes_per_s: Some(1000),
                write_bytes_per_s: None,
                read_ios_per_s: None,
                write_ios_per_s: Some(50),
            }];
            group
        };
        let before = sample(10, vec![limited(0)]);
        let now = sample(12, vec![limited(1900)]);
        let found = views(Some(&before), &now);
        assert_eq!(found[0].limits[0].device.as_str(), "sda");
        assert_eq!(found[0].limit_usage(), Some(0.95));
        assert_eq!(views(None, &now)[0].limit_usage(), None);
    }
}
