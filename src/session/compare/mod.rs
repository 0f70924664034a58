//! Sessions against each other: the same tests with the same parameters, figure by figure.
//!
//! What cannot be compared is refused by name, and what the limits do not decide is left
//! undecided. `docs/compare.md` describes the documents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Figure, Run, RunState, Session, Severity, Unit, Verdict};
use super::stability;
use crate::safe_text::SafeText;

pub mod align;
pub mod fleet;
pub mod overlay;
pub mod ratio;
#[cfg(test)]
pub(crate) mod sample;
pub mod words;

pub use align::Difference;
pub use fleet::{Fleet, fleet};
pub use overlay::Overlay;
pub use ratio::{Against, Better, Judgement, Sample};

/// What [`Comparison::schema`] always says.
pub const SCHEMA: &str = "diskscope-comparison";

/// A session to be compared, and the name that it goes by.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Such as the file's name.
    pub name: &'a str,
    /// What was measured.
    pub session: &'a Session,
}

/// Two or more sessions, all against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Always `diskscope-comparison`.
    pub schema: SafeText,
    /// Version of the document's shape.
    pub version: u32,
    /// The sessions in their order.
    pub sides: Vec<Side>,
    /// What could be compared: one entry for each test and set of parameters.
    pub tests: Vec<ComparedTest>,
    /// What could not, and why.
    pub mismatches: Vec<Mismatch>,
}

/// One session of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Name, such as that of its file.
    pub name: SafeText,
    /// The host that it was measured on.
    pub host: Option<SafeText>,
    /// When it began, RFC 3339.
    pub started: SafeText,
    /// Program and version that wrote it.
    pub program: SafeText,
}

/// One test with one set of parameters on several sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedTest {
    /// Name of the test.
    pub test: SafeText,
    /// Its parameters on the first side, as the user writes them.
    pub parameters: Vec<SafeText>,
    /// What was measured on each side; null where a side lacks the test.
    pub measured: Vec<Option<Measured>>,
    /// The figures that at least two sides have.
    pub figures: Vec<ComparedFigure>,
    /// The curves of all sides under one axis.
    pub charts: Vec<Overlay>,
}

/// What one side measured a test on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// The target as it was named.
    pub target: SafeText,
    /// Model of the drive.
    pub model: Option<SafeText>,
    /// Serial number of the drive.
    pub serial: Option<SafeText>,
    /// Repeated runs.
    pub runs: usize,
    /// What is to be thought of its figures: verdicts that are warnings or worse, a run that did
    /// not finish, repeated runs that do not agree.
    pub cautions: Vec<Verdict>,
}

/// One figure on all sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedFigure {
    /// Its name.
    pub name: SafeText,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better; null where neither is.
    pub better: Option<Better>,
    /// Its value on each side; null where a side lacks it.
    pub sides: Vec<Option<Sample>>,
}

impl ComparedFigure {
    /// The figure as one side has it, for rendering.
    #[must_use]
    pub fn of(&self, sample: &Sample) -> Figure {
        Figure {
            low: sample.low,
            high: sample.high,
            ..Figure::new(&self.name, sample.value, self.unit)
        }
    }
}

/// A test of one side that the first side does not have like this, or the other way round.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Mismatch {
    /// Index of the side whose counterpart is missing on the other.
    pub side: usize,
    /// Index of the side that lacks it.
    pub lacking: usize,
    /// Name of the test.
    pub test: SafeText,
    /// The parameters in which the nearest run of the same test differs, `first` being that of
    /// `side`; empty where the other side lacks the test altogether.
    pub differences: Vec<Difference>,
}

/// Compares all sessions with the first. Parameters whose names are in `passed_over` may differ.
#[must_use]
pub fn compare(inputs: &[Input<'_>], passed_over: &[String]) -> Comparison {
    let grouped: Vec<_> = inputs
        .iter()
        .map(|input| align::grouped(&input.session.runs, passed_over))
        .collect();
    let mut comparison = Comparison {
        schema: SCHEMA.into(),
        version: 1,
        sides: inputs.iter().map(side).collect(),
        tests: Vec::new(),
        mismatches: Vec::new(),
    };
    let Some((first, others)) = grouped.split_first() else {
        return comparison;
    };
    for group in first {
        let mut sides = vec![Some(group)];
        sides.extend(
            others
                .iter()
                .map(|other| counterpart(group, other, passed_over)),
        );
        if sides.iter().flatten().count() > 1 {
            comparison.tests.push(compared(&sides));
        }
    }
    for (index, other) in others.iter().enumerate() {
        let mismatches = &mut comparison.mismatches;
        mismatches.extend(missing((0, first), (index + 1, other), passed_over));
        mismatches.extend(missing((index + 1, other), (0, first), passed_over));
    }
    comparison
}

fn side(input: &Input<'_>) -> Side {
    Side {
        name: input.name.into(),
        host: input.session.host.name.clone(),
        started: input.session.started.clone(),
        program: input.session.program.clone(),
    }
}

/// Repeated runs of one side.
type Group<'a> = Vec<&'a Run>;

fn counterpart<'g, 'a>(
    group: &Group<'a>,
    others: &'g [Group<'a>],
    passed_over: &[String],
) -> Option<&'g Group<'a>> {
    others.iter().find(|other| {
        other[0].test == group[0].test
            && align::differences(group[0], other[0], passed_over).is_empty()
    })
}

