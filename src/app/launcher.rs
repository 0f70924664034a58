//! The launcher: what to measure, with which test, and how.

use super::action::{Choice, Effect, Group};
use super::consent::{OverwriteQuestion, Stakes};
use super::form::Form;
use super::keymap::{Command, Context};
use super::search::{LauncherSearch, SearchMatch};
use super::text::TextInput;
use super::viewport::step;
use crate::bench::{Forecast, TESTS, Test};
use crate::drive::{Target, TargetKind};

/// A part of the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// What to measure.
    Targets,
    /// With which test.
    Tests,
    /// Its parameters.
    Form,
}

/// The launcher.
#[derive(Debug, Clone)]
pub struct LauncherState {
    /// What can be measured; `None` until the list has arrived.
    pub choices: Option<Vec<Choice>>,
    /// The selected one.
    pub target: usize,
    /// The selected test, a place in [`TESTS`].
    pub test: usize,
    /// Its parameters.
    pub form: Form,
    /// The part that has the keyboard.
    pub pane: Pane,
    /// A search that is being typed, or a path.
    pub search: Option<LauncherSearch>,
    /// What the job will do, or why it cannot be done.
    pub forecast: Option<Result<Forecast, String>>,
    /// Why the last start came to nothing, until the next key.
    pub failed: Option<String>,
    /// The question whether a job may overwrite its target.
    pub consent: Option<OverwriteQuestion>,
}

impl Default for LauncherState {
    fn default() -> Self {
        // Random reads are what most people ask for first, and over within seconds.
        let favourite = |test: &&dyn Test| test.description().name == "random-read";
        Self {
            choices: None,
            target: 0,
            test: TESTS.iter().position(favourite).unwrap_or(0),
            form: Form::default(),
            pane: Pane::Targets,
            search: None,
            forecast: None,
            failed: None,
            consent: None,
        }
    }
}

