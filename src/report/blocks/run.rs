//! A run and a session as blocks.

use std::time::Duration;

use super::values::{TableUnit, metrics_table};
use super::{Align, Block, Card, Cell, Table, Tone, charts, checks, evidence, facts, push_section};
use crate::bench::find_benchmark;
use crate::files::safe_text::SafeText;
use crate::report::again;
use crate::report::words::time_text;
use crate::session::chart::ResultPresentation;
use crate::session::compare::align::{format_parameters, group_repeated_runs};
use crate::session::document::{
    BenchmarkRun, Findings, KernelCounts, LatencySummary, Metric, MetricId, MetricTable, RunState,
    Series, StageBreakdown, TargetRecord,
};
use crate::session::stability::{RepeatedMetric, summarize_repeats};
use crate::units;

/// Number of cards of a run whose benchmark defines no headline metrics.
const MAX_DEFAULT_CARDS: usize = 4;

/// The parts of a run's page. A terminal shows the end of what is printed, a browser its beginning:
/// the renderers differ in their order.
#[derive(Debug)]
pub(in crate::report) struct RunBlocks {
    pub(in crate::report) title: Vec<Block>,
    /// What the benchmark measures and its most important metrics; the other parts have these too.
    pub(in crate::report) headline: Vec<Block>,
    pub(in crate::report) checks: Vec<Block>,
    pub(in crate::report) goals: Vec<Block>,
    pub(in crate::report) metrics: Vec<Block>,
    pub(in crate::report) charts: Vec<Block>,
    pub(in crate::report) notes: Vec<Block>,
    /// Everything that is known of the drive.
    pub(in crate::report) drive: Vec<Block>,
    /// What the machine did during the run.
    pub(in crate::report) system: Vec<Block>,
    pub(in crate::report) commands: Vec<Block>,
    /// Nested benchmarks: name, and their charts and metrics.
    pub(in crate::report) nested: Vec<(String, Vec<Block>)>,
}

impl RunBlocks {
    pub(in crate::report) fn of(run: &BenchmarkRun) -> Self {
        let findings = &run.findings;
        let presentation = presentation_of(&run.test);
        let mut commands = Vec::new();
        let lines = again::lines(run);
        if !lines.is_empty() {
            push_section(
                &mut commands,
                "Repeat this run",
                vec![Block::Commands(lines)],
            );
        }
        Self {
            title: title_blocks(run),
            headline: headline_blocks(findings, &presentation),
            checks: checks::problems(run),
            goals: checks::goals(&findings.goals),
            metrics: metric_blocks(findings),
            charts: charts::run_charts(findings, presentation.charts),
            notes: checks::notes(&findings.verdicts),
            drive: drive_blocks(&run.target),
            system: system_blocks(run),
            commands,
            nested: nested_blocks(findings),
        }
    }
}

/// How the result of a benchmark is presented, if this version knows it.
pub(in crate::report) fn presentation_of(benchmark: &str) -> ResultPresentation {
    find_benchmark(benchmark).map_or_else(ResultPresentation::default, |benchmark| {
        benchmark.description().presentation()
    })
}

fn title_blocks(run: &BenchmarkRun) -> Vec<Block> {
    let (word, tone) = match run.state {
        RunState::Finished => ("finished after", Tone::Good),
        RunState::Interrupted => ("INTERRUPTED after", Tone::Trouble),
        RunState::Failed => ("FAILED after", Tone::Trouble),
        RunState::Running => ("running for", Tone::Soft),
    };
    let elapsed = units::format_wait(Duration::from_nanos(run.elapsed_ns));
    let status = Cell {
        text: format!("{word} {elapsed}"),
        tone,
    };
    titled(run, status)
}