/// The groups of one side that the other lacks.
fn missing(
    (side, groups): (usize, &Vec<Group<'_>>),
    (lacking, others): (usize, &Vec<Group<'_>>),
    passed_over: &[String],
) -> Vec<Mismatch> {
    let alone = groups
        .iter()
        .filter(|group| counterpart(group, others, passed_over).is_none());
    alone
        .map(|group| Mismatch {
            side,
            lacking,
            test: group[0].test.clone(),
            differences: others
                .iter()
                .filter(|other| other[0].test == group[0].test)
                .map(|other| align::differences(group[0], other[0], passed_over))
                .min_by_key(Vec::len)
                .unwrap_or_default(),
        })
        .collect()
}

fn compared(sides: &[Option<&Group<'_>>]) -> ComparedTest {
    let runs = || sides.iter().flatten().flat_map(|group| group.iter());
    let mut names: BTreeMap<&str, Unit> = BTreeMap::new();
    let mut figures = Vec::new();
    for figure in runs().flat_map(|run| &run.findings.figures) {
        if names.insert(&figure.name, figure.unit).is_none() {
            figures.push(compared_figure(&figure.name, figure.unit, sides));
        }
    }
    figures.retain(|figure| figure.sides.iter().flatten().count() > 1);
    ComparedTest {
        test: runs()
            .next()
            .map_or_else(String::new, |run| run.test.clone().into())
            .into(),
        parameters: runs()
            .next()
            .map_or_else(Vec::new, |run| align::parameters(run))
            .into_iter()
            .map(Into::into)
            .collect(),
        measured: sides.iter().map(|group| group.map(measured)).collect(),
        figures,
        charts: overlay::overlays(sides),
    }
}

fn compared_figure(name: &str, unit: Unit, sides: &[Option<&Group<'_>>]) -> ComparedFigure {
    let of_group = |group: &Group<'_>| {
        let figures = group.iter().filter_map(|run| run.findings.figure(name));
        ratio::pooled(
            &figures
                .filter(|figure| figure.unit == unit)
                .collect::<Vec<_>>(),
        )
    };
    let better = ratio::better(name, unit);
    let mut sides: Vec<Option<Sample>> =
        sides.iter().map(|group| group.and_then(of_group)).collect();
    if let Some((Some(first), others)) = sides.split_first_mut() {
        for other in others.iter_mut().flatten() {
            other.against_first = ratio::against(first, other, better);
        }
    }
    ComparedFigure {
        name: name.into(),
        unit,
        better,
        sides,
    }
}

fn measured(group: &Group<'_>) -> Measured {
    let target = &group[0].target;
    Measured {
        target: target.path.clone(),
        model: target.model.clone(),
        serial: target.serial.clone(),
        runs: group.len(),
        cautions: cautions(group),
    }
}

/// What keeps the figures of these runs from being believed; each kind once.
fn cautions(group: &Group<'_>) -> Vec<Verdict> {
    let mut cautions: Vec<Verdict> = Vec::new();
    let verdicts = group.iter().flat_map(|run| &run.findings.verdicts);
    let grave = verdicts
        .filter(|verdict| verdict.severity > Severity::Note)
        .cloned();
    let unfinished = group.iter().filter_map(|run| unfinished(run));
    for caution in grave.chain(unfinished).chain(stability::judge(group)) {
        if cautions.iter().all(|known| known.code != caution.code) {
            cautions.push(caution);
        }
    }
    cautions
}

fn unfinished(run: &Run) -> Option<Verdict> {
    let code = match run.state {
        RunState::Finished => return None,
        RunState::Failed => "failed",
        RunState::Interrupted | RunState::Running => "interrupted",
    };
    let evidence = run.error.as_ref().map_or_else(
        || "the run did not come to its end".to_owned(),
        |error| error.message.clone().into(),
    );
    Some(Verdict::new(
        code,
        Severity::Warning,
        evidence,
        "measure again",
    ))
}

#[cfg(test)]
mod tests;
