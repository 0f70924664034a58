//! The form of a benchmark's parameters, generated from their descriptions.

use super::target_choice::TargetChoice;
use super::text::EditableText;
use crate::bench::framework::metric_families::{self, MetricFamily};
use crate::bench::framework::parameter::keyword::keywords;
use crate::bench::framework::{CACHE, ENGINE, OffsetDistribution, PATTERN, SCRATCH_SIZE, ZIPF};
use crate::bench::{
    AnyParameter, BenchError, Benchmark, Forecast, Keyword, Parameter, ParameterError,
    ParameterKind, ParameterType, ParameterValue, RunRequest,
};
use crate::drive::{Target, TargetKind};
use crate::engine::EngineChoice;
use crate::session::document::MetricId;
use crate::session::slo::{GoalError, SloSpec};
use crate::stats::sorting::SortList as _;

/// Service level objectives: a parameter of the job, not of the benchmark.
const GOAL_PARAMETER: Parameter<GoalPreset> = Parameter {
    name: "goal",
    kind: ParameterKind::Choice(GoalPreset::WORDS),
    help: "service level objectives such as p95<=5ms or iops>=1000; Left, Right: presets",
    default: |_| GoalPreset::None,
};

/// Usual service level objectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoalPreset {
    None,
    WebServer,
    VideoPlayer,
    BackupStore,
}

keywords!(GoalPreset {
    GoalPreset::None = "none",
    GoalPreset::WebServer = "web-server",
    GoalPreset::VideoPlayer = "video-player",
    GoalPreset::BackupStore = "backup-store",
});

/// One line of the form.
#[derive(Debug, Clone)]
pub struct FormField {
    /// The parameter that the line sets.
    pub parameter: &'static dyn AnyParameter,
    /// The default for the target.
    pub default_value: ParameterValue,
    /// The value that the user set in place of the default.
    pub user_value: Option<ParameterValue>,
    /// Position among all lines, those that do not apply included.
    position: usize,
}

impl FormField {
    /// The effective value.
    #[must_use]
    pub fn value(&self) -> &ParameterValue {
        self.user_value.as_ref().unwrap_or(&self.default_value)
    }
}

/// Why a typed text is not a value of its parameter.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FieldError {
    /// It is not a valid value.
    #[error("{}", .0.reason)]
    Parameter(#[from] ParameterError),
    /// It is not an objective.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// The benchmark does not yield the metric of an objective.
    #[error(
        "this benchmark does not yield {metric}{}: it yields {}",
        metric_families::suggest_metric(known, metric),
        metric_families::describe(known)
    )]
    UnknownMetric {
        /// The metric of the objective.
        metric: MetricId,
        /// The metrics that the benchmark yields.
        known: &'static [MetricFamily],
    },
}

/// Editor of one value.
#[derive(Debug, Clone)]
pub struct FieldEditor {
    /// The text typed so far.
    pub text: EditableText,
    /// The error of the last attempt to accept the text.
    pub error: Option<FieldError>,
}

/// The form: one line for each parameter.
#[derive(Debug, Clone, Default)]
pub struct ParameterForm {
    /// The lines of the parameters that apply.
    pub fields: Vec<FormField>,
    /// Those of the parameters that have no effect with the present target and values.
    hidden: Vec<FormField>,
    /// Kind of the target.
    target_kind: Option<TargetKind>,
    /// The line that is selected.
    pub cursor: usize,
    /// The editor of that line's value, while it is open.
    pub editor: Option<FieldEditor>,
    /// The metrics that the benchmark yields.
    metric_families: &'static [MetricFamily],
}

impl ParameterForm {
    /// Creates the form for a benchmark on a target. Values set in an earlier form are kept where
    /// the parameter still exists.
    #[must_use]
    pub fn new(test: &dyn Benchmark, target: &Target, earlier: &Self) -> Self {
        const OF_SCRATCH_FILE: &[&dyn AnyParameter] = &[&SCRATCH_SIZE];
        const OF_EVERY_RUN: &[&dyn AnyParameter] = &[&GOAL_PARAMETER, &ENGINE];
        let of_target = match target.kind {
            TargetKind::ScratchFile => OF_SCRATCH_FILE,
            _ => &[],
        };
        let parameters = of_target
            .iter()
            .chain(test.description().parameters)
            .chain(OF_EVERY_RUN)
            .copied();
        let entries: Vec<_> = parameters
            .enumerate()
            .map(|(position, parameter)| FormField {
                default_value: parameter.default_value(target),
                user_value: earlier.user_value_of(parameter.name()).cloned(),
                parameter,
                position,
            })
            .collect();
        let mut form = Self {
            cursor: earlier.cursor,
            fields: entries,
            hidden: Vec::new(),
            target_kind: Some(target.kind),
            editor: None,
            metric_families: test.description().metrics,
        };
        form.hide_inapplicable();
        form
    }

