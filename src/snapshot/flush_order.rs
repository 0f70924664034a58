//! Whether each device has answered a flush since its last write.

use std::collections::HashMap;

use super::view::DeviceView;
use crate::drive::unplug::FlushState;
use crate::probe::SystemSample;
use crate::probe::sample::DiskCounters;

/// The state of each device, by its number and name.
#[derive(Debug, Default)]
pub struct FlushOrder {
    states: HashMap<String, FlushState>,
}

impl FlushOrder {
    /// Follows the counters of an interval.
    pub fn update(&mut self, before: Option<&SystemSample>, now: &SystemSample) {
        let known = std::mem::take(&mut self.states);
        let disks = before.map_or(&[][..], |before| &before.disks);
        let before: HashMap<_, _> = disks.iter().map(|disk| (key_of(disk), disk)).collect();
        for disk in &now.disks {
            let state = before
                .get(&key_of(disk))
                .and_then(|earlier| followed(*known.get(&disk.name)?, earlier, disk))
                .unwrap_or_else(|| {
                    let flushes = disk.flushes.map(|flushes| flushes.completed);
                    FlushState::of_counters(disk.writes.sectors, flushes)
                });
            self.states.insert(disk.name.clone(), state);
        }
    }

    /// Sets the states of the devices.
    pub fn set_states(&self, devices: &mut [DeviceView]) {
        for device in devices {
            device.flush_state = self.states.get(&*device.name).copied();
        }
    }
}

/// What tells a device from another one that has its name later.
fn key_of(disk: &DiskCounters) -> ((u32, u32), &str) {
    (disk.device_number, &disk.name)
}

/// The state after an interval; `None` where a counter went backwards, or flushes are not counted.
fn followed(state: FlushState, before: &DiskCounters, now: &DiskCounters) -> Option<FlushState> {
    let flushes = now
        .flushes?
        .completed
        .checked_sub(before.flushes?.completed)?;
    // A flush is counted as a write too, of no sectors (kernel block/blk-flush.c).
    let written = now.writes.sectors.checked_sub(before.writes.sectors)?;
    // A flush that began before the interval may have been submitted before a write that was counted before.
    let is_idle_at_ends = before.in_flight == 0 && now.in_flight == 0;
    let is_flushed = matches!(state, FlushState::Flushed | FlushState::NothingWritten);
    Some(match (written, flushes) {
        (0, 0) => state,
        (0, _) if is_idle_at_ends || is_flushed => FlushState::Flushed,
        (_, 0) => FlushState::NotFlushed,
        _ => FlushState::SameInterval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::{FlushCounters, RequestCounters};

    fn sample(writes: u64, flushes: Option<u64>) -> SystemSample {
        let disk = DiskCounters {
            name: "sdb".to_owned(),
            writes: RequestCounters {
                completed: writes + flushes.unwrap_or(0),
                sectors: 8 * writes,
                ..RequestCounters::default()
            },
            flushes: flushes.map(|completed| FlushCounters {
                completed,
                ..FlushCounters::default()
            }),
            ..DiskCounters::default()
        };
        SystemSample {
            disks: vec![disk],
            ..SystemSample::default()
        }
    }

    fn states(samples: &[SystemSample]) -> Vec<FlushState> {
        let mut order = FlushOrder::default();
        let mut before = None;
        let mut found = Vec::new();
        for now in samples {
            order.update(before, now);
            let mut devices = [DeviceView {
                name: "sdb".into(),
                ..DeviceView::default()
            }];
            order.set_states(&mut devices);
            found.extend(devices[0].flush_state);
            before = Some(now);
        }
        found
    }

    #[test]
    fn flush_counts_only_in_a_later_interval_than_the_last_write() {
        let samples = [
            sample(10, Some(1)),
            sample(12, Some(1)),
            sample(12, Some(2)),
            sample(14, Some(3)),
            sample(14, Some(3)),
            // Another drive under the same name.
            sample(0, Some(0)),
        ];
        let expected = [
            FlushState::NotObserved,
            FlushState::NotFlushed,
            FlushState::Flushed,
            FlushState::SameInterval,
            FlushState::SameInterval,
            FlushState::NothingWritten,
        ];
        assert_eq!(states(&samples), expected);
    }
}
