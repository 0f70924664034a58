//! Sessions against the first of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::action::Effect;
use super::keymap::Command;
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
    pub passed_over: Vec<String>,
    /// Which of the tests that could be compared is in front.
    pub test: usize,
    /// Which of its charts.
    pub chart: usize,
    /// Which side's figures stand against the first side's; at least 1.
    pub other: usize,
    /// Lines that the figures are scrolled by.
    pub scroll: usize,
}

impl ComparisonState {
    /// A comparison of these files.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, passed_over: Vec<String>, comparison: Comparison) -> Self {
        Self {
            paths,
            comparison,
            passed_over,
            test: 0,
            chart: 0,
            other: 1,
            scroll: 0,
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
                (self.chart, self.scroll) = (0, 0);
            }
            Command::NextSide => {
                let others = self.comparison.sides.len().saturating_sub(1).max(1);
                self.other = self.other % others + 1;
            }
            Command::Up => self.scroll = self.scroll.saturating_sub(1),
            Command::Down => self.scroll = (self.scroll + 1).min(self.longest_scroll()),
            Command::Ignore => return self.pass_over(),
            _ => {}
        }
        Vec::new()
    }

    /// Compares anew: with the parameters that differ passed over, or again with none.
    fn pass_over(&self) -> Vec<Effect> {
        let names = if self.passed_over.is_empty() {
            self.differing()
        } else {
            Vec::new()
        };
        if names == self.passed_over {
            return Vec::new();
        }
        vec![Effect::Compare(self.paths.clone(), names)]
    }

    fn longest_scroll(&self) -> usize {
        let test = self.front();
        let figures = test.map_or(0, |test| test.figures.len());
        let cautions = test.map_or(0, |test| {
            let all = test.measured.iter().flatten();
            all.map(|measured| measured.cautions.len()).sum()
        });
        figures + 3 * (cautions + self.comparison.mismatches.len())
    }
}
