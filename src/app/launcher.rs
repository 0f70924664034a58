//! The launcher: target, benchmark and parameters.

use std::path::Path;
use std::sync::Arc;

use super::consent::{OverwriteQuestion, QuestionNumber};
use super::effect::Effect;
use super::error::{BenchmarkError, ForecastError, TargetError};
use super::form::ParameterForm;
use super::search::{LauncherSearch, SearchError, SearchMatch};
use super::target_choice::{TargetChoice, TargetGroup};
use super::text::TextInput;
use super::viewport::step_cursor;
use crate::bench::{BENCHMARKS, Benchmark, Forecast};
use crate::drive::{DriveError, OverwriteImpact, Target, TargetKind};
use crate::tui::keys::KeyCommand;

/// The benchmark that is selected first: random reads are the most common one, write nothing, and
/// take only seconds.
const DEFAULT_BENCHMARK: &str = "random-read";

/// A pane of the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherPane {
    /// The targets.
    Targets,
    /// The benchmarks.
    Benchmarks,
    /// The parameters.
    Form,
}

/// The launcher.
#[derive(Debug, Clone)]
pub struct LauncherState {
    /// The targets; `None` until the list has arrived.
    pub targets: Option<Vec<TargetChoice>>,
    /// Target to select when the list arrives first, if the user prefers one.
    pub default_target: Option<String>,
    /// Index of the selected target.
    pub target_index: usize,
    /// Index of the selected benchmark in the list of all benchmarks.
    pub benchmark_index: usize,
    /// The parameters of the selected benchmark.
    pub form: ParameterForm,
    /// The focused pane.
    pub pane: LauncherPane,
    /// An active search, or a path being typed.
    pub search: Option<LauncherSearch>,
    /// The path that is inspected, until the next key: what arrives later selects nothing and closes
    /// no search.
    awaited_path: Option<String>,
    /// What the benchmark will do, or why it cannot be run.
    pub forecast: Option<Result<Forecast, Arc<ForecastError>>>,
    /// Why the last start failed, until the next key.
    pub start_error: Option<Arc<BenchmarkError>>,
    /// The question whether a benchmark may overwrite its target.
    pub overwrite_question: Option<OverwriteQuestion>,
    /// Number of the latest question.
    last_question: QuestionNumber,
}

impl Default for LauncherState {
    fn default() -> Self {
        let is_default =
            |benchmark: &&dyn Benchmark| benchmark.description().name == DEFAULT_BENCHMARK;
        Self {
            targets: None,
            default_target: None,
            target_index: 0,
            benchmark_index: BENCHMARKS.iter().position(is_default).unwrap_or(0),
            form: ParameterForm::default(),
            pane: LauncherPane::Targets,
            search: None,
            awaited_path: None,
            forecast: None,
            start_error: None,
            overwrite_question: None,
            last_question: QuestionNumber::default(),
        }
    }
}

