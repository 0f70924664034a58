//! One table of metrics for each thing that is watched: devices, processes, units, mounts, transfers,
//! files, the host.
//!
//! A [`Column`] says what a metric is called, how it is read from the view and how wide it is. The
//! tables of the Live screen, the text and CSV of `watch`, OpenMetrics, the order of a list, the
//! conditions of `--on` and the tables of `docs/fields.md` all iterate over these. A new metric of a
//! device is parsed in `probe`, computed in `snapshot`, and has a row here.

mod device;
mod faults;
mod files;
mod host;
mod mount;
mod process;
pub mod program_totals;
pub mod swap;
mod transfer;
mod unit;
mod value;

use std::cmp::Ordering;

use crate::units::Unit;

pub use self::files::{file_name, process_name};
pub use self::mount::{file_system_name, mount_error_text, no_values_text};
pub use self::process::{MAX_PROCESSES_IN_TEXT, command_text};
pub use self::unit::{UnitCounters, unit_label};
pub use self::value::Value;

/// Rank of a column that no table shows.
pub const NOT_IN_TABLES: u8 = u8::MAX;
/// Rank of a column that only the text of `watch` has, where its width is not limited.
pub const TEXT_ONLY: u8 = 100;

/// What has a table of metrics.
pub trait Entity: Sized + 'static {
    /// Its name in the names of OpenMetrics and in the documentation; empty for the host.
    const NAME: &'static str;
    /// Its metrics, in the order of the tables.
    const COLUMNS: &'static [Column<Self>];
    /// The kernel's counters, from which its rates come.
    type Counters;
}

/// A counter of the kernel, which OpenMetrics has instead of a rate.
pub struct Counter<E: Entity> {
    /// Name in OpenMetrics after that of the entity; it ends in the base unit.
    pub name: &'static str,
    /// Its value in the base unit; `None` where the kernel does not count it.
    pub get: fn(&E::Counters) -> Option<f64>,
}

impl<E: Entity> Counter<E> {
    /// Its base unit; empty for numbers.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let mut units = ["bytes", "seconds"].into_iter();
        units.find(|unit| self.name.ends_with(unit)).unwrap_or("")
    }
}

/// A metric, or a text, of one kind of entity.
pub struct Column<E: Entity> {
    /// Key in the JSON, and heading in CSV.
    pub key: &'static str,
    /// Heading in tables: the name that iostat or iotop have for it.
    pub name: &'static str,
    /// Unit of its numbers.
    pub unit: Unit,
    /// Reads it.
    pub get: fn(&E) -> Value,
    /// Width in tables; a text that grows takes what is left.
    pub width: u16,
    /// What a text may have in addition where there is room.
    pub grow: u16,
    /// Where space is short, the column with the highest rank goes first; 0 stays.
    pub rank: u8,
    /// What it is, without a full stop.
    pub help: &'static str,
    /// Other names in conditions.
    pub aliases: &'static [&'static str],
    /// Whether the JSON has it; otherwise it is derived from what the JSON has.
    pub in_json: bool,
    /// The kernel's counter behind it.
    pub counter: Option<Counter<E>>,
    /// Whether its texts end below each other, as numbers do.
    ends_right: bool,
}

impl<E: Entity> Column<E> {
    /// A metric that no table shows.
    #[must_use]
    pub const fn new(
        key: &'static str,
        name: &'static str,
        unit: Unit,
        get: fn(&E) -> Value,
    ) -> Self {
        Self {
            key,
            name,
            unit,
            get,
            width: 0,
            grow: 0,
            rank: NOT_IN_TABLES,
            help: "",
            aliases: &[],
            in_json: true,
            counter: None,
            ends_right: false,
        }
    }

    /// A text of that width, which may grow.
    #[must_use]
    pub const fn text(
        key: &'static str,
        name: &'static str,
        get: fn(&E) -> Value,
        (width, grow, rank): (u16, u16, u8),
    ) -> Self {
        let mut column = Self::new(key, name, Unit::Text, get);
        column.width = width;
        column.grow = grow;
        column.rank = rank;
        column
    }

    /// The same, shown in tables.
    #[must_use]
    pub const fn shown(mut self, width: u16, rank: u8) -> Self {
        self.width = width;
        self.rank = rank;
        self
    }

    /// The same with its description.
    #[must_use]
    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// The same with other names in conditions.
    #[must_use]
    pub const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same, its texts aligned as numbers are.
    #[must_use]
    pub const fn right(mut self) -> Self {
        self.ends_right = true;
        self
    }

    /// The same, derived from what the JSON has.
    #[must_use]
    pub const fn derived(mut self) -> Self {
        self.in_json = false;
        self
    }

    /// The same with the counter behind it.
    #[must_use]
    pub const fn counted(
        mut self,
        name: &'static str,
        get: fn(&E::Counters) -> Option<f64>,
    ) -> Self {
        self.counter = Some(Counter { name, get });
        self
    }

