//! One run: its setup, results, validity, and the commands that repeat it.

use std::time::Duration;

use maud::{Markup, html};

use super::presentation::PresentationLookup;
use super::timestamp::format_timestamp;
use super::{charts, parts};
use crate::files::safe_text::SafeText;
use crate::session::chart::ResultPresentation;
use crate::session::compare::align::format_parameters;
use crate::session::document::{BenchmarkRun, Findings, Metric, RunState, Series, TargetRecord};
use crate::units;

/// A run's section of the page.
pub(super) fn run_section(
    run: &BenchmarkRun,
    number: usize,
    presentations: &PresentationLookup<'_>,
) -> Markup {
    let presentation = presentations(&run.test).unwrap_or_default();
    let findings = &run.findings;
    html! {
        section.run id=(format_args!("run-{number}")) {
            "\n"
            (run_heading(run, &presentation)) "\n"
            (parts::error_section(run))
            (parts::problems_section(run)) "\n"
            (parts::metric_cards(&findings.metrics, presentation.headline)) "\n"
            (parts::goals_table(&findings.goals)) "\n"
            (charts::run_charts(findings, presentation.charts)) "\n"
            (parts::metric_tables(findings)) "\n"
            (parts::notes_section(&findings.verdicts)) "\n"
            div.details {
                (parts::metrics_table(&findings.metrics_outside_tables())) "\n"
                div {
                    (drive_description(&run.target)) "\n"
                    (execution_facts(run)) "\n"
                    (parts::kernel_counts_table(run.kernel.as_ref())) "\n"
                    (parts::stages_table(run.stages.as_ref())) "\n"
                    (parts::evidence_section(&run.evidence))
                }
            }
            "\n"
            (parts::commands(run)) "\n"
            (nested_sections(findings, presentations))
        }
    }
}

fn run_heading(run: &BenchmarkRun, presentation: &ResultPresentation) -> Markup {
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
    html! {
        h2 { (run.test) " " span.state.(class) { (word) " after " (elapsed) } }
        p.subject { (subject) ", " (units::format_size(run.target.size_bytes)) }
        p.soft { (presentation.summary) }
    }
}

/// The results of nested benchmarks, each rendered like a separate run.
fn nested_sections(findings: &Findings, presentations: &PresentationLookup<'_>) -> Markup {
    let metrics = findings.metrics.iter().map(|metric| metric.id.benchmark());
    let series = findings.series.iter().map(|series| series.id.benchmark());
    let mut names: Vec<&str> = Vec::new();
    for name in metrics.chain(series).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    html! {
        @for name in names {
            @let nested = nested_findings(findings, name);
            @let presentation = presentations(name).unwrap_or_default();
            div.part {
                h2 { (name) } "\n"
                (charts::run_charts(&nested, presentation.charts)) "\n"
                (parts::metrics_table(&nested.metrics.iter().collect::<Vec<_>>()))
            }
            "\n"
        }
    }
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

fn drive_description(target: &TargetRecord) -> Markup {
    let word = |value: &Option<SafeText>| value.clone().map(String::from);
    let rotational = target.rotational.map(|is_rotational| match is_rotational {
        true => "rotational".to_owned(),
        false => "not rotational".to_owned(),
    });
    parts::fact_list(
        "Drive",
        vec![
            ("target", Some(target.path.to_string())),
            ("kind", Some(target.kind.to_string())),
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
                "block size",
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
fn execution_facts(run: &BenchmarkRun) -> Markup {
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
            format!("; all CPUs busy {}", time(busy))
        });
        format!(
            "{} user, {} system{machine}",
            time(cpu.user_ns),
            time(cpu.system_ns)
        )
    });
    parts::fact_list(
        "Execution",
        vec![
            ("started", Some(format_timestamp(&run.started))),
            ("parameters", Some(format_parameters(run).join(", "))),
            ("engine", Some(engine.into())),
            ("CPU time", processor),
        ],
    )
}