impl LauncherState {
    /// The selected benchmark.
    #[must_use]
    pub fn selected_benchmark(&self) -> Option<&'static dyn Benchmark> {
        BENCHMARKS.get(self.benchmark_index).copied()
    }

    /// The selected target.
    #[must_use]
    pub fn selected_choice(&self) -> Option<&TargetChoice> {
        self.targets.as_ref()?.get(self.target_index)
    }

    fn selected_target(&self) -> Option<&Target> {
        self.selected_choice()?.target.as_ref().ok()
    }

    /// Stores the list of targets; the selection is kept.
    pub fn set_targets(&mut self, mut choices: Vec<TargetChoice>) -> Vec<Effect> {
        let selected = self.selected_choice().cloned();
        if let Some(choice) = &selected {
            match choices
                .iter()
                .position(|known| known.is_same_path(&choice.path))
            {
                Some(index) => self.target_index = index,
                None if choice.group == TargetGroup::File => {
                    choices.push(choice.clone());
                    self.target_index = choices.len() - 1;
                }
                None => self.target_index = 0,
            }
        }
        if let Some(search) = &mut self.search {
            search.select_best(&choices);
        }
        let preferred = self.default_target.take();
        let index = preferred.as_ref().and_then(|name| {
            choices
                .iter()
                .position(|choice| choice.is_same_path(Path::new(name)))
        });
        self.target_index = index.unwrap_or(self.target_index);
        self.targets = Some(choices);
        self.rebuild_form();
        match (preferred, index) {
            (Some(name), None) => self.inspect(name),
            _ => Vec::new(),
        }
    }

    fn inspect(&mut self, path: String) -> Vec<Effect> {
        self.awaited_path = Some(path.clone());
        vec![Effect::InspectTarget(path)]
    }

    /// Stores the result of inspecting a typed path, if it is still awaited.
    pub fn set_inspected_target(
        &mut self,
        path: &str,
        result: Result<TargetChoice, Arc<TargetError>>,
    ) {
        if self
            .awaited_path
            .take_if(|awaited| awaited == path)
            .is_none()
        {
            return;
        }
        match result {
            Ok(choice) => {
                self.search = None;
                let choices = self.targets.get_or_insert_default();
                self.target_index = match choices
                    .iter()
                    .position(|known| known.is_same_path(&choice.path))
                {
                    Some(index) => {
                        choices[index] = choice;
                        index
                    }
                    None => {
                        choices.push(choice);
                        choices.len() - 1
                    }
                };
                self.rebuild_form();
            }
            Err(error) => {
                if let Some(search) = &mut self.search {
                    search.error = Some(SearchError::Target(error));
                }
            }
        }
    }

    /// Stores what a benchmark would overwrite, in the question that asked for it.
    pub fn set_impact(
        &mut self,
        number: QuestionNumber,
        impact: Result<OverwriteImpact, Arc<DriveError>>,
    ) {
        if let Some(question) = &mut self.overwrite_question {
            question.set_impact(number, impact);
        }
    }

    /// Passes text input to the open editor.
    pub fn type_input(&mut self, input: TextInput) {
        self.awaited_path = None;
        if let Some(question) = &mut self.overwrite_question {
            question.type_input(input);
        } else if let Some(search) = &mut self.search {
            search.type_input(input, self.targets.as_deref().unwrap_or_default());
        } else if let Some(editor) = &mut self.form.editor {
            editor.text.apply_input(input);
            editor.error = None;
        }
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        self.start_error = None;
        self.awaited_path = None;
        if self.overwrite_question.is_some() {
            return self.handle_consent_command(command);
        }
        if self.search.is_some() {
            return self.handle_search_command(command);
        }
        if self.form.editor.is_some() {
            match command {
                KeyCommand::Accept => self.form.accept_input(),
                KeyCommand::Cancel => self.form.editor = None,
                _ => {}
            }
            self.update_forecast();
            return Vec::new();
        }
        match command {
            KeyCommand::Next => self.switch_pane(true),
            KeyCommand::Previous => self.switch_pane(false),
            KeyCommand::Start => return self.start_benchmark(),
            KeyCommand::Search => {
                let origin = match self.pane {
                    LauncherPane::Targets => SearchMatch::Target(self.target_index),
                    LauncherPane::Benchmarks | LauncherPane::Form => {
                        SearchMatch::Benchmark(self.benchmark_index)
                    }
                };
                self.search = Some(LauncherSearch::new(origin));
            }
            KeyCommand::ReloadList => return vec![Effect::ListTargets],
            KeyCommand::Accept => match self.pane {
                LauncherPane::Targets => self.pane = LauncherPane::Benchmarks,
                LauncherPane::Benchmarks => return self.start_benchmark(),
                LauncherPane::Form => self.form.open_editor(),
            },
            KeyCommand::Cancel => self.pane = LauncherPane::Benchmarks,
            KeyCommand::NextChoice => self.form.cycle_choice(true),
            KeyCommand::PreviousChoice => self.form.cycle_choice(false),
            KeyCommand::ResetToDefault => self.form.reset_selected(),
            movement => self.move_selection(movement),
        }
        self.update_forecast();
        Vec::new()
    }

    fn handle_search_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let choices = self.targets.as_deref().unwrap_or_default();
        let Some(search) = &mut self.search else {
            return Vec::new();
        };
        match (command, search.selected) {
            (KeyCommand::Accept, Some(matched)) => self.select_match(matched),
            (KeyCommand::Accept, None) => {
                let path = search.path_to_inspect();
                return path.map_or_else(Vec::new, |path| self.inspect(path));
            }
            (KeyCommand::Cancel, _) => self.search = None,
            (movement, _) => search.step_selection(movement, choices),
        }
        Vec::new()
    }

    /// Selects the match and focuses its list.
    fn select_match(&mut self, matched: SearchMatch) {
        self.search = None;
        match matched {
            SearchMatch::Target(index) => {
                self.target_index = index;
                self.pane = LauncherPane::Targets;
            }
            SearchMatch::Benchmark(index) => {
                self.benchmark_index = index;
                self.pane = LauncherPane::Benchmarks;
            }
        }
        self.rebuild_form();
    }

    /// Indices of the listed rows, targets first, then benchmarks: all, or during a search those
    /// that match.
    #[must_use]
    pub fn visible_rows(&self) -> (Vec<usize>, Vec<usize>) {
        let choices = self.targets.as_deref().unwrap_or_default();
        let Some(search) = &self.search else {
            return (
                (0..choices.len()).collect(),
                (0..BENCHMARKS.len()).collect(),
            );
        };
        let (mut targets, mut benchmarks) = (Vec::new(), Vec::new());
        for matched in search.matches(choices) {
            match matched {
                SearchMatch::Target(index) => targets.push(index),
                SearchMatch::Benchmark(index) => benchmarks.push(index),
            }
        }
        (targets, benchmarks)
    }

    fn handle_consent_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let confirmed = match command {
            KeyCommand::Accept => self
                .overwrite_question
                .as_mut()
                .and_then(OverwriteQuestion::confirmed_spec),
            KeyCommand::Cancel => {
                self.overwrite_question = None;
                None
            }
            movement => {
                if let Some(question) = &mut self.overwrite_question {
                    question.facts.viewport.scroll(movement);
                }
                None
            }
        };
        let Some(spec) = confirmed else {
            return Vec::new();
        };
        // The consent is valid for one start only.
        self.overwrite_question = None;
        vec![Effect::StartBenchmark(Box::new(spec))]
    }

    fn switch_pane(&mut self, forward: bool) {
        self.pane = match (self.pane, forward) {
            (LauncherPane::Targets, true) | (LauncherPane::Form, false) => LauncherPane::Benchmarks,
            (LauncherPane::Benchmarks, true) | (LauncherPane::Targets, false) => LauncherPane::Form,
            (LauncherPane::Form, true) | (LauncherPane::Benchmarks, false) => LauncherPane::Targets,
        };
    }

    fn move_selection(&mut self, movement: KeyCommand) {
        let (cursor, count) = match self.pane {
            LauncherPane::Targets => (
                &mut self.target_index,
                self.targets.as_ref().map_or(0, Vec::len),
            ),
            LauncherPane::Benchmarks => (&mut self.benchmark_index, BENCHMARKS.len()),
            LauncherPane::Form => (&mut self.form.cursor, self.form.fields.len()),
        };
        *cursor = step_cursor(*cursor, count, movement);
        if self.pane != LauncherPane::Form {
            self.rebuild_form();
        }
    }

    fn start_benchmark(&mut self) -> Vec<Effect> {
        let (Some(benchmark), Some(choice)) = (self.selected_benchmark(), self.selected_choice())
        else {
            return Vec::new();
        };
        let Some(Ok(forecast)) = &self.forecast else {
            return Vec::new();
        };
        let spec = self.form.benchmark_spec(benchmark, choice);
        if self.overwrites() {
            let (path, forecast) = (spec.target().path.clone(), forecast.clone());
            self.last_question = self.last_question.next();
            let question = self.last_question;
            self.overwrite_question = Some(OverwriteQuestion::new(question, spec, forecast));
            return vec![Effect::InspectImpact { question, path }];
        }
        vec![Effect::StartBenchmark(Box::new(spec))]
    }

    /// Rebuilds the form for the selected benchmark and target.
    fn rebuild_form(&mut self) {
        if let (Some(benchmark), Some(target)) = (self.selected_benchmark(), self.selected_target())
        {
            self.form = ParameterForm::new(benchmark, target, &self.form);
        }
        self.update_forecast();
    }

    /// Whether the benchmark overwrites existing data, so that consent is required before it starts.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        let (Some(benchmark), Some(choice), Some(target)) = (
            self.selected_benchmark(),
            self.selected_choice(),
            self.selected_target(),
        ) else {
            return false;
        };
        matches!(target.kind, TargetKind::BlockDevice | TargetKind::File)
            && benchmark.writes(
                &self
                    .form
                    .benchmark_spec(benchmark, choice)
                    .parameters(target),
            )
    }

    /// Bytes of the scratch file that the benchmark writes first, where it creates one.
    #[must_use]
    pub fn scratch_bytes(&self) -> Option<u64> {
        let (benchmark, choice) = (self.selected_benchmark()?, self.selected_choice()?);
        let target = self.selected_target()?;
        let requested = self
            .form
            .benchmark_spec(benchmark, choice)
            .scratch_file_bytes;
        (target.kind == TargetKind::ScratchFile).then(|| requested.unwrap_or(target.size_bytes))
    }

    fn update_forecast(&mut self) {
        let (Some(benchmark), Some(choice)) = (self.selected_benchmark(), self.selected_choice())
        else {
            self.forecast = None;
            return;
        };
        self.forecast = Some(match &choice.target {
            Err(error) => Err(Arc::new(ForecastError::Target(Arc::clone(error)))),
            Ok(target) => self
                .form
                .forecast(benchmark, choice, target)
                .map_err(|error| Arc::new(error.into())),
        });
    }
}