/// Target, parameters and engine of a run.
fn titled(run: &BenchmarkRun, status: Cell) -> Vec<Block> {
    let mut engine = format!("engine {}", run.engine.name);
    if !run.engine.features.is_empty() {
        engine = format!("{engine}: {}", run.engine.features.join(", "));
    }
    if let Some(reason) = &run.engine.reason {
        engine = format!("{engine} ({reason})");
    }
    let parameters = format_parameters(run).join(", ");
    let title = Block::Title {
        name: run.test.to_string(),
        subject: target_text(&run.target),
        status,
    };
    let details = vec![Cell::soft(parameters), Cell::soft(engine)];
    vec![title, Block::Sentences(details)]
}

fn target_text(target: &TargetRecord) -> String {
    let name = match target.kind.as_str() {
        "scratch" => format!("a scratch file in {}", target.path),
        _ => target.path.to_string(),
    };
    let about = [
        &target.file_system,
        &target.device,
        &target.model,
        &target.transport,
    ];
    let about = about.into_iter().flatten().map(SafeText::to_string);
    let words: Vec<String> = [name, units::format_size(target.size_bytes)]
        .into_iter()
        .chain(about)
        .collect();
    words.join(", ")
}

fn headline_blocks(findings: &Findings, presentation: &ResultPresentation) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !presentation.summary.is_empty() {
        let summary = vec![Cell::soft(presentation.summary)];
        blocks.push(Block::Sentences(summary));
    }
    let card = |metric: &Metric| Card {
        label: metric.label(),
        value: metric.value_text(),
        interval: metric.interval_text(),
    };
    let metrics = headline_metrics(&findings.metrics, presentation.headline);
    let cards: Vec<Card> = metrics.into_iter().map(card).collect();
    if !cards.is_empty() {
        blocks.push(Block::Cards(cards));
    }
    blocks
}

/// The metrics of these names; the first ones where the run has none of them.
pub(in crate::report) fn headline_metrics<'m>(
    metrics: &'m [Metric],
    headline: &[MetricId],
) -> Vec<&'m Metric> {
    let named: Vec<&Metric> = headline
        .iter()
        .filter_map(|id| metrics.iter().find(|it| it.id == *id))
        .collect();
    if named.is_empty() {
        metrics.iter().take(MAX_DEFAULT_CARDS).collect()
    } else {
        named
    }
}

fn metric_blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    for table in findings.top_level_tables() {
        let body = vec![table_of_metrics(table, findings)];
        push_section(&mut blocks, &table.name, body);
    }
    let others = metrics_table(&findings.metrics_outside_tables());
    push_section(&mut blocks, "Metrics", others);
    blocks
}

/// A table of the benchmark; a metric that the run lacks is `n/a`.
fn table_of_metrics(table: &MetricTable, findings: &Findings) -> Block {
    let index = findings.index();
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let unit = TableUnit::of(cells.filter_map(|id| index.get(id)));
    let value = |id: &MetricId| match index.get(id) {
        Some(metric) => unit.value_with_margin(metric).into(),
        None => Cell::soft("n/a"),
    };
    let rows = table.rows.iter().map(|row| {
        let name = std::iter::once(row.name.to_string().into());
        name.chain(row.cells.iter().map(value)).collect()
    });
    let names = table
        .columns
        .iter()
        .map(|name| (name.to_string(), Align::Right));
    let columns = std::iter::once((String::new(), Align::Left)).chain(names);
    Block::Table(Table::new(columns, rows.collect()))
}

fn drive_blocks(target: &TargetRecord) -> Vec<Block> {
    let word = |value: &Option<SafeText>| value.as_ref().map(SafeText::to_string);
    let medium = target.rotational.map(|is_rotational| {
        let word = if is_rotational {
            "rotational"
        } else {
            "not rotational"
        };
        word.to_owned()
    });
    let size = units::format_size(target.size_bytes);
    let blocks = [target.logical_block_bytes, target.physical_block_bytes]
        .map(|bytes| units::format_block_size(f64::from(bytes)));
    let [logical, physical] = blocks;
    let known = facts([
        ("target", Some(target.path.to_string())),
        ("kind", Some(target.kind.to_string())),
        (
            "size",
            Some(format!("{size} ({} bytes)", target.size_bytes)),
        ),
        ("device", word(&target.device)),
        ("model", word(&target.model)),
        ("serial", word(&target.serial)),
        ("firmware", word(&target.firmware)),
        ("transport", word(&target.transport)),
        ("file system", word(&target.file_system)),
        ("medium", medium),
        (
            "block size",
            Some(format!("{logical} logical, {physical} physical")),
        ),
    ]);
    let mut blocks = Vec::new();
    push_section(&mut blocks, "Drive", known);
    blocks
}