    /// Moves the lines between the two lists. The selection stays on its line while that is shown.
    fn hide_inapplicable(&mut self) {
        let selected = self.selected_field().map(|field| field.position);
        let mut all = std::mem::take(&mut self.fields);
        all.append(&mut self.hidden);
        all.sort_list_by_key(|field| field.position);
        let pattern = all
            .iter()
            .find(|field| field.parameter.name() == PATTERN.name)
            .and_then(|field| OffsetDistribution::from_value(field.value()));
        let target_kind = self.target_kind;
        let applies = |field: &FormField| match field.parameter.name() {
            name if name == ZIPF.name => pattern == Some(OffsetDistribution::Zipf),
            // A simulated drive has neither a page cache nor an engine to choose.
            name if name == CACHE.name || name == ENGINE.name => {
                target_kind != Some(TargetKind::Simulated)
            }
            _ => true,
        };
        (self.fields, self.hidden) = all.into_iter().partition(applies);
        let last = self.fields.len().saturating_sub(1);
        self.cursor = selected
            .and_then(|position| {
                self.fields
                    .iter()
                    .position(|field| field.position == position)
            })
            .unwrap_or(self.cursor)
            .min(last);
    }

    fn user_value_of(&self, name: &str) -> Option<&ParameterValue> {
        let mut all = self.fields.iter().chain(&self.hidden);
        let entry = all.find(|entry| entry.parameter.name() == name)?;
        entry.user_value.as_ref()
    }

    /// The line that is selected.
    #[must_use]
    pub fn selected_field(&self) -> Option<&FormField> {
        self.fields.get(self.cursor)
    }

    /// Opens the editor of the selected line with its value selected: the first character replaces
    /// it, a cursor movement keeps it.
    pub fn open_editor(&mut self) {
        self.editor = self.selected_field().map(|entry| FieldEditor {
            text: EditableText::selected(&entry.value().to_string()),
            error: None,
        });
    }

    /// Accepts the typed text if it is a valid value; an empty text means the default.
    pub fn accept_input(&mut self) {
        let Some(editing) = &mut self.editor else {
            return;
        };
        let Some(entry) = self.fields.get_mut(self.cursor) else {
            return;
        };
        let typed = editing.text.as_string();
        if typed.trim().is_empty() {
            entry.user_value = None;
            self.editor = None;
            self.hide_inapplicable();
            return;
        }
        match parse_value(entry.parameter, &typed, self.metric_families) {
            Ok(value) => {
                entry.user_value = (value != entry.default_value).then_some(value);
                self.editor = None;
                self.hide_inapplicable();
            }
            Err(error) => editing.error = Some(error),
        }
    }

    /// Resets the selected line to its default.
    pub fn reset_selected(&mut self) {
        if let Some(entry) = self.fields.get_mut(self.cursor) {
            entry.user_value = None;
        }
        self.hide_inapplicable();
    }

    /// Selects the next or previous word, where the selected parameter takes words.
    pub fn cycle_choice(&mut self, forward: bool) {
        let Some(entry) = self.fields.get_mut(self.cursor) else {
            return;
        };
        let Some(words) = entry.parameter.kind().words() else {
            return;
        };
        let now = entry.value().to_string();
        let index = words.iter().position(|word| *word == now).unwrap_or(0);
        let step = if forward { 1 } else { words.len() - 1 };
        let value = ParameterValue::Choice(words[(index + step) % words.len()]);
        entry.user_value = (value != entry.default_value).then_some(value);
        self.hide_inapplicable();
    }

    /// The job that the form describes.
    #[must_use]
    pub fn benchmark_spec(
        &self,
        test: &'static dyn Benchmark,
        choice: &TargetChoice,
    ) -> RunRequest {
        let mut job = RunRequest::new(test, &choice.path);
        for entry in &self.fields {
            let Some(value) = &entry.user_value else {
                continue;
            };
            match entry.parameter.name() {
                name if name == SCRATCH_SIZE.name => {
                    job.scratch_file_bytes = u64::from_value(value);
                }
                name if name == ENGINE.name => {
                    if let Some(engine) = EngineChoice::from_value(value) {
                        job.engine = engine;
                    }
                }
                name if name == GOAL_PARAMETER.name => {
                    job.goals = parse_goals(&value.to_string()).unwrap_or_default();
                }
                name => job.set.push((name, value.clone())),
            }
        }
        job
    }

    /// Computes what the job will do.
    ///
    /// # Errors
    ///
    /// When the parameters do not fit the target or each other.
    pub fn forecast(
        &self,
        test: &'static dyn Benchmark,
        choice: &TargetChoice,
        target: &Target,
    ) -> Result<Forecast, BenchError> {
        let job = self.benchmark_spec(test, choice);
        let target = Target {
            size_bytes: job.scratch_file_bytes.unwrap_or(target.size_bytes),
            ..target.clone()
        };
        job.forecast(&target)
    }
}

