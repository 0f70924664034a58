//! The form of a test's parameters, made from their descriptions.

use super::action::Choice;
use super::text::Text;
use crate::bench::{BenchError, Forecast, Job, Kind, Parameter, Test, Value, metrics};
use crate::drive::{Target, TargetKind};
use crate::session::goal::Wanted;

/// Size of the scratch file: a parameter of the job, not of the test.
const SCRATCH_SIZE: Parameter = Parameter {
    name: "scratch-size",
    kind: Kind::Size { least: 1 << 20 },
    help: "bytes of the scratch file that is made in this directory and gone afterwards",
    default: |target| Value::Bytes(target.size),
};

/// The engine: a parameter of the job, not of the test.
const ENGINE: Parameter = Parameter {
    name: "engine",
    kind: Kind::Word(&["auto", "uring", "pread"]),
    help: "what submits the requests; auto takes io_uring where the kernel lets it",
    default: |_| Value::Word(String::from("auto")),
};

/// Service goals: of the job, not of the test.
const GOAL: Parameter = Parameter {
    name: "goal",
    kind: Kind::Word(&["none", "web-server", "video-player", "backup-store"]),
    help: "what is good enough, such as p95<=5ms or iops>=1000; left and right: the usual ones",
    default: |_| Value::Word(String::from(NO_GOAL)),
};
/// The word for no goal.
const NO_GOAL: &str = "none";

/// One line of the form.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it sets.
    pub parameter: Parameter,
    /// The default for the target.
    pub default: Value,
    /// What the user set instead.
    pub set: Option<Value>,
}

impl Entry {
    /// What it is set to.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.set.as_ref().unwrap_or(&self.default)
    }
}

/// A value that is being typed.
#[derive(Debug, Clone)]
pub struct Editing {
    /// What was typed so far.
    pub text: Text,
    /// What is wrong with it, once it was tried.
    pub error: Option<String>,
}

/// The form: one line for each parameter.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// The lines.
    pub entries: Vec<Entry>,
    /// The line that is selected.
    pub cursor: usize,
    /// The value of that line, while it is being typed.
    pub editing: Option<Editing>,
    /// The metrics that the benchmark yields.
    metrics: &'static [&'static str],
}

impl Form {
    /// The form for a test on a target. What was set in an earlier form is kept where the
    /// parameter still exists.
    #[must_use]
    pub fn new(test: &dyn Test, target: &Target, earlier: &Self) -> Self {
        let scratch = (target.kind == TargetKind::Scratch).then_some(SCRATCH_SIZE);
        let parameters = scratch
            .into_iter()
            .chain(test.description().parameters.iter().copied())
            .chain([GOAL, ENGINE]);
        let entries: Vec<_> = parameters
            .map(|parameter| Entry {
                default: (parameter.default)(target),
                set: earlier.set_value(parameter.name).cloned(),
                parameter,
            })
            .collect();
        Self {
            cursor: earlier.cursor.min(entries.len().saturating_sub(1)),
            entries,
            editing: None,
            metrics: test.description().metrics,
        }
    }

    fn set_value(&self, name: &str) -> Option<&Value> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.parameter.name == name)?;
        entry.set.as_ref()
    }

    /// The line that is selected.
    #[must_use]
    pub fn selected(&self) -> Option<&Entry> {
        self.entries.get(self.cursor)
    }

    /// Opens the field of the selected line with its value selected: the first character replaces
    /// it, a movement of the cursor edits it.
    pub fn edit(&mut self) {
        self.editing = self.selected().map(|entry| Editing {
            text: Text::selected(&entry.value().to_string()),
            error: None,
        });
    }

    /// Takes what was typed, if it is a value; an empty text means the default.
    pub fn accept(&mut self) {
        let Some(editing) = &mut self.editing else {
            return;
        };
        let Some(entry) = self.entries.get_mut(self.cursor) else {
            return;
        };
        let typed = editing.text.as_string();
        if typed.trim().is_empty() {
            entry.set = None;
            self.editing = None;
            return;
        }
        match read(&entry.parameter, &typed, self.metrics) {
            Ok(value) => {
                entry.set = (value != entry.default).then_some(value);
                self.editing = None;
            }
            Err(reason) => editing.error = Some(reason),
        }
    }

    /// Back to the default of the selected line.
    pub fn reset(&mut self) {
        if let Some(entry) = self.entries.get_mut(self.cursor) {
            entry.set = None;
        }
    }

    /// The next or previous word, where the selected parameter takes words.
    pub fn cycle(&mut self, forward: bool) {
        let Some(entry) = self.entries.get_mut(self.cursor) else {
            return;
        };
        let (Kind::Word(words) | Kind::WordOrPercent(words)) = entry.parameter.kind else {
            return;
        };
        let now = entry.value().to_string();
        let place = words.iter().position(|word| *word == now).unwrap_or(0);
        let step = if forward { 1 } else { words.len() - 1 };
        let value = Value::Word(words[(place + step) % words.len()].to_owned());
        entry.set = (value != entry.default).then_some(value);
    }

    /// The job that the form describes.
    #[must_use]
    pub fn job(&self, test: &'static dyn Test, choice: &Choice) -> Job {
        let mut job = Job::new(test, &choice.name);
        for entry in &self.entries {
            let Some(value) = &entry.set else { continue };
            match (entry.parameter.name, value) {
                (name, Value::Bytes(bytes)) if name == SCRATCH_SIZE.name => {
                    job.scratch_bytes = Some(*bytes);
                }
                (name, Value::Word(word)) if name == ENGINE.name => job.engine.clone_from(word),
                (name, Value::Word(word)) if name == GOAL.name => {
                    job.goals = goals(word).unwrap_or_default();
                }
                (name, value) => job.set.push((name, value.clone())),
            }
        }
        job
    }

    /// What the job will do.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    pub fn forecast(
        &self,
        test: &'static dyn Test,
        choice: &Choice,
        target: &Target,
    ) -> Result<Forecast, BenchError> {
        let job = self.job(test, choice);
        let target = Target {
            size: job.scratch_bytes.unwrap_or(target.size),
            ..target.clone()
        };
        job.forecast(&target)
    }
}