fn system_blocks(run: &BenchmarkRun) -> Vec<Block> {
    let time = |nanoseconds| units::format_wait(Duration::from_nanos(nanoseconds));
    let processor = run.cpu.map(|cpu| {
        let machine = cpu.machine_busy_ns.map_or_else(String::new, |busy| {
            format!("; all CPUs busy {}", time(busy))
        });
        let (user, system) = (time(cpu.user_ns), time(cpu.system_ns));
        format!("{user} user, {system} system{machine}")
    });
    let own = [
        ("started", Some(time_text(&run.started))),
        ("CPU time", processor),
    ];
    let evidence = evidence::evidence_lines(&run.evidence).into_iter();
    let all = own
        .into_iter()
        .chain(evidence.map(|(name, value)| (name, Some(value))));
    let mut blocks = Vec::new();
    push_section(&mut blocks, "System during the run", facts(all));
    if let Some(kernel) = &run.kernel {
        push_section(&mut blocks, "Block layer counters", kernel_counts(kernel));
    }
    if let Some(stages) = &run.stages {
        push_section(&mut blocks, "Latency by stage", latency_by_stage(stages));
    }
    blocks
}

fn kernel_counts(kernel: &KernelCounts) -> Vec<Block> {
    let direction = |count: u64, merged: u64, bytes: u64| {
        let size = units::format_block_size((bytes as f64 / count as f64).round());
        let bytes = units::format_capacity(bytes as f64);
        (count > 0).then(|| format!("{count}, {bytes}, mean size {size}, {merged} merged"))
    };
    let count = |count: Option<u64>| count.filter(|count| *count > 0).map(|it| it.to_string());
    let time = |nanoseconds| units::format_wait(Duration::from_nanos(nanoseconds));
    let counted = kernel
        .counted_ns
        .map(|counted| format!(" of {}", time(counted)));
    let busy = time(kernel.busy_ns) + &counted.unwrap_or_default();
    facts([
        ("device", Some(kernel.device.to_string())),
        (
            "reads",
            direction(kernel.reads, kernel.reads_merged, kernel.read_bytes),
        ),
        (
            "writes",
            direction(kernel.writes, kernel.writes_merged, kernel.written_bytes),
        ),
        ("discards", count(kernel.discards)),
        ("flushes", count(kernel.flushes)),
        (
            "busy",
            Some(format!(
                "{busy} (no measure of saturation for parallel drives)"
            )),
        ),
    ])
}

fn latency_by_stage(stages: &StageBreakdown) -> Vec<Block> {
    let words = |summary: &Option<LatencySummary>| {
        let summary = summary.as_ref()?;
        let mean = units::format_latency(summary.mean_ns);
        let p99 = summary.percentiles.get("99").map_or_else(
            || "n/a".to_owned(),
            |p99| units::format_latency(*p99 as f64),
        );
        Some(format!("mean {mean}, p99 {p99}"))
    };
    let lost = (stages.lost_events > 0).then(|| format!("{} EVENTS", stages.lost_events));
    facts([
        ("device", Some(stages.device.to_string())),
        ("traced", Some(format!("{} requests", stages.requests))),
        ("lost", lost),
        ("reads Q2D", words(&stages.q2d.read)),
        ("reads D2C", words(&stages.d2c.read)),
        ("writes Q2D", words(&stages.q2d.write)),
        ("writes D2C", words(&stages.d2c.write)),
    ])
}

