//! The result of one run or more: a run that just ended, or a saved session.

use std::path::PathBuf;

use super::action::Effect;
use super::keymap::Command;
use crate::session::document::Run;

/// Results to look at.
#[derive(Debug, Clone)]
pub struct ResultState {
    /// The runs, at least one where anything is drawn.
    pub runs: Vec<Run>,
    /// Where the session is saved; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// Where it was exported to.
    pub exported: Option<PathBuf>,
    /// Which run and which of its charts is in front: counted through all runs.
    pub page: usize,
    /// Lines that the figures are scrolled by.
    pub scroll: usize,
}

impl ResultState {
    /// Runs and where they are saved.
    #[must_use]
    pub fn new(runs: Vec<Run>, path: Option<PathBuf>) -> Self {
        Self {
            runs,
            path,
            exported: None,
            page: 0,
            scroll: 0,
        }
    }

    /// The run in front and the place of its chart in front.
    #[must_use]
    pub fn front(&self) -> Option<(&Run, usize)> {
        let mut page = self.page;
        for run in &self.runs {
            let pages = pages(run);
            if page < pages {
                return Some((run, page));
            }
            page -= pages;
        }
        None
    }

    fn page_count(&self) -> usize {
        self.runs.iter().map(pages).sum()
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let count = self.page_count().max(1);
        match command {
            Command::Next => self.page = (self.page + 1) % count,
            Command::Previous => self.page = (self.page + count - 1) % count,
            Command::Up => self.scroll = self.scroll.saturating_sub(1),
            Command::Down => self.scroll = (self.scroll + 1).min(self.longest_scroll()),
            Command::Export => return self.path.clone().map(Effect::Export).into_iter().collect(),
            _ => {}
        }
        Vec::new()
    }

    fn longest_scroll(&self) -> usize {
        self.front().map_or(0, |(run, _)| {
            run.findings.figures.len() + 2 * run.findings.verdicts.len()
        })
    }
}

/// Charts of a run that can be in front: those with a series, and the response times. A run
/// without any still has a page.
fn pages(run: &Run) -> usize {
    charts(run).len() + usize::from(has_latency(run)).max(usize::from(charts(run).is_empty()))
}

/// The charts of a run's test that it has series for.
#[must_use]
pub fn charts(run: &Run) -> Vec<&'static crate::bench::Chart> {
    let Some(test) = crate::bench::find(&run.test) else {
        return Vec::new();
    };
    let drawn = |chart: &&'static crate::bench::Chart| {
        chart
            .series
            .iter()
            .any(|name| run.findings.series(name).is_some())
    };
    test.description().charts.iter().filter(drawn).collect()
}

/// Whether a run has a distribution of response times.
#[must_use]
pub fn has_latency(run: &Run) -> bool {
    run.findings.latency.read.is_some() || run.findings.latency.write.is_some()
}
