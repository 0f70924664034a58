//! Which devices the Live screen lists, and in which order.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::name_pattern::matches_pattern;
use crate::app::column_step::VisibleColumns;
use crate::columns::{self, Column};
use crate::drive::DriveKind;
use crate::snapshot::SampleHistory;
use crate::snapshot::device_folding::{DeviceFolding, Fold, FoldedDevices};
use crate::snapshot::view::{DeviceView, Snapshot};
use crate::stats::sorting::SortList as _;

/// A device counts as idle after this many samples without I/O, so that its line does not come and
/// go.
const IDLE_AFTER_SAMPLES: usize = 30;

/// A column of the devices.
pub type DeviceColumn = &'static Column<DeviceView>;

/// Key of the column that is always there.
const NAME: &str = "device";

/// The columns by which devices can be sorted, from left to right.
#[must_use]
pub fn sortable_columns() -> Vec<DeviceColumn> {
    columns::on_screen()
        .filter(|it| it.key != "label")
        .collect()
}

/// The columns that can be left out: all but the name.
#[must_use]
pub fn optional_columns() -> Vec<DeviceColumn> {
    let columns = sortable_columns().into_iter();
    columns.filter(|it| it.key != NAME).collect()
}

/// The order of the devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceOrder {
    /// The column; `None` lists busy drives first, and volumes after the drive that they are on.
    pub column: Option<DeviceColumn>,
    /// Smallest first, or for names the last.
    pub reversed: bool,
}

impl DeviceOrder {
    /// Moves the sort to the next visible column to the right or left; beyond the last one is the
    /// default order.
    pub fn step_column(&mut self, forward: bool, is_visible: impl Fn(DeviceColumn) -> bool) {
        let visible = VisibleColumns::new(&sortable_columns(), self.column, is_visible);
        let columns = visible.columns;
        self.column = match (visible.current_index, forward) {
            (None, true) => columns.first().copied(),
            (None, false) => columns.last().copied(),
            (Some(index), true) => columns.get(index + 1).copied(),
            (Some(index), false) => index.checked_sub(1).map(|index| columns[index]),
        };
        self.reversed = false;
    }

    fn compare(self, left: &DeviceView, right: &DeviceView) -> Ordering {
        self.column.map_or(Ordering::Equal, |column| {
            let descending = column.sorts_descending() != self.reversed;
            column.compare(left, right, descending)
        })
    }
}

/// Which devices are to be listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceSelection<'a> {
    /// Lists only the devices that match this text, hidden and idle ones too; in lower case.
    pub filter: &'a str,
    /// Lists every device.
    pub all: bool,
    /// Patterns of the devices that the configuration hides (`*` stands for any characters).
    pub hidden: &'a [String],
}

/// The devices to list, and how many are folded into one line.
#[derive(Debug, Default)]
pub struct DeviceList<'a> {
    /// The listed devices, in order.
    pub rows: Vec<&'a DeviceView>,
    /// How many are not listed.
    pub folded: FoldedDevices,
}

/// A longer chain of devices is a cycle.
const MAX_STACK_DEPTH: usize = 16;

impl<'a> DeviceList<'a> {
    /// The devices of a sample: all with `all`, otherwise without those that the configuration
    /// hides, and those that another line stands for ([`DeviceFolding`]).
    #[must_use]
    pub fn new(
        sample: &'a Snapshot,
        history: &SampleHistory,
        order: DeviceOrder,
        selection: DeviceSelection<'_>,
    ) -> Self {
        let DeviceSelection {
            filter,
            all,
            hidden,
        } = selection;
        let is_hidden = |name: &str| hidden.iter().any(|pattern| matches_pattern(name, pattern));
        let mut list = Self::default();
        let folding = DeviceFolding::new(&sample.devices);
        for device in &sample.devices {
            if !filter.is_empty() {
                if matches_filter(device, filter) {
                    list.rows.push(device);
                }
                continue;
            }
            if !all && is_hidden(&device.name) {
                list.folded.count(Fold::Hidden);
                continue;
            }
            match folding.fold(device, || is_idle(device, history)) {
                Some(fold) if !all => list.folded.count(fold),
                _ => list.rows.push(device),
            }
        }
        if order.column.is_some() {
            list.rows
                .sort_list_by(|left, right| order.compare(left, right));
        } else {
            // Stable: devices of equal rank stay in the kernel's order.
            list.rows
                .sort_list_by_key(|device| (is_idle(device, history), is_virtual(device)));
            list.rows = below_their_parents(&list.rows, &sample.devices);
            if order.reversed {
                list.rows.reverse();
            }
        }
        list
    }
}

/// Finds the listed device that another one is on top of.
#[derive(Debug)]
pub struct ListedAncestors<'a> {
    /// The only device that a device is on top of, by the name of the latter.
    parents: HashMap<&'a str, &'a str>,
    rows: HashMap<&'a str, usize>,
}