fn nested_blocks(findings: &Findings) -> Vec<(String, Vec<Block>)> {
    let metrics = findings.metrics.iter().map(|metric| metric.id.benchmark());
    let series = findings.series.iter().map(|series| series.id.benchmark());
    let mut names: Vec<&str> = Vec::new();
    for name in metrics.chain(series).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let blocks_of = |name: &str| {
        let nested = nested_findings(findings, name);
        let mut blocks = charts::run_charts(&nested, presentation_of(name).charts);
        let metrics: Vec<&Metric> = nested.metrics.iter().collect();
        push_section(&mut blocks, "Metrics", metrics_table(&metrics));
        (name.to_owned(), blocks)
    };
    names.into_iter().map(blocks_of).collect()
}

/// The findings of one nested benchmark, without the prefix in their names.
fn nested_findings(findings: &Findings, benchmark: &str) -> Findings {
    let metrics = findings.metrics.iter();
    let metrics = metrics.filter(|metric| metric.id.benchmark() == Some(benchmark));
    let series = findings.series.iter();
    let series = series.filter(|series| series.id.benchmark() == Some(benchmark));
    Findings {
        metrics: metrics
            .map(|metric| Metric {
                id: metric.id.within_benchmark(),
                ..metric.clone()
            })
            .collect(),
        series: series
            .map(|series| Series {
                id: series.id.within_benchmark(),
                ..series.clone()
            })
            .collect(),
        ..Findings::default()
    }
}

/// For each repeated measurement, its metrics over all runs below a heading.
pub(in crate::report) fn repeated_blocks(runs: &[BenchmarkRun]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in group_repeated_runs(runs, &[]) {
        if group.len() > 1 {
            let heading = format!("all {} runs of {}", group.len(), group[0].test);
            push_section(&mut blocks, &heading, repeated_table(&group));
        }
    }
    blocks
}

/// Mean and spread of every metric of repeated runs.
fn repeated_table(group: &[&BenchmarkRun]) -> Vec<Block> {
    let metrics = summarize_repeats(group);
    if metrics.is_empty() {
        return Vec::new();
    }
    let unit = TableUnit::of(metrics.iter().flat_map(|it| [&it.lowest, &it.highest]));
    let row = |metric: &RepeatedMetric| {
        vec![
            metric.mean.label().into(),
            unit.value(&metric.mean).into(),
            Cell::soft(unit.interval(&metric.mean)),
            unit.value(&metric.lowest).into(),
            unit.value(&metric.highest).into(),
        ]
    };
    let columns = ["mean", "95 % CI", "lowest", "highest"].map(|name| (name, Align::Right));
    let columns = std::iter::once(("", Align::Left)).chain(columns);
    let rows = metrics.iter().map(row).collect();
    vec![Block::Table(Table::new(columns, rows))]
}

/// Runs of one command on one page: repeated runs as the spread of their metrics, with what the checks
/// found in any of them; others as they are.
pub(in crate::report) fn summary_of_repeats(group: &[&BenchmarkRun]) -> Vec<Block> {
    let first = group[0];
    let finished = group.iter().filter(|run| run.state == RunState::Finished);
    let status = match (finished.count(), group.len()) {
        (done, all) if done == all => Cell {
            text: format!("{all} runs finished"),
            tone: Tone::Good,
        },
        (done, all) => Cell {
            text: format!("{done} of {all} runs finished"),
            tone: Tone::Trouble,
        },
    };
    let mut blocks = titled(first, status);
    let spread = repeated_table(group);
    push_section(
        &mut blocks,
        &format!("all {} runs of {}", group.len(), first.test),
        spread,
    );
    blocks.extend(checks::problems_of_repeats(group));
    blocks.extend(checks::goals_of_repeats(group));
    let lines = again::lines(first);
    if !lines.is_empty() {
        let body = vec![Block::Commands(lines)];
        push_section(&mut blocks, "Repeat one of these runs", body);
    }
    blocks
}