impl LauncherState {
    /// The selected test.
    #[must_use]
    pub fn selected_test(&self) -> Option<&'static dyn Test> {
        TESTS.get(self.test).copied()
    }

    /// What is selected to be measured.
    #[must_use]
    pub fn selected_choice(&self) -> Option<&Choice> {
        self.choices.as_ref()?.get(self.target)
    }

    fn selected_target(&self) -> Option<&Target> {
        self.selected_choice()?.target.as_ref().ok()
    }

    /// Which keys hold.
    #[must_use]
    pub fn context(&self) -> Context {
        if self.consent.is_some() {
            Context::Consent
        } else if self.search.is_some() {
            Context::Search
        } else if self.form.editing.is_some() {
            Context::Field
        } else if self.pane == Pane::Form {
            Context::Form
        } else {
            Context::Launcher
        }
    }

    /// Takes the list of what can be measured; the selection stays where it was.
    pub fn listed(&mut self, mut choices: Vec<Choice>) {
        let selected = self.selected_choice().cloned();
        if let Some(choice) = &selected {
            match choices.iter().position(|known| known.name == choice.name) {
                Some(place) => self.target = place,
                None if choice.group == Group::File => {
                    choices.push(choice.clone());
                    self.target = choices.len() - 1;
                }
                None => self.target = 0,
            }
        }
        if let Some(search) = &mut self.search {
            search.select(&choices);
        }
        self.choices = Some(choices);
        self.renew();
    }

    /// Takes what a typed path turned out to be.
    pub fn inspected(&mut self, result: Result<Choice, String>) {
        match result {
            Ok(choice) => {
                self.search = None;
                let choices = self.choices.get_or_insert_default();
                self.target = match choices.iter().position(|known| known.name == choice.name) {
                    Some(place) => {
                        choices[place] = choice;
                        place
                    }
                    None => {
                        choices.push(choice);
                        choices.len() - 1
                    }
                };
                self.renew();
            }
            Err(message) => {
                if let Some(search) = &mut self.search {
                    search.error = Some(message);
                }
            }
        }
    }

    /// Takes what a job would overwrite.
    pub fn weighed(&mut self, path: &str, stakes: Result<Stakes, String>) {
        if let Some(consent) = &mut self.consent {
            consent.learned(path, stakes);
        }
    }

    /// What is typed into the field that is open.
    pub fn typed(&mut self, input: TextInput) {
        if let Some(consent) = &mut self.consent {
            consent.typed(input);
        } else if let Some(search) = &mut self.search {
            search.press(input, self.choices.as_deref().unwrap_or_default());
        } else if let Some(editing) = &mut self.form.editing {
            editing.text.press(input);
            editing.error = None;
        }
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        self.failed = None;
        if self.consent.is_some() {
            return self.consent_command(command);
        }
        if self.search.is_some() {
            return self.search_command(command);
        }
        if self.form.editing.is_some() {
            match command {
                Command::Accept => self.form.accept(),
                Command::Cancel => self.form.editing = None,
                _ => {}
            }
            self.forecast_anew();
            return Vec::new();
        }
        match command {
            Command::Next => self.turn(true),
            Command::Previous => self.turn(false),
            Command::Start => return self.start(),
            Command::Search => {
                let origin = match self.pane {
                    Pane::Targets => SearchMatch::Target(self.target),
                    Pane::Tests | Pane::Form => SearchMatch::Benchmark(self.test),
                };
                self.search = Some(LauncherSearch::new(origin));
            }
            Command::Reload => return vec![Effect::ListTargets],
            Command::Accept => match self.pane {
                Pane::Targets => self.pane = Pane::Tests,
                Pane::Tests => return self.start(),
                Pane::Form => self.form.edit(),
            },
            Command::Cancel => self.pane = Pane::Tests,
            Command::NextWord => self.form.cycle(true),
            Command::PreviousWord => self.form.cycle(false),
            Command::Default => self.form.reset(),
            movement => self.walk(movement),
        }
        self.forecast_anew();
        Vec::new()
    }

    fn search_command(&mut self, command: Command) -> Vec<Effect> {
        let choices = self.choices.as_deref().unwrap_or_default();
        let Some(search) = &mut self.search else {
            return Vec::new();
        };
        match (command, search.selected) {
            (Command::Accept, Some(found)) => self.take(found),
            (Command::Accept, None) => return search.inspected().into_iter().collect(),
            (Command::Cancel, _) => self.search = None,
            (movement, _) => search.step(movement, choices),
        }
        Vec::new()
    }

    /// Selects what was searched for, and gives its list the keyboard.
    fn take(&mut self, found: SearchMatch) {
        self.search = None;
        match found {
            SearchMatch::Target(place) => {
                self.target = place;
                self.pane = Pane::Targets;
            }
            SearchMatch::Benchmark(place) => {
                self.test = place;
                self.pane = Pane::Tests;
            }
        }
        self.renew();
    }

    /// The rows that are listed: all, or while something is searched those that match. First the
    /// places of targets, then those of benchmarks.
    #[must_use]
    pub fn listed_rows(&self) -> (Vec<usize>, Vec<usize>) {
        let choices = self.choices.as_deref().unwrap_or_default();
        let Some(search) = &self.search else {
            return ((0..choices.len()).collect(), (0..TESTS.len()).collect());
        };
        let (mut targets, mut benchmarks) = (Vec::new(), Vec::new());
        for found in search.matches(choices) {
            match found {
                SearchMatch::Target(place) => targets.push(place),
                SearchMatch::Benchmark(place) => benchmarks.push(place),
            }
        }
        (targets, benchmarks)
    }

    fn consent_command(&mut self, command: Command) -> Vec<Effect> {
        let given = match command {
            Command::Accept => self.consent.as_mut().and_then(OverwriteQuestion::given),
            Command::Cancel => {
                self.consent = None;
                None
            }
            _ => None,
        };
        let Some(job) = given else {
            return Vec::new();
        };
        // Good for this start alone.
        self.consent = None;
        vec![Effect::Start(Box::new(job))]
    }

    fn turn(&mut self, forward: bool) {
        self.pane = match (self.pane, forward) {
            (Pane::Targets, true) | (Pane::Form, false) => Pane::Tests,
            (Pane::Tests, true) | (Pane::Targets, false) => Pane::Form,
            (Pane::Form, true) | (Pane::Tests, false) => Pane::Targets,
        };
    }

    fn walk(&mut self, movement: Command) {
        let (cursor, count) = match self.pane {
            Pane::Targets => (&mut self.target, self.choices.as_ref().map_or(0, Vec::len)),
            Pane::Tests => (&mut self.test, TESTS.len()),
            Pane::Form => (&mut self.form.cursor, self.form.entries.len()),
        };
        *cursor = step(*cursor, count, movement);
        if self.pane != Pane::Form {
            self.renew();
        }
    }

    fn start(&mut self) -> Vec<Effect> {
        let (Some(test), Some(choice)) = (self.selected_test(), self.selected_choice()) else {
            return Vec::new();
        };
        let Some(Ok(forecast)) = &self.forecast else {
            return Vec::new();
        };
        let job = self.form.job(test, choice);
        if self.overwrites() {
            let path = job.target.clone();
            self.consent = Some(OverwriteQuestion::new(job, forecast.clone()));
            return vec![Effect::Weigh(path)];
        }
        vec![Effect::Start(Box::new(job))]
    }

    /// Makes the form anew for the selected test and target.
    fn renew(&mut self) {
        if let (Some(test), Some(target)) = (self.selected_test(), self.selected_target()) {
            self.form = Form::new(test, target, &self.form);
        }
        self.forecast_anew();
    }

    /// Whether the job, as the form says, overwrites something that was there before: it asks
    /// before it starts.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        let (Some(test), Some(choice), Some(target)) = (
            self.selected_test(),
            self.selected_choice(),
            self.selected_target(),
        ) else {
            return false;
        };
        matches!(target.kind, TargetKind::BlockDevice | TargetKind::File)
            && test.writes(&self.form.job(test, choice).parameters(target))
    }

    /// Bytes of the scratch file that the job fills first, where it makes one.
    #[must_use]
    pub fn scratch_bytes(&self) -> Option<u64> {
        let (test, choice) = (self.selected_test()?, self.selected_choice()?);
        let target = self.selected_target()?;
        let asked = self.form.job(test, choice).scratch_bytes;
        (target.kind == TargetKind::Scratch).then(|| asked.unwrap_or(target.size))
    }

    fn forecast_anew(&mut self) {
        let (Some(test), Some(choice)) = (self.selected_test(), self.selected_choice()) else {
            self.forecast = None;
            return;
        };
        self.forecast = Some(match &choice.target {
            Err(reason) => Err(reason.clone()),
            Ok(target) => self
                .form
                .forecast(test, choice, target)
                .map_err(|error| error.to_string()),
        });
    }
}