impl<'a> ListedAncestors<'a> {
    /// For a list of some of the devices.
    #[must_use]
    pub fn new(rows: &[&'a DeviceView], devices: &'a [DeviceView]) -> Self {
        let parents = devices
            .iter()
            .filter_map(|device| Some((&*device.name, &**device.parent.as_ref()?)));
        let rows = rows.iter().enumerate();
        Self {
            parents: parents.collect(),
            rows: rows.map(|(index, row)| (&*row.name, index)).collect(),
        }
    }

    /// Index in the list of the nearest device that this one is on top of; layers between them may
    /// be folded.
    #[must_use]
    pub fn index_below(&self, device: &DeviceView) -> Option<usize> {
        let parent = |name: &&str| self.parents.get(*name).copied();
        std::iter::successors(parent(&&*device.name), parent)
            .take(MAX_STACK_DEPTH)
            .find_map(|lower| self.rows.get(lower).copied())
    }
}

/// Where a device is mounted, or one of its partitions: the root of the file systems first.
#[must_use]
pub fn mount_point<'a>(device: &'a DeviceView, devices: &'a [DeviceView]) -> Option<&'a str> {
    let own = device.mount_point.as_deref();
    let partitions = devices.iter().filter(|other| {
        other.kind == Some(DriveKind::Partition) && other.parent.as_ref() == Some(&device.name)
    });
    let mounted = partitions.filter_map(|partition| partition.mount_point.as_deref());
    own.or_else(|| mounted.min_by_key(|point| point.len()))
}

/// Volumes and partitions after the device that they are on; otherwise the order stays.
fn below_their_parents<'a>(
    rows: &[&'a DeviceView],
    devices: &'a [DeviceView],
) -> Vec<&'a DeviceView> {
    let ancestors = ListedAncestors::new(rows, devices);
    let parents: Vec<Option<usize>> = rows
        .iter()
        .map(|device| ancestors.index_below(device))
        .collect();
    let mut children = vec![Vec::new(); rows.len()];
    for (child, parent) in parents.iter().enumerate().rev() {
        if let Some(parent) = parent {
            children[*parent].push(child);
        }
    }
    let mut ordered = Vec::with_capacity(rows.len());
    let mut listed = vec![false; rows.len()];
    let roots = (0..rows.len()).filter(|index| parents[*index].is_none());
    for root in roots.chain(0..rows.len()) {
        let mut stack = vec![root];
        while let Some(index) = stack.pop() {
            if !std::mem::replace(&mut listed[index], true) {
                ordered.push(rows[index]);
                stack.append(&mut children[index]);
            }
        }
    }
    ordered
}

fn is_virtual(device: &DeviceView) -> bool {
    matches!(device.kind, Some(DriveKind::Loop | DriveKind::RamDisk))
}

/// Whether a device has been idle for a while; one with unknown rates has not.
fn is_idle(device: &DeviceView, history: &SampleHistory) -> bool {
    let now = device.read_ios_per_s == Some(0.0)
        && device.write_ios_per_s == Some(0.0)
        && device.in_flight.unwrap_or(0) == 0;
    now && history
        .latest_points(&device.name, IDLE_AFTER_SAMPLES)
        .all(|point| {
            let ios = [point.read_ios_per_s, point.write_ios_per_s];
            ios.into_iter().flatten().all(|rate| rate == 0.0)
        })
}

