//! What each device did over the last minutes, bounded.

use std::collections::{HashMap, VecDeque};

use crate::model::Live;

/// Samples that are kept for each device.
pub const KEPT: usize = 240;

/// Throughput of a device in one interval, bytes per second; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moment {
    /// Bytes read per second.
    pub read: Option<f64>,
    /// Bytes written per second.
    pub write: Option<f64>,
}

impl Moment {
    /// Both directions together; `None` when neither is known.
    #[must_use]
    pub fn total(self) -> Option<f64> {
        match (self.read, self.write) {
            (None, None) => None,
            (read, write) => Some(read.unwrap_or(0.0) + write.unwrap_or(0.0)),
        }
    }
}

/// The last [`KEPT`] moments of every device that the last sample had.
#[derive(Debug, Clone, Default)]
pub struct History(HashMap<String, VecDeque<Moment>>);

impl History {
    /// Adds a sample; devices that are gone are forgotten.
    pub fn record(&mut self, live: &Live) {
        self.0
            .retain(|name, _| live.devices.iter().any(|device| device.name == *name));
        for device in &live.devices {
            let moments = self.0.entry(device.name.clone()).or_default();
            if moments.len() == KEPT {
                moments.pop_front();
            }
            moments.push_back(Moment {
                read: device.read_bytes_per_s,
                write: device.write_bytes_per_s,
            });
        }
    }

    /// The moments of a device, the latest last.
    pub fn of(&self, device: &str) -> impl DoubleEndedIterator<Item = Moment> {
        self.0.get(device).into_iter().flatten().copied()
    }
}