/// Parses the typed text as a value of the parameter. An objective is any word that parses as one.
fn parse_value(
    parameter: &dyn AnyParameter,
    typed: &str,
    known: &'static [MetricFamily],
) -> Result<ParameterValue, FieldError> {
    if parameter.name() == GOAL_PARAMETER.name {
        let text = typed.trim().to_owned();
        let goals = parse_goals(&text)?;
        let missing = goals.iter().map(SloSpec::metric);
        return match missing
            .into_iter()
            .find(|metric| !metric_families::contains(known, metric))
        {
            None => Ok(match GoalPreset::from_word(&text) {
                Some(preset) => ParameterValue::Choice(preset.word()),
                None => ParameterValue::Text(text),
            }),
            Some(metric) => Err(FieldError::UnknownMetric {
                metric: metric.clone(),
                known,
            }),
        };
    }
    Ok(parameter.parse(typed)?)
}

/// Parses a comma-separated list of objectives.
fn parse_goals(text: &str) -> Result<Vec<SloSpec>, GoalError> {
    if text == GoalPreset::None.word() {
        return Ok(Vec::new());
    }
    let each = text.split(',').map(SloSpec::parse_all);
    let all: Result<Vec<Vec<SloSpec>>, _> = each.collect();
    all.map(|goals| goals.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::drive::Target;
    use crate::session::slo::PRESETS;

    /// The objectives of the job after this text was accepted, or the error in it.
    fn parse_goal_field(text: &str) -> Result<Vec<String>, FieldError> {
        let test = bench::find_benchmark("random-read").unwrap();
        let target = Target::example_drive();
        let mut form = ParameterForm::new(test, &target, &ParameterForm::default());
        let is_goal = |entry: &FormField| entry.parameter.name() == GOAL_PARAMETER.name;
        form.cursor = form.fields.iter().position(is_goal).unwrap();
        form.open_editor();
        form.editor.as_mut().unwrap().text = EditableText::new(text);
        form.accept_input();
        if let Some(error) = form.editor.and_then(|editing| editing.error) {
            return Err(error);
        }
        let choice = TargetChoice {
            name: "/dev/sdb".to_owned(),
            path: "/dev/sdb".into(),
            group: crate::app::TargetGroup::Drive,
            label: String::new(),
            size_bytes: None,
            kind: String::new(),
            used_by: String::new(),
            target: Ok(target),
        };
        form.editor = None;
        let goals = form.benchmark_spec(test, &choice).goals;
        Ok(goals.iter().map(|goal| goal.text().to_owned()).collect())
    }

    #[test]
    fn goal_field_accepts_slos_presets_and_none() {
        assert_eq!(
            parse_goal_field("p95<=5ms, iops>=1000").unwrap(),
            ["p95<=5ms", "iops>=1000"]
        );
        assert_eq!(
            parse_goal_field("web-server").unwrap(),
            ["iops>=1000", "p95<=500ms"]
        );
        assert!(parse_goal_field("none").unwrap().is_empty());
        assert!(parse_goal_field("").unwrap().is_empty());
        let reason = parse_goal_field("fast").unwrap_err().to_string();
        assert!(reason.contains("p95<=500ms"), "{reason}");
    }

    #[test]
    fn parameters_without_effect_are_hidden_and_keep_their_value() {
        let test = bench::find_benchmark("random-read").unwrap();
        let names = |form: &ParameterForm| -> Vec<&str> {
            form.fields
                .iter()
                .map(|field| field.parameter.name())
                .collect()
        };
        let mut form =
            ParameterForm::new(test, &Target::example_drive(), &ParameterForm::default());
        assert!(!names(&form).contains(&"zipf") && names(&form).contains(&"cache"));
        form.cursor = names(&form)
            .iter()
            .position(|name| *name == "pattern")
            .unwrap();
        form.cycle_choice(true);
        assert!(names(&form).contains(&"zipf"));
        assert_eq!(form.selected_field().unwrap().parameter.name(), "pattern");
        form.cycle_choice(true);
        assert!(!names(&form).contains(&"zipf"));
        let simulated = Target {
            kind: TargetKind::Simulated,
            ..Target::example_drive()
        };
        let form = ParameterForm::new(test, &simulated, &form);
        assert!(!names(&form).contains(&"cache") && !names(&form).contains(&"engine"));
    }

    #[test]
    fn goal_field_choices_are_the_presets() {
        assert_eq!(GoalPreset::VALUES[0], GoalPreset::None);
        assert_eq!(GoalPreset::WORDS[1..], PRESETS.map(|(name, _)| name));
    }
}
