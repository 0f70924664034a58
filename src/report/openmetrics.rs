//! The OpenMetrics text format, as Prometheus and node_exporter's textfile collector read it. All
//! metrics are gauges in base units: seconds, bytes, ratios of 1.

use std::fmt::Write as _;

use crate::model::Snapshot;
use crate::model::snapshot::DeviceView;
use crate::session::document::{MetricUnit, Session, Severity};

/// Prefix of all names.
const PREFIX: &str = "diskscope_";

/// A metric with its samples.
struct ExpositionFamily {
    name: String,
    help: String,
    samples: String,
}

/// An exposition under construction: families in the order of their first sample.
#[derive(Default)]
struct Exposition {
    families: Vec<ExpositionFamily>,
}

impl Exposition {
    /// Adds a sample; an unknown value has none.
    fn add(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        let name = format!("{PREFIX}{name}");
        let index = match self.families.iter().position(|it| it.name == name) {
            Some(index) => index,
            None => {
                self.families.push(ExpositionFamily {
                    name: name.clone(),
                    help: help.to_owned(),
                    samples: String::new(),
                });
                self.families.len() - 1
            }
        };
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
            .collect();
        let braced = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.families[index].samples, "{name}{braced} {value}");
    }

    fn render(self) -> String {
        let mut text = String::new();
        for family in self.families {
            let _ = writeln!(text, "# TYPE {} gauge", family.name);
            if !family.help.is_empty() {
                let _ = writeln!(text, "# HELP {} {}", family.name, escaped(&family.help));
            }
            text.push_str(&family.samples);
        }
        text + "# EOF\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The devices and the memory of a snapshot.
#[must_use]
pub fn snapshot_metrics(live: &Snapshot) -> String {
    let mut exposition = Exposition::default();
    let host = &live.host;
    let count = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    for (name, help, value) in [
        (
            "pressure_some_ratio",
            "share of time in which some tasks waited for I/O",
            host.pressure_some,
        ),
        (
            "pressure_full_ratio",
            "share of time in which all tasks waited for I/O",
            host.pressure_full,
        ),
        (
            "dirty_bytes",
            "written data that is only in memory",
            count(host.dirty_bytes),
        ),
        (
            "writeback_bytes",
            "data that is being written to devices",
            count(host.writeback_bytes),
        ),
    ] {
        exposition.add(name, help, &[], value);
    }
    for device in &live.devices {
        add_device(&mut exposition, device);
    }
    exposition.render()
}

fn add_device(exposition: &mut Exposition, device: &DeviceView) {
    let seconds = |nanoseconds: Option<f64>| nanoseconds.map(|it| it / 1e9);
    for (name, help, value) in [
        (
            "device_reads_per_second",
            "completed reads",
            device.read_ios_per_s,
        ),
        (
            "device_writes_per_second",
            "completed writes",
            device.write_ios_per_s,
        ),
        (
            "device_read_bytes_per_second",
            "bytes read",
            device.read_bytes_per_s,
        ),
        (
            "device_write_bytes_per_second",
            "bytes written",
            device.write_bytes_per_s,
        ),
        (
            "device_read_await_seconds",
            "mean time of a read, in the queue and in the drive",
            seconds(device.read_await_ns),
        ),
        (
            "device_write_await_seconds",
            "mean time of a write, in the queue and in the drive",
            seconds(device.write_await_ns),
        ),
        (
            "device_queue_size",
            "mean number of requests in the queue and in the drive (aqu-sz)",
            device.queue_size,
        ),
        (
            "device_busy_ratio",
            "share of time in which the device had requests (%util)",
            device.busy,
        ),
    ] {
        exposition.add(name, help, &[("device", &device.name)], value);
    }
}

/// The metrics of all runs of a session.
#[must_use]
pub fn session_metrics(session: &Session) -> String {
    let mut exposition = Exposition::default();
    for (index, run) in session.runs.iter().enumerate() {
        let number = (index + 1).to_string();
        let labels = [
            ("benchmark", &*run.test),
            ("target", &*run.target.path),
            ("run", number.as_str()),
        ];
        let is_invalid = run
            .findings
            .verdicts
            .iter()
            .any(|it| it.severity == Severity::Invalid);
        let help = "1 when a check found that the results do not measure what the benchmark is for";
        exposition.add(
            "run_invalid",
            help,
            &labels,
            Some(f64::from(u8::from(is_invalid))),
        );
        for metric in &run.findings.metrics {
            let (factor, suffix) = base_unit(metric.unit);
            let name = metric_name(&metric.id.to_string(), suffix);
            exposition.add(&name, "", &labels, Some(metric.value * factor));
        }
    }
    exposition.render()
}

/// Factor to the base unit, and the suffix that names it.
fn base_unit(unit: MetricUnit) -> (f64, &'static str) {
    match unit {
        MetricUnit::PerSecond => (1.0, "per_second"),
        MetricUnit::BytesPerSecond => (1.0, "bytes_per_second"),
        MetricUnit::Nanoseconds => (1e-9, "seconds"),
        MetricUnit::Bytes => (1.0, "bytes"),
        MetricUnit::RevolutionsPerMinute => (1.0 / 60.0, "hertz"),
        MetricUnit::Ratio => (1.0, "ratio"),
        MetricUnit::Revolution => (1.0, "revolutions"),
        MetricUnit::Sectors => (512.0, "bytes"),
        MetricUnit::Count => (1.0, ""),
    }
}

/// The name of a metric in the characters of OpenMetrics, with its unit last.
fn metric_name(id: &str, suffix: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let name: String = id.chars().map(letter).collect();
    match suffix.is_empty() || name.ends_with(suffix) {
        true => name,
        false => format!("{name}_{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposition_groups_samples_by_metric_and_skips_unknown_values() {
        let mut exposition = Exposition::default();
        exposition.add("a_ratio", "the a", &[("device", "x\"y")], Some(0.5));
        exposition.add("b_bytes", "", &[], Some(3.0));
        exposition.add("a_ratio", "the a", &[("device", "z")], Some(1.0));
        exposition.add("c", "", &[], None);
        assert_eq!(
            exposition.render(),
            "# TYPE diskscope_a_ratio gauge\n# HELP diskscope_a_ratio the a\n\
             diskscope_a_ratio{device=\"x\\\"y\"} 0.5\ndiskscope_a_ratio{device=\"z\"} 1\n\
             # TYPE diskscope_b_bytes gauge\ndiskscope_b_bytes 3\n# EOF\n"
        );
    }

    #[test]
    fn metric_names_end_in_their_unit() {
        assert_eq!(
            metric_name("latency_p99.9", "seconds"),
            "latency_p99_9_seconds"
        );
        assert_eq!(
            metric_name("random-read.iops", "per_second"),
            "random_read_iops_per_second"
        );
        assert_eq!(metric_name("optimal_depth", ""), "optimal_depth");
    }
}
