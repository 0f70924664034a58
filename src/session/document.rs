//! The document that is saved, exported and compared: what was measured, on what, and how far
//! it may be believed.
//!
//! Every number is in bytes, nanoseconds or per second, or as its `unit` says. A figure that
//! could not be determined is absent and explained by a [`Verdict`]; it is never 0.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::latency::{Latency, PERCENTILES};
use crate::units;

/// What [`Session::schema`] always says.
pub const SCHEMA: &str = "diskscope-session";
/// The version of the document's shape that this program writes.
pub const VERSION: u32 = 1;

/// One saved session: the host, and the runs made on it in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Always `diskscope-session`.
    pub schema: String,
    /// Version of the document's shape.
    pub version: u32,
    /// Program and version that wrote it, such as `diskscope 0.1.0`.
    pub program: String,
    /// When the session began, RFC 3339 with offset.
    pub started: String,
    /// The machine that it was measured on.
    pub host: Host,
    /// The runs, in the order in which they were made.
    pub runs: Vec<Run>,
}

/// The machine that a session was measured on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: Option<String>,
    /// Kernel release, as `uname -r` says.
    pub kernel: Option<String>,
    /// Machine architecture, as `uname -m` says.
    pub architecture: Option<String>,
    /// Processors that this program may run on.
    pub processors: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the hypervisor or container, where the machine tells.
    pub virtualization: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Only in a journal: the run goes on, or its program was killed.
    Running,
    /// Everything that the test asks for was measured.
    Finished,
    /// Stopped by the user or a signal; what was measured until then is here.
    Interrupted,
    /// Stopped by an error; what was measured until then is here.
    Failed,
}

/// One test on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name of the test, such as `random-read`.
    pub test: String,
    /// How it ended.
    pub state: RunState,
    /// What stopped it, where `state` is `failed`.
    pub error: Option<RunError>,
    /// When it began, RFC 3339 with offset.
    pub started: String,
    /// How long it took, ramps and preparation included.
    pub elapsed_ns: u64,
    /// What was measured.
    pub target: TargetRecord,
    /// The test's parameters by name: bytes, nanoseconds, per second, or words.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Units of those parameters that have one.
    #[serde(default)]
    pub parameter_units: BTreeMap<String, Unit>,
    /// What executed the requests.
    pub engine: EngineRecord,
    /// What the test found.
    #[serde(flatten)]
    pub findings: Findings,
    /// The device's own counts over the run, where the kernel keeps any for the target.
    pub kernel: Option<KernelCounts>,
    /// Where the requests' time went, where the kernel could be asked (root, tracefs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageSplit>,
    /// Processor time of the run.
    pub cpu: Option<Cpu>,
    /// How to do the same again.
    pub reproduce: Reproduce,
}

/// Figures, distributions, series and verdicts: what a test yields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Single results.
    pub figures: Vec<Figure>,
    /// Response times by direction.
    pub latency: LatencyByDirection,
    /// Figures that are best read side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// Curves.
    pub series: Vec<Series>,
    /// What is to be thought of the figures.
    pub verdicts: Vec<Verdict>,
    /// Service goals that were asked for, and whether they were met.
    #[serde(default)]
    pub goals: Vec<Goal>,
}

impl Findings {
    /// Whether nothing was found at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The figure of that name, if it was determined.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// Sets a figure, in place of an earlier one of that name.
    pub fn put_figure(&mut self, figure: Figure) {
        match self
            .figures
            .iter_mut()
            .find(|known| known.name == figure.name)
        {
            Some(known) => *known = figure,
            None => self.figures.push(figure),
        }
    }

    /// Sets a series, in place of an earlier one of that name.
    pub fn put_series(&mut self, series: Series) {
        match self
            .series
            .iter_mut()
            .find(|known| known.name == series.name)
        {
            Some(known) => *known = series,
            None => self.series.push(series),
        }
    }

