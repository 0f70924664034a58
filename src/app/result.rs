//! The result of one or more runs: a run that just ended, or a saved session.

use std::path::PathBuf;

use super::effect::Effect;
use super::viewport::Viewport;
use crate::bench::ChartSpec;
use crate::session::document::{BenchmarkRun, MetricTable};
use crate::tui::keys::KeyCommand;
use crate::tui::screens::Shared;

/// A finished run and the path of its session.
#[derive(Debug, Clone)]
pub struct SavedRun {
    /// What was measured.
    pub run: BenchmarkRun,
    /// The file that the session is saved in; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// Errors outside the benchmark, such as a session that could not be saved.
    pub save_errors: Vec<String>,
}

/// State of a result view.
#[derive(Debug, Clone)]
pub struct ResultState {
    /// The runs; at least one when the view is drawn.
    pub runs: Vec<BenchmarkRun>,
    /// Where the session is saved; `None` where it could not be saved.
    pub path: Option<PathBuf>,
    /// Where it was exported to, as JSON or as a report.
    pub exported_path: Option<PathBuf>,
    /// Index of the selected page, counted over the pages of all runs.
    pub page_index: usize,
    /// Scroll position of metrics, checks and table.
    pub viewport: Viewport,
}

impl ResultState {
    /// Creates the view of these runs and the path of their session.
    #[must_use]
    pub fn new(runs: Vec<BenchmarkRun>, path: Option<PathBuf>) -> Self {
        Self {
            runs,
            path,
            exported_path: None,
            page_index: 0,
            viewport: Viewport::default(),
        }
    }

    /// The number of the selected run, from 1.
    #[must_use]
    pub fn run_number(&self) -> usize {
        let mut page = self.page_index;
        let before = self.runs.iter().take_while(|run| {
            let slots = page_slots(run);
            let is_before = page >= slots;
            page = page.saturating_sub(slots);
            is_before
        });
        before.count() + 1
    }

    /// The selected run and the index of the selected page among its pages.
    #[must_use]
    pub fn front_page(&self) -> Option<(&BenchmarkRun, usize)> {
        let mut page = self.page_index;
        for run in &self.runs {
            let slots = page_slots(run);
            if page < slots {
                return Some((run, page));
            }
            page -= slots;
        }
        None
    }

    fn page_count(&self) -> usize {
        self.runs.iter().map(page_slots).sum()
    }

    /// Handles a key command of this view.
    pub fn handle_command(&mut self, command: KeyCommand, shared: &mut Shared<'_>) -> Vec<Effect> {
        let count = self.page_count().max(1);
        match command {
            KeyCommand::ExportSession | KeyCommand::WriteReport if self.path.is_none() => {
                shared.show_error("this session was not saved: there is nothing to export");
            }
            KeyCommand::Next => self.page_index = (self.page_index + 1) % count,
            KeyCommand::Previous => self.page_index = (self.page_index + count - 1) % count,
            KeyCommand::ExportSession => {
                return self
                    .path
                    .clone()
                    .map(Effect::ExportSession)
                    .into_iter()
                    .collect();
            }
            KeyCommand::WriteReport => {
                let report = |path| Effect::WriteReport(vec![path], Vec::new());
                return self.path.clone().map(report).into_iter().collect();
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }
}

/// A page of a run's result.
#[derive(Debug, Clone, Copy)]
pub enum ResultPage<'a> {
    /// A chart that the benchmark declares.
    Chart(&'static ChartSpec),
    /// A table of metrics.
    Table(&'a MetricTable),
    /// The latency distribution.
    Latency,
    /// The block layer's statistics of the same device.
    BlockLayer,
}

impl ResultPage<'_> {
    /// Its name.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => chart.title,
            Self::Table(table) => &table.name,
            Self::Latency => "Latency",
            Self::BlockLayer => "Block layer",
        }
    }
}

/// The pages of a run, the most significant first: its charts, its tables, the latency
/// distribution, the block layer's statistics.
#[must_use]
pub fn run_pages(run: &BenchmarkRun) -> Vec<ResultPage<'_>> {
    let findings = &run.findings;
    let declared = crate::bench::find_benchmark(&run.test)
        .map_or(&[][..], |benchmark| benchmark.description().charts);
    let charts = declared.iter().filter(|chart| {
        let mut names = chart.series.iter();
        names.any(|name| findings.series(name).is_some())
    });
    let latency = &findings.latency;
    let times = latency.read.is_some() || latency.write.is_some();
    charts
        .map(ResultPage::Chart)
        .chain(findings.top_level_tables().map(ResultPage::Table))
        .chain(times.then_some(ResultPage::Latency))
        .chain(run.kernel.is_some().then_some(ResultPage::BlockLayer))
        .collect()
}

/// A run without pages still takes one slot.
fn page_slots(run: &BenchmarkRun) -> usize {
    run_pages(run).len().max(1)
}
