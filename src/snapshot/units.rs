//! Rates of control groups.

use std::collections::{HashMap, HashSet};

use super::view::{DeviceView, UnitLimit, UnitView};
use crate::files::safe_text::SafeText;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::{ControlGroupSample, ControlGroupsSample, DeviceIo, IoLimit};
use crate::stats::sorting::SortList as _;
use crate::transfers::limits::IoRates;

/// The units of a sample, the busiest first; `None` where control groups were not sampled.
///
/// Only drives are counted: what a group does on a device that is on top of others is counted there
/// too.
#[must_use]
pub fn unit_views(interval: &SampleInterval<'_>, devices: &[DeviceView]) -> Option<Vec<UnitView>> {
    let now = interval.current.control_groups.as_ref()?;
    let before = interval
        .previous
        .and_then(|before| before.control_groups.as_ref());
    let earlier: HashMap<&str, &ControlGroupSample> = before
        .map_or(&[][..], |before| &before.groups)
        .iter()
        .filter(|group| group.is_unit)
        .map(|group| (group.unit.path.as_str(), group))
        .collect();
    let context = UnitContext::new(interval, devices);
    let mut views: Vec<UnitView> = units_of(now)
        .map(|group| context.view(earlier.get(group.unit.path.as_str()).copied(), group))
        .collect();
    views.sort_list_by(|a, b| {
        let by_rate = b.total_bytes_per_s().total_cmp(&a.total_bytes_per_s());
        by_rate.then_with(|| a.path.as_str().cmp(b.path.as_str()))
    });
    Some(views)
}

fn units_of(sample: &ControlGroupsSample) -> impl Iterator<Item = &ControlGroupSample> {
    sample.groups.iter().filter(|group| group.is_unit)
}

/// What is the same for all groups of a sample.
struct UnitContext {
    seconds: Option<f64>,
    /// The devices by their number.
    devices: HashMap<(u32, u32), UnitDevice>,
}

/// A device that groups use.
struct UnitDevice {
    name: SafeText,
    is_medium: bool,
}

impl UnitContext {
    fn new(interval: &SampleInterval<'_>, views: &[DeviceView]) -> Self {
        let media: HashSet<&str> = views
            .iter()
            .filter(|view| view.is_medium())
            .map(|view| view.name.as_str())
            .collect();
        let devices = interval.current.disks.iter().map(|disk| {
            let name = SafeText::from_bytes(disk.name.as_bytes());
            let is_medium = media.contains(name.as_str());
            (disk.device_number, UnitDevice { name, is_medium })
        });
        Self {
            seconds: interval.seconds(),
            devices: devices.collect(),
        }
    }

    fn view(&self, earlier: Option<&ControlGroupSample>, now: &ControlGroupSample) -> UnitView {
        let total = now.io.as_ref().and_then(|devices| {
            let rates = |io: &DeviceIo| self.rates(earlier, io);
            devices
                .iter()
                .filter(|io| self.is_medium(io.device))
                .try_fold(IoRates::default(), |sum, io| Some(sum.add(&rates(io)?)))
        });
        // A group without lines has done nothing: that is known only of two samples.
        let total = total.filter(|_| self.seconds.is_some() && earlier.is_some());
        UnitView {
            path: now.unit.path.clone(),
            name: now.unit.name.clone(),
            kind: now.unit.kind,
            read_bytes_per_s: total.map(|rates| rates.read_bytes),
            write_bytes_per_s: total.map(|rates| rates.write_bytes),
            read_ios_per_s: total.map(|rates| rates.reads),
            write_ios_per_s: total.map(|rates| rates.writes),
            pressure_some: now.pressure.map(|stall| stall.some.average_10_s / 100.0),
            pressure_full: now.pressure.map(|stall| stall.full.average_10_s / 100.0),
            limits: now
                .limits
                .iter()
                .map(|limit| self.limit(earlier, now, limit))
                .collect(),
        }
    }

    /// The rates on a device; `None` without an earlier sample, or when a counter went backwards.
    fn rates(&self, earlier: Option<&ControlGroupSample>, now: &DeviceIo) -> Option<IoRates> {
        let earlier = earlier?.io.as_ref()?;
        // A device of which the group had not used anything has no line yet.
        let before = earlier.iter().find(|io| io.device == now.device);
        let before = before.copied().unwrap_or_default();
        IoRates::between(&before, now, self.seconds?)
    }

    fn limit(
        &self,
        earlier: Option<&ControlGroupSample>,
        now: &ControlGroupSample,
        limit: &IoLimit,
    ) -> UnitLimit {
        let io = now.io.as_ref().map(|devices| {
            let own = devices.iter().find(|io| io.device == limit.device);
            own.copied().unwrap_or(DeviceIo {
                device: limit.device,
                ..DeviceIo::default()
            })
        });
        let rates = io.and_then(|io| self.rates(earlier, &io));
        let usage = rates.and_then(|rates| {
            let uses = [rates.read_use(limit), rates.write_use(limit)];
            uses.into_iter().flatten().reduce(f64::max)
        });
        UnitLimit {
            device: self.device_name(limit.device),
            read_bytes_per_s: limit.read_bytes_per_s,
            write_bytes_per_s: limit.write_bytes_per_s,
            read_ios_per_s: limit.read_ios_per_s,
            write_ios_per_s: limit.write_ios_per_s,
            usage,
        }
    }

    fn device_name(&self, device: (u32, u32)) -> SafeText {
        match self.devices.get(&device) {
            Some(known) => known.name.clone(),
            None => SafeText::from(format!("{}:{}", device.0, device.1)),
        }
    }

    fn is_medium(&self, device: (u32, u32)) -> bool {
        let known = self.devices.get(&device);
        known.is_some_and(|device| device.is_medium)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::probe::SystemSample;
    use crate::probe::sample::{DiskCounters, IoAccounting, Unit, UnitKind};

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