    /// Sets a verdict, in place of an earlier one of that code.
    pub fn put_verdict(&mut self, verdict: Verdict) {
        match self
            .verdicts
            .iter_mut()
            .find(|known| known.code == verdict.code)
        {
            Some(known) => *known = verdict,
            None => self.verdicts.push(verdict),
        }
    }

    /// Sets a table, in place of an earlier one of that name.
    pub fn put_table(&mut self, table: Table) {
        match self
            .tables
            .iter_mut()
            .find(|known| known.name == table.name)
        {
            Some(known) => *known = table,
            None => self.tables.push(table),
        }
    }

    /// Takes over what a part of a larger test found: every name gets `prefix/` in front. The
    /// part's distributions are taken where there are none yet.
    pub fn absorb(&mut self, prefix: &str, part: &Self) {
        let named = |name: &str| format!("{prefix}/{name}");
        for figure in &part.figures {
            self.put_figure(Figure {
                name: named(&figure.name),
                ..figure.clone()
            });
        }
        for series in &part.series {
            self.put_series(Series {
                name: named(&series.name),
                ..series.clone()
            });
        }
        for verdict in &part.verdicts {
            self.put_verdict(Verdict {
                code: named(&verdict.code),
                ..verdict.clone()
            });
        }
        for table in &part.tables {
            self.put_table(table.prefixed(prefix));
        }
        let latency = &part.latency;
        self.latency.read = self.latency.read.take().or_else(|| latency.read.clone());
        self.latency.write = self.latency.write.take().or_else(|| latency.write.clone());
    }

    /// The series of that name, if there is one.
    #[must_use]
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }
}

/// The unit of a figure or of a chart's axis.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Unit {
    /// Requests or events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Revolutions per minute.
    #[serde(rename = "rpm")]
    RevolutionsPerMinute,
    /// A share or quotient: 1 is the whole.
    #[serde(rename = "ratio")]
    Ratio,
    /// A plain number, such as a queue depth.
    #[serde(rename = "1")]
    Count,
    /// A position on the revolution, 0 to 1.
    #[serde(rename = "revolution")]
    Revolution,
    /// Sectors of 512 bytes.
    #[serde(rename = "sectors")]
    Sectors,
}

impl Unit {
    /// A value of this unit as people read it: `78.1 us`, `512 MB/s`, `83.9k /s`.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{} /s", units::count(value)),
            Self::BytesPerSecond => units::throughput(value),
            Self::Nanoseconds => units::latency(value),
            Self::Bytes => units::capacity(value),
            Self::RevolutionsPerMinute => format!("{value:.2} rpm"),
            Self::Ratio => units::three_digits(value),
            Self::Count => units::count(value),
            Self::Revolution => format!("{value:.3} rev"),
            Self::Sectors => format!("{value:.0} sectors"),
        }
    }
}

/// One result: typed once, rendered everywhere from this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Name, such as `iops`.
    pub name: String,
    /// The value in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Lower 95 % confidence limit; null where it cannot be had.
    pub low: Option<f64>,
    /// Upper 95 % confidence limit; null where it cannot be had.
    pub high: Option<f64>,
    /// How many observations it rests on, where that is a number that means something.
    pub observations: Option<u64>,
}

impl Figure {
    /// A figure without confidence limits.
    #[must_use]
    pub fn new(name: &str, value: f64, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit,
            low: None,
            high: None,
            observations: None,
        }
    }

    /// The name as people read it: `latency p99`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.name.as_str() {
            "iops" => "IOPS".to_owned(),
            name => name.replace('_', " "),
        }
    }

    /// The value as people read it; sizes of requests in binary units, positions in decimal ones.
    #[must_use]
    pub fn text(&self) -> String {
        self.render(self.value)
    }

    /// The 95 % limits as people read them, where there are any.
    #[must_use]
    pub fn limits_text(&self) -> Option<String> {
        Some(format!(
            "{} to {}",
            self.render(self.low?),
            self.render(self.high?)
        ))
    }

    fn render(&self, value: f64) -> String {
        if self.unit == Unit::Bytes && self.name.ends_with("_size") {
            return units::block_size(value);
        }
        self.unit.format(value)
    }

    /// The same figure with its 95 % confidence limits.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.low = Some(low);
        self.high = Some(high);
        self
    }

    /// The same figure, resting on that many observations.
    #[must_use]
    pub fn from_observations(mut self, observations: u64) -> Self {
        self.observations = Some(observations);
        self
    }
}