fn matches_filter(device: &DeviceView, filter: &str) -> bool {
    let mount_point = device.mount_point.as_deref().unwrap_or_default();
    let by_id = device.by_id.as_deref().unwrap_or_default();
    [&*device.name, &*device.label, mount_point, by_id]
        .iter()
        .any(|text| text.to_lowercase().contains(filter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ViewBuilder;

    fn device(name: &str, kind: DriveKind, parent: Option<&str>, ios: f64) -> DeviceView {
        DeviceView {
            name: name.into(),
            kind: Some(kind),
            parent: parent.map(Into::into),
            read_ios_per_s: Some(ios),
            write_ios_per_s: Some(0.0),
            read_bytes_per_s: Some(ios),
            ..DeviceView::default()
        }
    }

    fn read_bytes() -> Option<DeviceColumn> {
        columns::column("read_bytes_per_s")
    }

    fn sample(devices: Vec<DeviceView>) -> Snapshot {
        let mut sample = ViewBuilder::default().update(std::sync::Arc::default());
        sample.devices = devices;
        sample
    }

    fn names(list: &DeviceList<'_>) -> Vec<String> {
        list.rows
            .iter()
            .map(|device| device.name.to_string())
            .collect()
    }

    fn listed(sample: &Snapshot, order: DeviceOrder, filter: &str, all: bool) -> Vec<String> {
        let history = SampleHistory::default();
        let selection = DeviceSelection {
            filter,
            all,
            hidden: &[],
        };
        names(&DeviceList::new(sample, &history, order, selection))
    }

    fn machine() -> Snapshot {
        let loops = (0..11).map(|index| {
            device(
                &format!("loop{index}"),
                DriveKind::Loop,
                None,
                f64::from(index / 10),
            )
        });
        let mut devices: Vec<DeviceView> = loops.collect();
        devices.push(device("sdb", DriveKind::Disk, None, 0.0));
        devices.push(device("sda", DriveKind::Disk, None, 90.0));
        devices.push(device("sda1", DriveKind::Partition, Some("sda"), 90.0));
        devices.push(device("dm-0", DriveKind::DeviceMapper, Some("sda"), 50.0));
        sample(devices)
    }

    #[test]
    fn real_and_busy_devices_are_first_and_idle_loops_are_folded() {
        let sample = machine();
        let history = SampleHistory::default();
        let list = DeviceList::new(
            &sample,
            &history,
            DeviceOrder::default(),
            DeviceSelection::default(),
        );
        assert_eq!(names(&list), ["sda", "dm-0", "loop10", "sdb"]);
        assert_eq!(
            (
                list.folded.of(Fold::IdleLoop),
                list.folded.of(Fold::Partition)
            ),
            (10, 1)
        );
        assert_eq!(list.folded.total() + list.rows.len(), sample.devices.len());
        assert_eq!(listed(&sample, DeviceOrder::default(), "", true).len(), 15);
        assert_eq!(
            listed(&sample, DeviceOrder::default(), "loop1", false),
            ["loop10", "loop1"]
        );
    }

    #[test]
    fn hidden_devices_are_counted_and_listed_with_all_or_by_a_filter() {
        let sample = machine();
        let hidden = ["sd*".to_owned(), "loop1".to_owned()];
        let list = |filter: &'static str, all| {
            let selection = DeviceSelection {
                filter,
                all,
                hidden: &hidden,
            };
            let history = SampleHistory::default();
            let list = DeviceList::new(&sample, &history, DeviceOrder::default(), selection);
            (
                names(&list),
                list.folded.of(Fold::Hidden),
                list.folded.of(Fold::IdleLoop),
            )
        };
        let shown = vec!["loop10".to_owned(), "dm-0".to_owned()];
        let (mut rows, hidden_count, idle_loops) = list("", false);
        rows.sort_unstable_by(|left, right| right.cmp(left));
        assert_eq!((rows, hidden_count, idle_loops), (shown, 4, 9));
        assert_eq!(list("", true).0.len(), sample.devices.len());
        assert_eq!(list("sdb", false).0, ["sdb"]);
    }

    #[test]
    fn device_that_becomes_idle_stays_for_a_while() {
        let busy = sample(vec![device("loop0", DriveKind::Loop, None, 5.0)]);
        let idle = sample(vec![device("loop0", DriveKind::Loop, None, 0.0)]);
        let mut history = SampleHistory::default();
        history.record(&busy);
        for count in 1..=IDLE_AFTER_SAMPLES {
            history.record(&idle);
            let selection = DeviceSelection::default();
            let list = DeviceList::new(&idle, &history, DeviceOrder::default(), selection);
            assert_eq!(
                list.folded.of(Fold::IdleLoop) == 0,
                count < IDLE_AFTER_SAMPLES,
                "{count}"
            );
        }
    }

    #[test]
    fn device_with_unknown_rates_is_not_idle() {
        let mut unknown = device("loop0", DriveKind::Loop, None, 0.0);
        let history = SampleHistory::default();
        assert!(is_idle(&unknown, &history));
        unknown.in_flight = Some(1);
        assert!(!is_idle(&unknown, &history));
        assert!(!is_idle(&DeviceView::default(), &history));
    }

    #[test]
    fn devices_are_sorted_by_visible_columns_only() {
        let sample = machine();
        let mut order = DeviceOrder::default();
        order.step_column(true, |column| Some(column) == read_bytes());
        assert_eq!(order.column, read_bytes());
        assert_eq!(
            listed(&sample, order, "", false),
            ["sda", "dm-0", "loop10", "sdb"]
        );
        order.reversed = true;
        assert_eq!(
            listed(&sample, order, "", false),
            ["sdb", "loop10", "dm-0", "sda"]
        );
        order.step_column(true, |column| Some(column) == read_bytes());
        assert_eq!(order.column, None);
    }

    #[test]
    fn disk_is_mounted_where_its_partitions_are() {
        let mut sample = machine();
        sample.devices[13].mount_point = Some("/".into());
        let disk = &sample.devices[12];
        assert_eq!(mount_point(disk, &sample.devices), Some("/"));
    }
}