    /// Its heading with the unit, where the name does not contain it.
    #[must_use]
    pub fn heading(&self) -> String {
        match self.unit {
            Unit::Bytes if !self.name.contains("MB") => format!("{} MB", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Whether its values are numbers.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.unit != Unit::Text
    }

    /// Whether its values end below each other.
    #[must_use]
    pub fn is_right_aligned(&self) -> bool {
        self.is_number() || self.ends_right
    }

    /// Whether its end says more than its beginning.
    #[must_use]
    pub fn is_path(&self) -> bool {
        matches!(self.key, "path" | "file" | "mount_point")
    }

    /// Whether the tables of the screen have it.
    #[must_use]
    pub fn is_on_screen(&self) -> bool {
        self.rank < TEXT_ONLY
    }

    /// Whether a list that is sorted by it begins with the largest value.
    #[must_use]
    pub fn sorts_descending(&self) -> bool {
        self.is_number() && self.key != "pid"
    }

    /// Its place among the columns of its entity.
    #[must_use]
    pub fn index(&self) -> usize {
        let mut all = E::COLUMNS.iter();
        all.position(|column| column == self).unwrap_or(0)
    }

    /// Whether it is in tables, at least in those of unlimited width.
    #[must_use]
    pub fn is_in_tables(&self) -> bool {
        self.rank != NOT_IN_TABLES
    }

    /// The value of a row as a number.
    #[must_use]
    pub fn number(&self, row: &E) -> Option<f64> {
        (self.get)(row).number()
    }

    /// The key without the unit `_ns` of times.
    #[must_use]
    pub fn metric_name(&self) -> &'static str {
        match self.unit {
            Unit::Nanoseconds => self.key.strip_suffix("_ns").unwrap_or(self.key),
            _ => self.key,
        }
    }

    /// Name of the gauge in OpenMetrics; `None` for rates and sums whose counter says more.
    #[must_use]
    pub fn gauge_name(&self) -> Option<String> {
        let is_mean = matches!(self.unit, Unit::Nanoseconds | Unit::Ratio);
        if !self.is_number() || self.counter.is_some() && !is_mean {
            return None;
        }
        let (unit, _) = self.unit.base();
        let name = with_entity::<E>(self.metric_name());
        let has_unit = unit.is_empty() || name.ends_with(unit);
        Some(match has_unit {
            true => name,
            false => format!("{name}_{unit}"),
        })
    }

    /// Name of the counter in OpenMetrics, without `_total`.
    #[must_use]
    pub fn counter_name(&self) -> Option<String> {
        let counter = self.counter.as_ref()?;
        Some(with_entity::<E>(counter.name))
    }

    /// Compares two rows; what is unknown is last in both directions.
    #[must_use]
    pub fn compare(&self, left: &E, right: &E, descending: bool) -> Ordering {
        let ordering = match ((self.get)(left), (self.get)(right)) {
            (Value::Number(left), Value::Number(right)) => left.total_cmp(&right),
            (Value::Text(left), Value::Text(right)) => left.cmp(&right),
            (left, right) => return left.is_missing().cmp(&right.is_missing()),
        };
        match descending {
            true => ordering.reverse(),
            false => ordering,
        }
    }
}

fn with_entity<E: Entity>(name: &str) -> String {
    match E::NAME {
        "" => name.to_owned(),
        entity => format!("{entity}_{name}"),
    }
}

/// The columns of the screen, from left to right.
pub fn on_screen<E: Entity>() -> impl Iterator<Item = &'static Column<E>> {
    E::COLUMNS.iter().filter(|column| column.is_on_screen())
}

/// The column with that key.
#[must_use]
pub fn column<E: Entity>(key: &str) -> Option<&'static Column<E>> {
    E::COLUMNS.iter().find(|column| column.key == key)
}

impl<E: Entity> PartialEq for Column<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E: Entity> Eq for Column<E> {}

impl<E: Entity> std::fmt::Debug for Column<E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.key)
    }
}

/// The sum of two known values.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? + other?)
}

/// A column whose key is the name of a field: a metric in that unit, read through a function where one is
/// given, or a text of that width.
macro_rules! field {
    ($column:ident, $key:ident, $name:literal, $unit:ident) => {
        $column::new(stringify!($key), $name, Unit::$unit, |it| it.$key.into())
    };
    ($column:ident, $key:ident, $name:literal, $unit:ident, $read:ident) => {
        $column::new(stringify!($key), $name, Unit::$unit, |it| {
            $read(it, it.$key)
        })
    };
    ($column:ident, $key:ident, $name:literal, $width:expr) => {
        $column::text(stringify!($key), $name, |it| it.$key.clone().into(), $width)
    };
}
use field;

/// The sum of reads and writes.
macro_rules! throughput {
    ($column:ident) => {
        $column::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
            sum(it.read_bytes_per_s, it.write_bytes_per_s).into()
        })
        .help("bytes read and written")
        .also(&["throughput"])
        .derived()
    };
}
use throughput;
