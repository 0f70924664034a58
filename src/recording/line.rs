//! The lines of a recording: samples, triggers, requests.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::member::SampleMark;

/// What a line of a sample or of a trigger says about itself.
#[derive(Default, Deserialize)]
struct MarkedLine {
    time: String,
    #[serde(default)]
    devices: Vec<DeviceRates>,
}

#[derive(Deserialize)]
struct DeviceRates {
    parent: Option<IgnoredAny>,
    read_bytes_per_s: Option<f64>,
    write_bytes_per_s: Option<f64>,
}

/// The mark of a line: its time, and the bytes per second of the devices without devices below them.
/// The time is 0 and the rate unknown if it is no sample and no trigger.
pub(super) fn mark_of_line(line: &[u8]) -> SampleMark {
    let line: MarkedLine = serde_json::from_slice(line).unwrap_or_default();
    let drives = line.devices.iter().filter(|device| device.parent.is_none());
    let rates: Vec<f64> = drives
        .filter_map(|drive| Some(drive.read_bytes_per_s? + drive.write_bytes_per_s?))
        .collect();
    let time = line.time.parse::<jiff::Timestamp>();
    let time_ms = time.map_or(0, jiff::Timestamp::as_millisecond);
    SampleMark {
        time_ms: u64::try_from(time_ms).unwrap_or(0),
        bytes_per_s: (!rates.is_empty()).then(|| rates.iter().sum::<f64>() as u64),
    }
}

/// Whether a line is a request, as `trace --json` prints it: its time counts from the begin of the trace.
pub(super) fn is_request(line: &[u8]) -> bool {
    line.starts_with(b"{\"time_ns\":")
}
