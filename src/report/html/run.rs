//! One run: its setup, results, validity, and the commands that repeat it.

use std::time::Duration;

use super::escape::escape_html;
use super::{PresentationLookup, charts, parts};
use crate::safe_text::SafeText;
use crate::session::chart::ResultPresentation;
use crate::session::compare::align::format_parameters;
use crate::session::document::{BenchmarkRun, Findings, Metric, RunState, Series, TargetRecord};
use crate::units;

/// A run's section of the page.
pub(super) fn run_section(
    run: &BenchmarkRun,
    number: usize,
    presentations: &PresentationLookup<'_>,
) -> String {
    let presentation = presentations(&run.test).unwrap_or_default();
    let findings = &run.findings;
    [
        format!("<section class=\"run\" id=\"run-{number}\">\n"),
        run_heading(run, &presentation),
        parts::error_section(run),
        parts::problems_section(&findings.verdicts),
        parts::metric_cards(&findings.figures, presentation.headline),
        parts::goals_table(&findings.goals),
        charts::run_charts(findings, presentation.charts),
        parts::metric_tables(findings),
        parts::notes_section(&findings.verdicts),
        "<div class=\"details\">\n".to_owned(),
        parts::metrics_table(&findings.metrics_outside_tables()),
        "<div>\n".to_owned(),
        drive_description(&run.target),
        execution_facts(run),
        parts::kernel_counts_table(run.kernel.as_ref()),
        parts::stages_table(run.stages.as_ref()),
        parts::evidence_section(&run.evidence),
        "</div>\n</div>\n".to_owned(),
        parts::commands(run),
        nested_sections(findings, presentations),
        "</section>\n".to_owned(),
    ]
    .concat()
}

fn run_heading(run: &BenchmarkRun, presentation: &ResultPresentation) -> String {
    let (class, word) = match run.state {
        RunState::Finished => ("good", "finished"),
        RunState::Interrupted => ("trouble", "interrupted"),
        RunState::Failed => ("trouble", "failed"),
        RunState::Running => ("soft", "running"),
    };
    let elapsed = units::format_wait(Duration::from_nanos(run.elapsed_ns));
    let mut subject = match run.target.kind.as_str() {
        "scratch" => format!("a scratch file in {}", run.target.path),
        _ => run.target.path.clone().into(),
    };
    if let Some(model) = &run.target.model {
        subject = format!("{subject}, {model}");
    }
    format!(
        "<h2>{} <span class=\"state {class}\">{word} after {elapsed}</span></h2>\n\
         <p class=\"subject\">{}, {}</p>\n<p class=\"soft\">{}</p>\n",
        escape_html(&run.test),
        escape_html(&subject),
        units::format_size(run.target.size_bytes),
        escape_html(presentation.summary),
    )
}

/// The results of nested benchmarks, each rendered like a separate run.
fn nested_sections(findings: &Findings, presentations: &PresentationLookup<'_>) -> String {
    let metrics = findings.figures.iter().map(|metric| metric.id.benchmark());
    let series = findings.series.iter().map(|series| series.id.benchmark());
    let mut names: Vec<&str> = Vec::new();
    for name in metrics.chain(series).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let shown = names.into_iter().map(|name| {
        let part = nested_findings(findings, name);
        let presentation = presentations(name).unwrap_or_default();
        format!(
            "<div class=\"part\"><h2>{}</h2>\n{}{}</div>\n",
            escape_html(name),
            charts::run_charts(&part, presentation.charts),
            parts::metrics_table(&part.figures.iter().collect::<Vec<_>>()),
        )
    });
    shown.collect()
}

/// The findings of one nested benchmark, without the prefix in their names.
fn nested_findings(findings: &Findings, benchmark: &str) -> Findings {
    let metrics = findings.figures.iter();
    let metrics = metrics.filter(|metric| metric.id.benchmark() == Some(benchmark));
    let series = findings.series.iter();
    let series = series.filter(|series| series.id.benchmark() == Some(benchmark));
    Findings {
        figures: metrics
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

fn drive_description(target: &TargetRecord) -> String {
    let word = |value: &Option<SafeText>| value.as_deref().map(escape_html);
    let rotational = target.rotational.map(|rotational| {
        if rotational {
            "says that it rotates"
        } else {
            "says that it does not rotate"
        }
        .to_owned()
    });
    parts::fact_list(
        "Drive",
        &[
            ("target", Some(escape_html(&target.path))),
            ("kind", Some(escape_html(&target.kind))),
            (
                "size",
                Some(format!(
                    "{} ({} bytes)",
                    units::format_size(target.size_bytes),
                    target.size_bytes
                )),
            ),
            ("device", word(&target.device)),
            ("model", word(&target.model)),
            ("serial", word(&target.serial)),
            ("firmware", word(&target.firmware)),
            ("transport", word(&target.transport)),
            ("file system", word(&target.file_system)),
            ("medium", rotational),
            (
                "blocks",
                Some(format!(
                    "{} logical, {} physical",
                    units::format_block_size(f64::from(target.logical_block_bytes)),
                    units::format_block_size(f64::from(target.physical_block_bytes)),
                )),
            ),
        ],
    )
}

/// How the benchmark was executed.
fn execution_facts(run: &BenchmarkRun) -> String {
    let mut engine = run.engine.name.clone();
    if !run.engine.features.is_empty() {
        engine = format!("{engine}: {}", run.engine.features.join(", ")).into();
    }
    if let Some(reason) = &run.engine.reason {
        engine = format!("{engine} ({reason})").into();
    }
    let processor = run.cpu.map(|cpu| {
        let time = |nanoseconds| units::format_wait(Duration::from_nanos(nanoseconds));
        let machine = cpu.machine_busy_ns.map_or_else(String::new, |busy| {
            format!("; whole machine busy {}", time(busy))
        });
        format!(
            "{} user, {} system{machine}",
            time(cpu.user_ns),
            time(cpu.system_ns)
        )
    });
    parts::fact_list(
        "Conduct",
        &[
            (
                "started",
                Some(escape_html(&super::format_timestamp(&run.started))),
            ),
            (
                "parameters",
                Some(escape_html(&format_parameters(run).join(", "))),
            ),
            ("engine", Some(escape_html(&engine))),
            ("processor time", processor),
        ],
    )
}