/// Figures arranged in rows and columns. It holds their names alone, so that table and list cannot
/// disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Name, which is its heading too.
    pub name: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// One row of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Heading of the row.
    pub name: String,
    /// For each column the name of the figure that belongs there; a figure that the run lacks is
    /// unknown.
    pub cells: Vec<String>,
}

impl Table {
    /// A table whose cells are the figures `ROW_COLUMN`: columns as `(heading, ending)`, rows as
    /// `(heading, beginning)` of the names.
    #[must_use]
    pub fn crossed(name: &str, columns: &[(&str, &str)], rows: &[(&str, &str)]) -> Self {
        let row = |(heading, beginning): &(&str, &str)| TableRow {
            name: (*heading).to_owned(),
            cells: columns
                .iter()
                .map(|(_, ending)| format!("{beginning}_{ending}"))
                .collect(),
        };
        Self {
            name: name.to_owned(),
            columns: columns
                .iter()
                .map(|(heading, _)| (*heading).to_owned())
                .collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    /// The same table of a part's figures.
    fn prefixed(&self, prefix: &str) -> Self {
        let mut table = self.clone();
        table.name = format!("{prefix}/{}", self.name);
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = format!("{prefix}/{cell}");
        }
        table
    }
}

/// Response times of reads and of writes; absent where none were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyByDirection {
    /// Of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<LatencySummary>,
    /// Of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<LatencySummary>,
}

/// A distribution of response times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// How many requests.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// The fastest.
    pub min_ns: u64,
    /// The slowest.
    pub max_ns: u64,
    /// By percent, such as `"99.9"`: the response time that this share of requests beats. A
    /// percentile that fewer than 10 observations lie beyond is left out.
    pub percentiles: BTreeMap<String, u64>,
    /// `[low_ns, high_ns, count]`, ascending, empty bins left out; `low` is in, `high` is not.
    pub histogram: Vec<[u64; 3]>,
}

impl LatencySummary {
    /// What is kept of many response times; `None` when there are none.
    #[must_use]
    pub fn of(latency: &Latency) -> Option<Self> {
        let percentile = |percent: f64| Some((percent.to_string(), latency.percentile(percent)?));
        Some(Self {
            count: latency.count(),
            mean_ns: latency.mean()?,
            stddev_ns: latency.standard_deviation().unwrap_or(0.0),
            min_ns: latency.min()?,
            max_ns: latency.max()?,
            percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
            histogram: latency.bins(16),
        })
    }
}

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What is drawn along it.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
}

impl Axis {
    /// An axis.
    #[must_use]
    pub fn new(name: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            unit,
        }
    }
}

/// Axes whose bytes are sizes of blocks and buffers: people count them in binary units.
const BINARY_AXES: [&str; 3] = ["block size", "record size", "read-ahead"];

impl Axis {
    /// A value on it as people read it.
    #[must_use]
    pub fn format(&self, value: f64) -> String {
        if self.unit == Unit::Bytes && BINARY_AXES.contains(&self.name.as_str()) {
            return units::block_size(value);
        }
        self.unit.format(value)
    }
}

/// A curve or a cloud of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Name, such as `iops-over-time`.
    pub name: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// `[x, y]`, in the order in which they were obtained.
    pub points: Vec<[f64; 2]>,
}

