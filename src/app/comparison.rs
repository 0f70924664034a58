//! Sessions against each other.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::event::Effect;
use super::keymap::KeyCommand;
use super::viewport::Viewport;
use crate::safe_text::SafeText;
use crate::session::compare::{ChartOverlay, ComparedBenchmark, Comparison};

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
    pub benchmark_index: usize,
    /// Which of its charts.
    pub chart_index: usize,
    /// Which of the test's pairs of sides has its figures shown.
    pub selected_pair: usize,
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
            benchmark_index: 0,
            chart_index: 0,
            selected_pair: 0,
            viewport: Viewport::default(),
        }
    }

    /// The test in front.
    #[must_use]
    pub fn selected_benchmark(&self) -> Option<&ComparedBenchmark> {
        self.comparison.benchmarks.get(self.benchmark_index)
    }

    /// Its chart in front.
    #[must_use]
    pub fn selected_overlay(&self) -> Option<&ChartOverlay> {
        self.selected_benchmark()?.charts.get(self.chart_index)
    }

    /// The baseline and the other side whose figures are shown; `None` where no two sides have one.
    #[must_use]
    pub fn pair(&self) -> Option<(usize, usize)> {
        let pairs = self.selected_benchmark()?.compared_pairs();
        pairs.get(self.selected_pair).or(pairs.first()).copied()
    }

    /// Parameters for whose sake something was not compared.
    fn differing_parameters(&self) -> Vec<String> {
        let mismatches = self.comparison.mismatches.iter();
        let names: BTreeSet<&SafeText> = mismatches
            .flat_map(|mismatch| &mismatch.differences)
            .map(|difference| &difference.parameter)
            .collect();
        names.into_iter().map(String::from).collect()
    }

    /// Obeys a command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let charts = self
            .selected_benchmark()
            .map_or(0, |test| test.charts.len())
            .max(1);
        match command {
            KeyCommand::Next => self.chart_index = (self.chart_index + 1) % charts,
            KeyCommand::Previous => self.chart_index = (self.chart_index + charts - 1) % charts,
            KeyCommand::NextBenchmark => {
                self.benchmark_index =
                    (self.benchmark_index + 1) % self.comparison.benchmarks.len().max(1);
                (self.chart_index, self.selected_pair) = (0, 0);
                self.viewport.reset();
            }
            KeyCommand::NextPair => {
                let pairs = self
                    .selected_benchmark()
                    .map_or(0, |test| test.compared_pairs().len())
                    .max(1);
                self.selected_pair = (self.selected_pair + 1) % pairs;
            }
            KeyCommand::ToggleIgnoredParameters => return self.toggle_ignored_parameters(),
            KeyCommand::WriteReport => {
                return vec![Effect::WriteReport(
                    self.paths.clone(),
                    self.ignored_parameters.clone(),
                )];
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }

    /// Compares anew: with the parameters that differ ignored, or again with none.
    fn toggle_ignored_parameters(&self) -> Vec<Effect> {
        let names = if self.ignored_parameters.is_empty() {
            self.differing_parameters()
        } else {
            Vec::new()
        };
        if names == self.ignored_parameters {
            return Vec::new();
        }
        vec![Effect::CompareSessions(self.paths.clone(), names)]
    }
}
