//! What a page of results is made of. Sessions, comparisons and fleets become lists of blocks; the
//! text and the HTML are two renderers of these.

mod charts;
mod checks;
pub(super) mod compare;
mod evidence;
pub(super) mod run;
pub(super) mod values;

use crate::session::chart::ChartShape;
use crate::session::document::{ChartAxis, LatencySummary, Severity};

/// A part of a page.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// Heading of a run or a benchmark.
    Title {
        name: String,
        /// What it was run on, or empty.
        subject: String,
        /// How it ended, or empty.
        status: Cell,
    },
    /// Heading of the blocks that follow.
    Heading(String),
    /// Sentences, a paragraph each.
    Sentences(Vec<Cell>),
    /// What a check found, with an advice or an empty text.
    Verdict {
        severity: Severity,
        /// Its severity and its code.
        lead: String,
        sentence: String,
        advice: String,
    },
    /// Names and values.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// The most important metrics, which a table of the same page has too.
    Cards(Vec<Card>),
    /// The sessions of a comparison, labelled by their letters.
    Sessions(Vec<String>),
    Chart(Chart),
    /// The distribution of the latencies of one direction.
    Latency {
        title: String,
        /// Index of its colour.
        colour: usize,
        summary: LatencySummary,
    },
    /// Lines for a shell.
    Commands(Vec<String>),
}

/// What a text says about the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// Of less importance.
    Soft,
    Good,
    Trouble,
}

/// A text with its tone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
}

impl Cell {
    pub(super) fn soft(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Soft,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
        }
    }
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table; the heading is left out where no column has a name.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) columns: Vec<(String, Align)>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without the columns that are empty in every row.
    pub(super) fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, Align)>,
        mut rows: Vec<Vec<Cell>>,
    ) -> Self {
        let mut columns: Vec<(String, Align)> = columns
            .into_iter()
            .map(|(name, align)| (name.into(), align))
            .collect();
        for index in (0..columns.len()).rev() {
            let is_empty = |row: &Vec<Cell>| row.get(index).is_none_or(|it| it.text.is_empty());
            if rows.iter().all(is_empty) {
                columns.remove(index);
                rows.retain_mut(|row| {
                    row.remove(index);
                    true
                });
            }
        }
        Self { columns, rows }
    }

    pub(super) fn has_heading(&self) -> bool {
        self.columns.iter().any(|(name, _)| !name.is_empty())
    }
}

/// A metric in large type.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) label: String,
    pub(super) value: String,
    /// The 95 % confidence interval.
    pub(super) interval: Option<String>,
}

/// A chart with axes and curves.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) title: String,
    /// Horizontal axis; for a polar chart the angle.
    pub(super) x: ChartAxis,
    /// Vertical axis; for a polar chart the radius.
    pub(super) y: ChartAxis,
    pub(super) shape: ChartShape,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
    /// Whether the vertical axis starts at 0.
    pub(super) from_zero: bool,
    /// A curve without points keeps its letter and colour.
    pub(super) curves: Vec<Curve>,
    /// Named values on the horizontal axis.
    pub(super) marks: Vec<(String, f64)>,
}

/// A curve of a chart. Its letter and its colour are those of its index.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Name in the legend.
    pub(super) name: String,
    /// `[x, y]`, in the units of the axes.
    pub(super) points: Vec<[f64; 2]>,
    /// 95 % confidence intervals of the points, in their order; empty if there are none.
    pub(super) intervals: Vec<Option<[f64; 2]>>,
}

impl Curve {
    /// `[x, lower bound, upper bound]` of the points that have a confidence interval.
    pub(super) fn interval_points(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(&self.intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}

/// Appends blocks below a heading; nothing where there are none.
fn push_section(blocks: &mut Vec<Block>, heading: &str, body: Vec<Block>) {
    if !body.is_empty() {
        blocks.push(Block::Heading(heading.to_owned()));
        blocks.extend(body);
    }
}

/// Facts as blocks, without unknown and empty values.
fn facts<N: Into<String>>(facts: impl IntoIterator<Item = (N, Option<String>)>) -> Vec<Block> {
    let known = facts.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some((name.into(), value))
    });
    let known: Vec<(String, String)> = known.collect();
    if known.is_empty() {
        return Vec::new();
    }
    vec![Block::Facts(known)]
}