/// How much a verdict takes from the figures' worth.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The figures are probably not what they seem.
    Warning,
    /// The figures do not say what the test is for.
    Invalid,
}

/// What is to be thought of a run's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// A fixed name, such as `served-from-cache`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen, in figures.
    pub evidence: String,
    /// What to do about it.
    pub advice: String,
}

impl Verdict {
    /// A verdict.
    #[must_use]
    pub fn new(
        code: &str,
        severity: Severity,
        evidence: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            evidence: evidence.into(),
            advice: advice.into(),
        }
    }
}

/// A service goal and whether the run met it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// As it was asked for, such as `p95<=500ms`.
    pub goal: String,
    /// Whether it was met; null where the figure could not be determined.
    pub met: Option<bool>,
    /// The value that decided, in the figure's unit.
    pub measured: Option<f64>,
    /// The limit, in the figure's unit.
    pub limit: f64,
    /// Unit of both.
    pub unit: Unit,
}

/// What stopped a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    /// One sentence: what went wrong, on what.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// As it was named.
    pub path: String,
    /// `block-device`, `file`, `scratch` or `simulated`.
    pub kind: String,
    /// Its size.
    pub size_bytes: u64,
    /// Smallest request the kernel takes for it.
    pub logical_block_bytes: u32,
    /// Smallest request that the medium does without read-modify-write.
    pub physical_block_bytes: u32,
    /// The block device that the kernel keeps counts for, such as `nvme0n1`: the target itself,
    /// or what its file system lies on.
    pub device: Option<String>,
    /// Model, as the drive says.
    pub model: Option<String>,
    /// Serial number, as the drive says.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Transport, such as `nvme`, `sata`, `usb`, `virtio`, `loop`.
    pub transport: Option<String>,
    /// What the kernel's `rotational` flag claims.
    pub rotational: Option<bool>,
    /// File system that a file or directory lies on.
    pub file_system: Option<String>,
}

/// What executed the requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineRecord {
    /// `uring`, `pread` or `simulated`.
    pub name: String,
    /// What it made use of, such as `registered-buffers`.
    pub features: Vec<String>,
    /// Why a better one was not taken, where there was a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A block device's own counts over a run, from /proc/diskstats
/// (kernel Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounts {
    /// Name of the device, such as `sda`.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads that were merged with another.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time spent by reads, summed over requests.
    pub read_ns: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes that were merged with another.
    pub writes_merged: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time spent by writes, summed over requests.
    pub write_ns: u64,
    /// Discards completed; null before kernel 4.18.
    pub discards: Option<u64>,
    /// Flushes completed; null before kernel 5.5.
    pub flushes: Option<u64>,
    /// Time during which something was in flight.
    pub busy_ns: u64,
    /// Requests in flight, integrated over time.
    pub weighted_ns: u64,
}

/// Where the time of the run's own requests went: in the kernel's queue or in the drive, from the
/// block layer's trace events. What a thread of the kernel writes back later is not in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSplit {
    /// Name of the device, such as `sda`.
    pub device: String,
    /// Requests that were followed.
    pub requests: u64,
    /// Events that the kernel lost: where there are any, some requests are missing.
    pub lost: u64,
    /// From the block layer's entrance until they were given to the driver (Q2D): splitting,
    /// merging, waiting in the scheduler's queue.
    pub queue: LatencyByDirection,
    /// In the driver and the drive (D2C).
    pub drive: LatencyByDirection,
}

/// Processor time of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Of the threads that sent the requests, in user mode.
    pub user_ns: u64,
    /// Of the threads that sent the requests, in the kernel.
    pub system_ns: u64,
    /// Of the whole machine, all processors: what the kernel's own workers did is in it.
    pub machine_busy_ns: Option<u64>,
}

/// How to do the same again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduce {
    /// The command line of this program.
    pub diskscope: String,
    /// The nearest fio command line; null where there is none.
    pub fio: Option<String>,
}
