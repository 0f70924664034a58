//! The table of control groups.

use std::fmt::Write as _;

use super::columns::{
    DEFAULT_TERMINAL_WIDTH, display_width, fit_to_width, format_known, format_megabytes_per_s,
    keep_end,
};
use crate::probe::sample::UnitKind;
use crate::snapshot::view::UnitView;
use crate::units::format_three_digits;

/// Maximum number of listed units; the busiest are listed.
const MAX_LISTED_UNITS: usize = 20;

/// The busiest units; nothing where control groups were not sampled.
pub(super) fn append_units(text: &mut String, units: Option<&[UnitView]>) {
    let Some(units) = units else {
        return;
    };
    let active: Vec<&UnitView> = units.iter().filter(|unit| is_listed(unit)).collect();
    let _ = writeln!(
        text,
        "{:>8} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6}  UNIT ({} of {} active)",
        "rMB/s",
        "wMB/s",
        "r/s",
        "w/s",
        "some%",
        "full%",
        "limit%",
        active.len(),
        units.len()
    );
    for unit in active.iter().take(MAX_LISTED_UNITS) {
        let percent =
            |share: Option<f64>| format_known(share, |share| format!("{:.0}", share * 100.0));
        let rate = |rate: Option<f64>| format_known(rate, format_three_digits);
        let limit = match unit.limits.is_empty() {
            true => "-".to_owned(),
            false => percent(unit.limit_usage()),
        };
        let start = format!(
            "{:>8} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6}  ",
            format_megabytes_per_s(unit.read_bytes_per_s),
            format_megabytes_per_s(unit.write_bytes_per_s),
            rate(unit.read_ios_per_s),
            rate(unit.write_ios_per_s),
            percent(unit.pressure_some),
            percent(unit.pressure_full),
            limit,
        );
        let room = DEFAULT_TERMINAL_WIDTH.saturating_sub(display_width(&start));
        let name = keep_end(&unit_label(unit), room);
        let _ = writeln!(text, "{start}{}", fit_to_width(&name, room).trim_end());
    }
    if active.len() > MAX_LISTED_UNITS {
        let _ = writeln!(text, "+{} more units", active.len() - MAX_LISTED_UNITS);
    }
}

/// The name; with the kind where the name does not tell it.
#[must_use]
pub fn unit_label(unit: &UnitView) -> String {
    match unit.kind {
        UnitKind::Container => format!("{} (container)", unit.name),
        UnitKind::Service
        | UnitKind::Slice
        | UnitKind::Session
        | UnitKind::Scope
        | UnitKind::Group => unit.name.to_string(),
    }
}

/// Slices repeat what the units in them do; others are listed while they do I/O or wait for it.
fn is_listed(unit: &UnitView) -> bool {
    let waits = unit.pressure_some.is_some_and(|share| share >= 0.01);
    unit.kind != UnitKind::Slice && (unit.total_bytes_per_s() > 0.0 || waits)
}
