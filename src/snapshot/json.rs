//! The JSON of a snapshot: what `watch --json` prints and a recording keeps.
//!
//! Numbers are rounded by the unit in their names: rates, times and sizes to whole bytes, requests and
//! nanoseconds, shares and everything else to 4 decimal places, from 10,000 on to integers. More digits
//! are noise, which does not compress.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use super::view::Snapshot;
use crate::files::json::escape_controls;

/// Ends of the names of whole numbers: of rates, times and sizes.
const WHOLE_UNITS: [&str; 3] = ["_per_s", "_ns", "_bytes"];
/// What the other numbers are rounded to, 4 decimal places; from as many on they are whole as well.
const STEPS_PER_UNIT: f64 = 1e4;
/// Below it a whole number is printed without a decimal point, and is exact.
const EXACT_BELOW: f64 = 1e15;

/// A snapshot on one line, safe to print, without the line end.
///
/// # Errors
/// Never for a snapshot that was built from samples; the error is serde's.
pub fn snapshot_line(live: &Snapshot) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    live.serialize(&mut Serializer::with_formatter(
        &mut bytes,
        RoundingFormatter::default(),
    ))?;
    let text = String::from_utf8(bytes).map_err(serde::ser::Error::custom)?;
    Ok(escape_controls(&text).into_owned())
}

/// Rounds fractional numbers by the end of the name before them.
#[derive(Default)]
struct RoundingFormatter {
    name: String,
    is_name: bool,
}

impl Formatter for RoundingFormatter {
    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.name.clear();
        self.is_name = true;
        CompactFormatter.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_name = false;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.is_name {
            self.name.push_str(fragment);
        }
        CompactFormatter.write_string_fragment(writer, fragment)
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let is_whole = WHOLE_UNITS.iter().any(|unit| self.name.ends_with(unit))
            || value.abs() >= STEPS_PER_UNIT;
        let rounded = if is_whole {
            value.round()
        } else {
            (value * STEPS_PER_UNIT).round() / STEPS_PER_UNIT
        };
        if rounded.fract() == 0.0 && rounded.abs() < EXACT_BELOW {
            write!(writer, "{}", rounded as i64)
        } else {
            CompactFormatter.write_f64(writer, rounded)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::{
        BottleneckReason, DeviceView, ProcessView, TransferView, UnitLimit, UnitView,
    };

    fn number() -> impl Strategy<Value = Option<f64>> {
        proptest::option::of(prop_oneof![
            0.0..2.0,
            0.0..1e6,
            0.0..1e12,
            Just(0.0),
            Just(1.0)
        ])
    }

    fn snapshot(numbers: &[Option<f64>]) -> Snapshot {
        let mut numbers = numbers.iter().copied().cycle();
        let mut next = move || numbers.next().flatten();
        let mut live = ViewBuilder::default().update(Arc::default());
        live.interval = next().map(std::time::Duration::from_secs_f64);
        live.host.cpu_busy = next();
        live.host.load_averages = next().map(|load| [load, load / 3.0, load / 7.0]);
        live.host.refault_bytes_per_s = next();
        live.devices = vec![DeviceView {
            read_bytes_per_s: next(),
            write_ios_per_s: next(),
            read_await_ns: next(),
            queue_size: next(),
            busy: next(),
            request_bytes: next(),
            ..DeviceView::default()
        }];
        live.processes = vec![ProcessView {
            read_bytes_per_s: next(),
            io_wait: next(),
            ..ProcessView::default()
        }];
        live.transfers = vec![TransferView {
            rate_bytes_per_s: next(),
            bottleneck_reason: next().map(|fraction| BottleneckReason::Processor { fraction }),
            ..TransferView::default()
        }];
        live.units = Some(vec![UnitView {
            limits: vec![UnitLimit {
                device: "sda".into(),
                read_bytes_per_s: Some(1 << 30),
                write_bytes_per_s: None,
                read_ios_per_s: None,
                write_ios_per_s: None,
                usage: next(),
            }],
            ..UnitView::without_io("/a.service", "a.service")
        }]);
        live
    }

    /// Compares all numbers of two documents: how far each may be off depends on its name.
    fn assert_close(name: &str, exact: &Value, rounded: &Value) {
        match (exact, rounded) {
            (Value::Object(left), Value::Object(right)) => {
                assert!(left.keys().eq(right.keys()));
                for (name, exact) in left {
                    assert_close(name, exact, &right[name]);
                }
            }
            (Value::Array(left), Value::Array(right)) => {
                assert_eq!(left.len(), right.len());
                for (exact, rounded) in left.iter().zip(right) {
                    assert_close(name, exact, rounded);
                }
            }
            (Value::Number(left), Value::Number(right)) => {
                let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
                let is_whole = name.ends_with("_per_s") || name.ends_with("_ns");
                let is_whole = is_whole || name.ends_with("_bytes") || left >= 1e4;
                let most = if is_whole { 0.5 } else { 0.5001e-4 };
                let noise = left.abs() * f64::EPSILON;
                assert!(
                    (left - right).abs() <= most + noise,
                    "{name}: {left} {right}"
                );
                assert!(!is_whole || right.fract() == 0.0, "{name}: {right}");
            }
            _ => assert_eq!(exact, rounded, "{name}"),
        }
    }

    proptest! {
        #[test]
        fn snapshot_is_read_back_as_it_was_rounded(
            numbers in proptest::collection::vec(number(), 20)
        ) {
            let live = snapshot(&numbers);
            let line = snapshot_line(&live).unwrap();
            let read: Snapshot = serde_json::from_str(&line).unwrap();
            assert_close("", &serde_json::to_value(&live).unwrap(), &serde_json::to_value(&read).unwrap());
            let again = snapshot_line(&read).unwrap();
            prop_assert_eq!(&again, &line);
            prop_assert_eq!(serde_json::from_str::<Snapshot>(&again).unwrap(), read);
        }
    }

    #[test]
    fn rounded_numbers_have_no_more_digits_than_their_unit() {
        let mut live = snapshot(&[Some(0.123_456), Some(1_234.567_8)]);
        live.host.pressure_some = Some(0.123_456);
        live.devices[0].read_await_ns = Some(1_234.567_8);
        live.devices[0].busy = Some(1.0);
        let line = snapshot_line(&live).unwrap();
        for part in [
            "\"pressure_some\":0.1235,",
            "\"read_await_ns\":1235,",
            "\"busy\":1,",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
