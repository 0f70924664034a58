//! Comparisons as blocks: of two or more sessions, and of many drives by one metric.

use super::run::presentation_of;
use super::values::TableUnit;
use super::{Align, Block, Cell, Table, Tone, charts, push_section};
use crate::files::shell;
use crate::report::words::{session_letter, severity_word};
use crate::session::compare::fleet::{FleetRow, FleetTable};
use crate::session::compare::{
    BaselineRatio, ComparedBenchmark, ComparedMetric, Comparison, FleetComparison, RatioJudgement,
    UnmatchedMeasurement,
};
use crate::session::document::{Metric, MetricId, Verdict};
use crate::units;

/// Maximum width of a host's or model's name in a table.
const MAX_NAME_WIDTH: usize = 15;
/// Maximum width of a target's name in a table.
const MAX_TARGET_WIDTH: usize = 11;

/// A comparison of two or more sessions.
pub(in crate::report) fn comparison_blocks(comparison: &Comparison) -> Vec<Block> {
    let session = comparison.sessions.iter().map(|session| {
        let host = session.host.as_deref().unwrap_or("unknown host");
        format!("{}, {host}, {}", session.name, session.started)
    });
    let mut blocks = vec![Block::Sessions(session.collect())];
    for benchmark in &comparison.benchmarks {
        blocks.extend(benchmark_blocks(benchmark, comparison));
    }
    if comparison.benchmarks.is_empty() {
        let nothing = vec!["no benchmark can be compared".into()];
        blocks.push(Block::Sentences(nothing));
    }
    let mismatches: Vec<Cell> = comparison
        .mismatches
        .iter()
        .map(|mismatch| mismatch_text(mismatch).into())
        .collect();
    if !mismatches.is_empty() {
        let sentences = vec![Block::Sentences(mismatches)];
        push_section(&mut blocks, "Not compared", sentences);
    }
    blocks
}

fn benchmark_blocks(benchmark: &ComparedBenchmark, comparison: &Comparison) -> Vec<Block> {
    let mut blocks = vec![Block::Title {
        name: benchmark.benchmark.to_string(),
        subject: String::new(),
        status: Cell::default(),
    }];
    let parameters = std::iter::once(benchmark.parameters.join(", "));
    let differing = benchmark.differing.iter();
    let ignored = differing.map(|it| format!("ignored: {}", it.values_text()));
    let targets = benchmark.targets.iter().enumerate();
    let targets = targets.filter_map(|(index, measured)| {
        let measured = measured.as_ref()?;
        let model = measured.model.as_ref().map(|model| format!(", {model}"));
        let model = model.unwrap_or_default();
        let runs = match measured.runs {
            0 | 1 => String::new(),
            runs => format!(", {runs} runs"),
        };
        Some(format!(
            "{} {}{model}{runs}",
            session_letter(index),
            measured.target
        ))
    });
    let sentences = parameters.chain(ignored).chain(targets).map(Cell::soft);
    blocks.push(Block::Sentences(sentences.collect()));
    blocks.extend(cautions(benchmark));
    for pair in benchmark.compared_pairs() {
        blocks.push(metrics_table(&benchmark.metrics, pair));
    }
    let reasons = benchmark.not_determined_reasons().into_iter();
    blocks.push(Block::Sentences(reasons.map(Cell::soft).collect()));
    let specs = presentation_of(&benchmark.benchmark).charts;
    let overlays = benchmark.charts.iter();
    blocks.extend(overlays.filter_map(|it| charts::overlay_chart(it, comparison, specs)));
    blocks
}

fn cautions(benchmark: &ComparedBenchmark) -> Vec<Block> {
    let sides = benchmark.targets.iter().enumerate();
    let all = sides.flat_map(|(index, measured)| {
        let cautions = measured.iter().flat_map(|it| &it.cautions);
        cautions.map(move |caution| (session_letter(index), caution))
    });
    let block = |(letter, caution): (String, &Verdict)| Block::Verdict {
        severity: caution.severity,
        lead: format!(
            "{letter} {} {}",
            severity_word(caution.severity),
            caution.code
        ),
        sentence: caution.evidence.to_string(),
        advice: String::new(),
    };
    let mut blocks = Vec::new();
    push_section(&mut blocks, "Caution", all.map(block).collect());
    blocks
}

/// The metrics of the baseline and one other session, and their ratio.
fn metrics_table(metrics: &[ComparedMetric], (baseline, other): (usize, usize)) -> Block {
    let compared = metrics.iter().filter(|it| it.baseline == baseline);
    let pairs: Vec<(Metric, Metric, Option<&BaselineRatio>)> = compared
        .filter_map(|metric| {
            let of = |side: usize| metric.samples.get(side)?.as_ref();
            let (first, sample) = (of(baseline)?, of(other)?);
            let ratio = sample.against_baseline.as_ref();
            Some((metric.metric_of(first), metric.metric_of(sample), ratio))
        })
        .collect();
    let unit = TableUnit::of(pairs.iter().flat_map(|(first, other, _)| [first, other]));
    let row = |(first, other, ratio): &(Metric, Metric, Option<&BaselineRatio>)| {
        let tone = match ratio.and_then(|ratio| ratio.judgement) {
            Some(RatioJudgement::Faster) => Tone::Good,
            Some(RatioJudgement::Slower) => Tone::Trouble,
            _ => Tone::Soft,
        };
        let [ratio, interval, judgement] =
            ratio.map(BaselineRatio::ratio_columns).unwrap_or_default();
        let judgement = Cell {
            text: judgement,
            tone,
        };
        vec![
            first.label().into(),
            unit.value(first).into(),
            unit.value(other).into(),
            ratio.into(),
            Cell::soft(interval),
            judgement,
        ]
    };
    let [first, second] = [session_letter(baseline), session_letter(other)];
    let against = format!("{second}/{first}");
    let columns = [
        (String::new(), Align::Left),
        (first, Align::Right),
        (second, Align::Right),
        (against, Align::Right),
        ("95 % CI".to_owned(), Align::Right),
        (String::new(), Align::Left),
    ];
    Block::Table(Table::new(columns, pairs.iter().map(row).collect()))
}

