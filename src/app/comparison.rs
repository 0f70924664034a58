//! Sessions against each other.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::action::Effect;
use super::keymap::Command;
use super::viewport::Viewport;
use crate::safe_text::SafeText;
use crate::session::compare::{ComparedTest, Comparison, Overlay};

/// A comparison to look at.
#[derive(Debug, Clone)]
pub struct ComparisonState {
    /// Files of the sessions, in their order.
    pub paths: Vec<PathBuf>,
    /// What came of it.
    pub comparison: Comparison,
    /// Parameters that may differ.
    pub ignored_parameters: Vec<String>,
    /// Which of the tests that could be compared is in front.
    pub test: usize,
    /// Which of its charts.
    pub chart: usize,
    /// Which of the test's pairs of sides has its figures shown.
    pub pair: usize,
    /// The part of the figures that is shown.
    pub viewport: Viewport,
}

impl ComparisonState {
    /// A comparison of these files.
    #[must_use]
    pub fn new(
        paths: Vec<PathBuf>,
        ignored_parameters: Vec<String>,
        comparison: Comparison,
    ) -> Self {
        Self {
            paths,
            comparison,
            ignored_parameters,
            test: 0,
            chart: 0,
            pair: 0,
            viewport: Viewport::default(),
        }
    }

    /// The test in front.
    #[must_use]
    pub fn front(&self) -> Option<&ComparedTest> {
        self.comparison.tests.get(self.test)
    }

    /// Its chart in front.
    #[must_use]
    pub fn overlay(&self) -> Option<&Overlay> {
        self.front()?.charts.get(self.chart)
    }

    /// The baseline and the other side whose figures are shown; `None` where no two sides have one.
    #[must_use]
    pub fn pair(&self) -> Option<(usize, usize)> {
        let pairs = self.front()?.pairs();
        pairs.get(self.pair).or(pairs.first()).copied()
    }

    /// Parameters for whose sake something was not compared.
    fn differing(&self) -> Vec<String> {
        let mismatches = self.comparison.mismatches.iter();
        let names: BTreeSet<&SafeText> = mismatches
            .flat_map(|mismatch| &mismatch.differences)
            .map(|difference| &difference.parameter)
            .collect();
        names.into_iter().map(String::from).collect()
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let charts = self.front().map_or(0, |test| test.charts.len()).max(1);
        match command {
            Command::Next => self.chart = (self.chart + 1) % charts,
            Command::Previous => self.chart = (self.chart + charts - 1) % charts,
            Command::NextTest => {
                self.test = (self.test + 1) % self.comparison.tests.len().max(1);
                (self.chart, self.pair) = (0, 0);
                self.viewport.reset();
            }
            Command::NextSide => {
                let pairs = self.front().map_or(0, |test| test.pairs().len()).max(1);
                self.pair = (self.pair + 1) % pairs;
            }
            Command::Ignore => return self.ignore(),
            Command::Report => {
                return vec![Effect::Report(
                    self.paths.clone(),
                    self.ignored_parameters.clone(),
                )];
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }

    /// Compares anew: with the parameters that differ ignored, or again with none.
    fn ignore(&self) -> Vec<Effect> {
        let names = if self.ignored_parameters.is_empty() {
            self.differing()
        } else {
            Vec::new()
        };
        if names == self.ignored_parameters {
            return Vec::new();
        }
        vec![Effect::Compare(self.paths.clone(), names)]
    }
}
