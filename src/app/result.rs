//! The result of one run or more: a run that just ended, or a saved session.

use std::path::PathBuf;

use super::action::Effect;
use super::keymap::Command;
use super::viewport::Viewport;
use crate::bench::Chart;
use crate::session::document::{Run, Table};

/// Results to look at.
#[derive(Debug, Clone)]
pub struct ResultState {
    /// The runs, at least one where anything is drawn.
    pub runs: Vec<Run>,
    /// Where the session is saved; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// Where it was exported to, as JSON or as a report.
    pub exported: Option<PathBuf>,
    /// Which run and which of its charts is in front: counted through all runs.
    pub page: usize,
    /// The part of figures, checks and table that is shown.
    pub viewport: Viewport,
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
            viewport: Viewport::default(),
        }
    }

    /// The run in front and the place among its [`pages`] of the one in front.
    #[must_use]
    pub fn front(&self) -> Option<(&Run, usize)> {
        let mut page = self.page;
        for run in &self.runs {
            let places = places(run);
            if page < places {
                return Some((run, page));
            }
            page -= places;
        }
        None
    }

    fn page_count(&self) -> usize {
        self.runs.iter().map(places).sum()
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let count = self.page_count().max(1);
        match command {
            Command::Next => self.page = (self.page + 1) % count,
            Command::Previous => self.page = (self.page + count - 1) % count,
            Command::Export => return self.path.clone().map(Effect::Export).into_iter().collect(),
            Command::Report => {
                let report = |path| Effect::Report(vec![path], Vec::new());
                return self.path.clone().map(report).into_iter().collect();
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }
}

/// Something of a run that can be in front.
#[derive(Debug, Clone, Copy)]
pub enum Page<'a> {
    /// A chart that its test describes.
    Chart(&'static Chart),
    /// Figures side by side.
    Table(&'a Table),
    /// The distribution of response times.
    ResponseTimes,
}

/// What of a run can be in front, the most telling first: its charts, its tables, the response
/// times.
#[must_use]
pub fn pages(run: &Run) -> Vec<Page<'_>> {
    let findings = &run.findings;
    let known = crate::bench::find(&run.test).map_or(&[][..], |test| test.description().charts);
    let drawn = known.iter().filter(|chart| {
        let mut names = chart.series.iter();
        names.any(|name| findings.series(name).is_some())
    });
    let latency = &findings.latency;
    let times = latency.read.is_some() || latency.write.is_some();
    drawn
        .map(Page::Chart)
        .chain(findings.own_tables().map(Page::Table))
        .chain(times.then_some(Page::ResponseTimes))
        .collect()
}

/// A run without anything to put in front still has its place.
fn places(run: &Run) -> usize {
    pages(run).len().max(1)
}
