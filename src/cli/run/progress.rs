//! The progress line on stderr, when that is a terminal.

use std::io::{self, IsTerminal, Write};

use crate::bench::common::written_share;
use crate::bench::{Forecast, Progress};
use crate::drive::Inspection;
use crate::engine::Snapshot;
use crate::printable::printable_str;
use crate::runtime::benchmark::{Beside, Start, Watcher};
use crate::units;

use super::super::say;

/// Characters of the bar.
const BAR: usize = 24;

/// One line that is written over and over; silent when stderr is no terminal.
pub(in crate::cli) struct Line {
    terminal: bool,
    width: usize,
}

impl Line {
    pub(in crate::cli) fn new() -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            width: 0,
        }
    }

    fn draw(&mut self, text: &str) {
        if self.terminal {
            let text = printable_str(text);
            let width = text.chars().count();
            let blanks = " ".repeat(self.width.saturating_sub(width));
            // Nobody watching is no error.
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r{text}{blanks}").and_then(|()| stderr.flush());
            self.width = width;
        }
    }

    /// Whether what is planned is printed: what will be written also to whoever keeps the log.
    fn is_verbose(&self, forecast: &Forecast) -> bool {
        self.terminal || forecast.writes.is_some()
    }

    /// Takes the line away.
    pub(in crate::cli) fn clear(&mut self) {
        if self.width > 0 {
            self.draw("");
            let _ = write!(io::stderr().lock(), "\r");
            self.width = 0;
        }
    }
}

fn bar(fraction: f64) -> String {
    let full = (fraction.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!(
        "[{}{}] {:>3.0} %",
        "#".repeat(full),
        "-".repeat(BAR - full),
        fraction * 100.0
    )
}

/// Rate of the present phase: requests and bytes per second.
fn rates(snapshot: &Snapshot) -> String {
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.ramping || seconds <= 0.0 {
        return "ramp".to_owned();
    }
    let (requests, bytes) = (
        snapshot.tally.requests() as f64,
        snapshot.tally.bytes() as f64,
    );
    format!(
        "{} IOPS  {}",
        units::count(requests / seconds),
        units::throughput(bytes / seconds)
    )
}

/// What is about to be overwritten, how much of it, and how long that takes: lines of one block.
fn overwriting(inspection: &Inspection, start: &Start) -> Vec<String> {
    let mut lines = inspection.about();
    if let Some(first) = lines.first_mut() {
        first.insert_str(0, "overwriting ");
    }
    let writes = start.forecast.writes.map_or_else(
        || "writes an unknown number of bytes".to_owned(),
        |bytes| format!("writes up to {}", written_share(bytes, &start.target)),
    );
    let time = start.forecast.time.describe();
    lines.push(format!("{writes}, takes {time}"));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

impl Watcher for Line {
    fn ended(&mut self) {
        self.clear();
    }

    fn announced(&mut self, test: &'static str, forecast: &Forecast) {
        if self.is_verbose(forecast) {
            let time = forecast.time.describe();
            say(&format!("{test}: {}; takes {time}", forecast.sentence));
        }
    }

    fn preparing(&mut self, done: u64, total: u64) {
        let share = done as f64 / total.max(1) as f64;
        self.draw(&format!(
            "{}  filling the scratch file, {}",
            bar(share),
            units::size(total)
        ));
    }

    fn started(&mut self, start: &Start) {
        self.clear();
        if let Some(inspection) = &start.overwritten {
            overwriting(inspection, start)
                .iter()
                .for_each(|line| say(line));
        }
        if self.is_verbose(&start.forecast)
            && let Some(reason) = &start.engine.reason
        {
            say(&format!("engine {}: {reason}", start.engine.name));
        }
    }

    fn progress(&mut self, progress: &Progress, _: Beside<'_>) {
        let bar = progress.fraction.map_or_else(String::new, bar);
        let left = progress.left().map_or_else(String::new, |left| {
            format!("  {} left", units::waiting(left))
        });
        self.draw(&format!(
            "{bar}  {}  {}{left}",
            progress.phase,
            rates(&progress.snapshot)
        ));
    }
}