/// What was not compared, and how it can be.
fn mismatch_text(mismatch: &UnmatchedMeasurement) -> String {
    let sentence = mismatch.sentence();
    let differences = mismatch.differences.iter();
    let options: Vec<String> = differences
        .filter_map(|it| shell::command_line(["--ignore", &it.parameter]))
        .map(shell::for_terminal)
        .collect();
    if options.is_empty() {
        return sentence;
    }
    let options = options.join(" ");
    format!("{sentence}; to compare them: {options}")
}

/// A comparison of many drives by one metric.
pub(in crate::report) fn fleet_blocks(fleet: &FleetComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    for table in &fleet.tables {
        let heading = format!("{} of {}", fleet.metric, table.benchmark);
        let parameters = vec![table.parameters.join(", ").into()];
        let mut notes: Vec<Cell> = vec![peer_summary(table).into()];
        notes.extend(caution_notes(table).map(Cell::from));
        let body = vec![
            Block::Sentences(parameters),
            drives_table(&fleet.metric, table),
            Block::Sentences(notes),
        ];
        push_section(&mut blocks, &heading, body);
    }
    if fleet.tables.is_empty() {
        let nothing = format!("no session has the metric {}", fleet.metric);
        blocks.push(Block::Sentences(vec![nothing.into()]));
    }
    blocks.extend(fleet.unstable.iter().map(|verdict| Block::Verdict {
        severity: verdict.severity,
        lead: format!("{} {}", severity_word(verdict.severity), verdict.code),
        sentence: verdict.evidence.to_string(),
        advice: String::new(),
    }));
    let excluded = fleet.excluded.iter();
    let excluded: Vec<Cell> = excluded
        .map(|one| format!("{}: {}", one.name, one.reason).into())
        .collect();
    if !excluded.is_empty() {
        push_section(&mut blocks, "Excluded", vec![Block::Sentences(excluded)]);
    }
    blocks
}

fn drives_table(id: &MetricId, table: &FleetTable) -> Block {
    let metric = |row: &FleetRow| Metric::with_unit(id.clone(), row.value, table.unit);
    let metrics: Vec<Metric> = table.rows.iter().map(metric).collect();
    let unit = TableUnit::of(metrics.iter());
    let rows = table.rows.iter().zip(&metrics).map(|(row, metric)| {
        let host = row.host.as_deref().unwrap_or(&row.name);
        let model = row.model.as_deref().unwrap_or("unknown");
        let target = row.target.trim_start_matches("/dev/");
        let distance = row.peers.as_ref().map(|peers| peers.relative_distance);
        vec![
            shorten_name(host, MAX_NAME_WIDTH).into(),
            shorten_name(target, MAX_TARGET_WIDTH).into(),
            shorten_name(model, MAX_NAME_WIDTH).into(),
            unit.value(metric).into(),
            distance.map(signed_percent).unwrap_or_default().into(),
            row_remarks(row).into(),
        ]
    });
    let columns = [
        ("host", Align::Left),
        ("target", Align::Left),
        ("model", Align::Left),
        ("value", Align::Right),
        ("vs median", Align::Right),
        ("", Align::Left),
    ];
    Block::Table(Table::new(columns, rows.collect()))
}

fn signed_percent(share: f64) -> String {
    let sign = if share >= 0.0 { "+" } else { "" };
    format!("{sign}{}", units::format_percent(share))
}

fn row_remarks(row: &FleetRow) -> String {
    let stands_out = row.peers.as_ref().is_some_and(|peers| peers.outlier);
    let outlier = if stands_out { "OUTLIER" } else { "" };
    let doubtful = if row.cautions.is_empty() { "" } else { "!" };
    let parameters = row.parameters.join(", ");
    let words = [outlier, doubtful, &parameters];
    let words = words.iter().filter(|word| !word.is_empty());
    words.copied().collect::<Vec<_>>().join(" ")
}

/// Reasons to doubt the metrics of the marked rows.
fn caution_notes(table: &FleetTable) -> impl Iterator<Item = String> {
    let doubtful = table.rows.iter().filter(|row| !row.cautions.is_empty());
    doubtful.map(|row| {
        let host = row.host.as_deref().unwrap_or(&row.name);
        let codes: Vec<String> = row.cautions.iter().map(ToString::to_string).collect();
        format!("! {host}, {}: {}", row.target, codes.join(", "))
    })
}

/// Shortens a name to fit a column.
fn shorten_name(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    // The end of similar names differs more often than the beginning.
    let tail: String = name.chars().skip(length + 2 - most).collect();
    format!("..{tail}")
}

fn peer_summary(table: &FleetTable) -> String {
    let rows = &table.rows;
    let is_outlier = |row: &&FleetRow| row.peers.as_ref().is_some_and(|it| it.outlier);
    let outliers = rows.iter().filter(is_outlier).count();
    let unjudged = rows.iter().filter(|row| row.peers.is_none()).count();
    let mut words = format!("{} drives, outliers: {outliers}", rows.len());
    if unjudged > 0 {
        words += &format!("; {unjudged} not tested for outliers: fewer than 5 drives of the model");
    }
    words
}

#[cfg(test)]
mod tests;
