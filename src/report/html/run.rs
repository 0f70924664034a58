//! One run: what it was, what it found, how far that may be believed, and how to do it again.

use std::time::Duration;

use super::escape::text;
use super::{Presentations, charts, parts};
use crate::safe_text::SafeText;
use crate::session::chart::Presentation;
use crate::session::compare::align::parameters;
use crate::session::document::{Figure, Findings, Run, RunState, Series, TargetRecord};
use crate::units;

/// A run's part of the page.
pub(super) fn section(run: &Run, number: usize, presentations: &Presentations<'_>) -> String {
    let presentation = presentations(&run.test).unwrap_or_default();
    let findings = &run.findings;
    [
        format!("<section class=\"run\" id=\"run-{number}\">\n"),
        heading(run, &presentation),
        parts::error(run),
        parts::verdicts(&findings.verdicts),
        parts::cards(&findings.figures, presentation.headline),
        parts::goals(&findings.goals),
        charts::of(findings, presentation.charts),
        parts::tables(findings),
        parts::notes(&findings.verdicts),
        "<div class=\"details\">\n".to_owned(),
        parts::figures(&findings.listed()),
        "<div>\n".to_owned(),
        drive(&run.target),
        conduct(run),
        parts::kernel(run.kernel.as_ref()),
        parts::stages(run.stages.as_ref()),
        parts::surroundings(&run.evidence),
        "</div>\n</div>\n".to_owned(),
        parts::commands(run),
        of_parts(findings, presentations),
        "</section>\n".to_owned(),
    ]
    .concat()
}

fn heading(run: &Run, presentation: &Presentation) -> String {
    let (class, word) = match run.state {
        RunState::Finished => ("good", "finished"),
        RunState::Interrupted => ("trouble", "interrupted"),
        RunState::Failed => ("trouble", "failed"),
        RunState::Running => ("soft", "running"),
    };
    let elapsed = units::waiting(Duration::from_nanos(run.elapsed_ns));
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
        text(&run.test),
        text(&subject),
        units::size(run.target.size_bytes),
        text(presentation.summary),
    )
}

/// What the parts of a larger test found, each like a test of its own.
fn of_parts(findings: &Findings, presentations: &Presentations<'_>) -> String {
    let figures = findings.figures.iter().map(|figure| &figure.name);
    let all = figures.chain(findings.series.iter().map(|series| &series.name));
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all.filter_map(|name| name.split_once('/')) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let shown = names.into_iter().map(|name| {
        let part = part(findings, name);
        let presentation = presentations(name).unwrap_or_default();
        format!(
            "<div class=\"part\"><h2>{}</h2>\n{}{}</div>\n",
            text(name),
            charts::of(&part, presentation.charts),
            parts::figures(&part.figures.iter().collect::<Vec<_>>()),
        )
    });
    shown.collect()
}

/// The findings of one part under the names that they have in its own test.
fn part(findings: &Findings, prefix: &str) -> Findings {
    let own = |name: &str| Some(name.strip_prefix(prefix)?.strip_prefix('/')?.to_owned());
    let figures = findings.figures.iter().filter_map(|figure| {
        Some(Figure {
            name: own(&figure.name)?.into(),
            ..figure.clone()
        })
    });
    let series = findings.series.iter().filter_map(|series| {
        Some(Series {
            name: own(&series.name)?.into(),
            ..series.clone()
        })
    });
    Findings {
        figures: figures.collect(),
        series: series.collect(),
        ..Findings::default()
    }
}

fn drive(target: &TargetRecord) -> String {
    let word = |value: &Option<SafeText>| value.as_deref().map(text);
    let rotational = target.rotational.map(|rotational| {
        if rotational {
            "says that it rotates"
        } else {
            "says that it does not rotate"
        }
        .to_owned()
    });
    parts::facts(
        "Drive",
        &[
            ("target", Some(text(&target.path))),
            ("kind", Some(text(&target.kind))),
            (
                "size",
                Some(format!(
                    "{} ({} bytes)",
                    units::size(target.size_bytes),
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
                    units::block_size(f64::from(target.logical_block_bytes)),
                    units::block_size(f64::from(target.physical_block_bytes)),
                )),
            ),
        ],
    )
}

/// How the test was carried out.
fn conduct(run: &Run) -> String {
    let mut engine = run.engine.name.clone();
    if !run.engine.features.is_empty() {
        engine = format!("{engine}: {}", run.engine.features.join(", ")).into();
    }
    if let Some(reason) = &run.engine.reason {
        engine = format!("{engine} ({reason})").into();
    }
    let processor = run.cpu.map(|cpu| {
        let time = |nanoseconds| units::waiting(Duration::from_nanos(nanoseconds));
        let machine = cpu.machine_busy_ns.map_or_else(String::new, |busy| {
            format!("; whole machine busy {}", time(busy))
        });
        format!(
            "{} user, {} system{machine}",
            time(cpu.user_ns),
            time(cpu.system_ns)
        )
    });
    parts::facts(
        "Conduct",
        &[
            ("started", Some(text(&super::moment(&run.started)))),
            ("parameters", Some(text(&parameters(run).join(", ")))),
            ("engine", Some(text(&engine))),
            ("processor time", processor),
        ],
    )
}
