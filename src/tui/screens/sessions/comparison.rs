//! Comparison of saved sessions.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::app::Effect;
use crate::app::viewport::Viewport;
use crate::files::safe_text::SafeText;
use crate::session::compare::{ChartOverlay, ComparedBenchmark, Comparison};
use crate::tui::keys::KeyCommand;

/// State of the comparison view.
#[derive(Debug, Clone)]
pub struct ComparisonState {
    /// Paths of the session files, in the order of the columns.
    pub paths: Vec<PathBuf>,
    /// Result of the comparison.
    pub comparison: Comparison,
    /// Names of parameters that may differ between the sessions.
    pub ignored_parameters: Vec<String>,
    /// Index of the selected benchmark among those that could be compared.
    pub benchmark_index: usize,
    /// Index of the selected chart of that benchmark.
    pub chart_index: usize,
    /// Index of the selected pair of columns among the pairs of the benchmark.
    pub selected_pair: usize,
    /// Scroll position of the metrics.
    pub viewport: Viewport,
}

impl ComparisonState {
    /// Creates the view of a comparison of these files.
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

    /// The selected benchmark.
    #[must_use]
    pub fn selected_benchmark(&self) -> Option<&ComparedBenchmark> {
        self.comparison.benchmarks.get(self.benchmark_index)
    }

    /// The selected chart of the selected benchmark.
    #[must_use]
    pub fn selected_overlay(&self) -> Option<&ChartOverlay> {
        self.selected_benchmark()?.charts.get(self.chart_index)
    }

    /// Indices of the baseline and the other column whose metrics are shown; `None` where no pair
    /// exists.
    #[must_use]
    pub fn pair(&self) -> Option<(usize, usize)> {
        let pairs = self.selected_benchmark()?.compared_pairs();
        pairs.get(self.selected_pair).or(pairs.first()).copied()
    }

    /// Parameters whose difference excluded a benchmark from the comparison.
    pub(crate) fn differing_parameters(&self) -> Vec<String> {
        let mismatches = self.comparison.mismatches.iter();
        let names: BTreeSet<&SafeText> = mismatches
            .flat_map(|mismatch| &mismatch.differences)
            .map(|difference| &difference.parameter)
            .collect();
        names.into_iter().map(String::from).collect()
    }

    /// Handles a key command of this view.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let charts = self
            .selected_benchmark()
            .map_or(0, |benchmark| benchmark.charts.len())
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
                    .map_or(0, |benchmark| benchmark.compared_pairs().len())
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

    /// Compares again, ignoring the parameters that differ, or ignoring none.
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