/// What was typed, as a value of the parameter. Goals are words of any kind that can be read.
fn read(parameter: &Parameter, typed: &str, known: &[&str]) -> Result<Value, String> {
    if parameter.name == GOAL.name {
        let text = typed.trim().to_owned();
        let goals = goals(&text)?;
        let missing = goals.iter().map(Wanted::figure);
        return match missing
            .into_iter()
            .find(|name| !metrics::includes(known, name))
        {
            None => Ok(Value::Word(text)),
            Some(name) => Err(format!(
                "this benchmark does not yield {name}{}: it yields {}",
                metrics::suggestion(known, name),
                metrics::list(known)
            )),
        };
    }
    parameter.parse(typed).map_err(|error| error.reason)
}

/// Goals one after the other, with commas between them.
fn goals(text: &str) -> Result<Vec<Wanted>, String> {
    if text == NO_GOAL {
        return Ok(Vec::new());
    }
    let each = text.split(',').map(Wanted::parse_all);
    let all: Result<Vec<Vec<Wanted>>, _> = each.collect();
    all.map(|goals| goals.concat())
        .map_err(|error| error.reason().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::drive::Target;
    use crate::session::goal::PRESETS;

    /// The goals of the job after that was typed into the field, or what is wrong with it.
    fn typed(text: &str) -> Result<Vec<String>, String> {
        let test = bench::find("random-read").unwrap();
        let target = Target::ordinary();
        let mut form = Form::new(test, &target, &Form::default());
        let is_goal = |entry: &Entry| entry.parameter.name == GOAL.name;
        form.cursor = form.entries.iter().position(is_goal).unwrap();
        form.edit();
        form.editing.as_mut().unwrap().text = Text::new(text);
        form.accept();
        if let Some(error) = form.editing.and_then(|editing| editing.error) {
            return Err(error);
        }
        let choice = Choice {
            name: "/dev/sdb".to_owned(),
            group: super::super::Group::Drive,
            label: String::new(),
            size_bytes: None,
            kind: String::new(),
            users: String::new(),
            target: Ok(target),
        };
        form.editing = None;
        let goals = form.job(test, &choice).goals;
        Ok(goals.iter().map(|goal| goal.text().to_owned()).collect())
    }

    #[test]
    fn goals_are_typed_into_the_form() {
        assert_eq!(
            typed("p95<=5ms, iops>=1000").unwrap(),
            ["p95<=5ms", "iops>=1000"]
        );
        assert_eq!(typed("web-server").unwrap(), ["iops>=1000", "p95<=500ms"]);
        assert!(typed("none").unwrap().is_empty());
        assert!(typed("").unwrap().is_empty());
        let reason = typed("fast").unwrap_err();
        assert!(reason.contains("p95<=500ms"), "{reason}");
    }

    #[test]
    fn the_usual_goals_are_those_that_have_a_name() {
        let Kind::Word([none, usual @ ..]) = GOAL.kind else {
            panic!("words");
        };
        assert_eq!(*none, NO_GOAL);
        assert_eq!(usual, PRESETS.map(|(name, _)| name));
    }
}
