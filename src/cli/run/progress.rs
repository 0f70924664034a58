//! The progress line on stderr, if stderr is a terminal.

use std::io::{self, IsTerminal};

use crate::bench::framework::describe_written_bytes;
use crate::bench::{Forecast, RunEvent, RunProgress, RunStart};
use crate::cli::output::print_status_line;
use crate::drive::Inspection;
use crate::engine::ExecutionSnapshot;
use crate::files::printable::printable_str;
use crate::report::inspection;
use crate::tui::terminal_kind::terminal_text;
use crate::tui::terminal_output::TerminalOutput;
use crate::units;

/// Width of the bar in characters.
const BAR_WIDTH: usize = 24;

/// A line that is overwritten in place; prints nothing if stderr is not a terminal.
pub(in crate::cli) struct ProgressLine {
    /// The terminal; `None` if stderr is none. A progress line that a slow terminal does not take
    /// in time is dropped: the measuring thread must not wait for it.
    terminal: Option<TerminalOutput>,
    width: usize,
}

impl ProgressLine {
    pub(in crate::cli) fn new() -> Self {
        let stderr = io::stderr();
        let is_terminal = stderr.is_terminal();
        Self {
            // Without a thread for it there is no progress line.
            terminal: is_terminal
                .then(|| TerminalOutput::start(&stderr).ok())
                .flatten(),
            width: 0,
        }
    }

    fn draw_line(&mut self, text: &str) {
        if let Some(terminal) = &self.terminal {
            let text = printable_str(text);
            let text = terminal_text(&text);
            let width = text.chars().count();
            let blanks = " ".repeat(self.width.saturating_sub(width));
            if terminal.offer(format!("\r{text}{blanks}").as_bytes()) {
                self.width = width;
            }
        }
    }

    /// Whether the forecast is printed: if the run writes, also to a stderr that is not a terminal.
    fn prints_forecast(&self, forecast: &Forecast) -> bool {
        self.terminal.is_some() || forecast.max_written_bytes.is_some()
    }

    /// Prints a line that stays.
    fn print_line(&self, text: &str) {
        match &self.terminal {
            // A terminal that is gone is noticed where the result is printed.
            Some(terminal) => {
                let line = terminal_text(&printable_str(text)).into_owned() + "\n";
                drop(terminal.push(line.as_bytes()));
            }
            None => print_status_line(text),
        }
    }

    /// Clears the line, so that other text can follow.
    pub(in crate::cli) fn clear_line(&mut self) {
        let Some(terminal) = &self.terminal else {
            return;
        };
        let bytes = match self.width {
            0 => String::new(),
            width => format!("\r{}\r", " ".repeat(width)),
        };
        terminal.write_last(bytes.as_bytes());
        self.width = 0;
    }
}

fn progress_bar(fraction: f64) -> String {
    let full = (fraction.clamp(0.0, 1.0) * BAR_WIDTH as f64).round() as usize;
    format!(
        "[{}{}] {:>3.0} %",
        "#".repeat(full),
        "-".repeat(BAR_WIDTH - full),
        fraction * 100.0
    )
}

/// Rate of the current phase: requests and bytes per second.
fn phase_rates(snapshot: &ExecutionSnapshot) -> String {
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.in_ramp_time || seconds <= 0.0 {
        return "ramp".to_owned();
    }
    let (requests, bytes) = (
        snapshot.stats.requests() as f64,
        snapshot.stats.bytes() as f64,
    );
    format!(
        "{} IOPS  {}",
        units::format_count(requests / seconds),
        units::format_throughput(bytes / seconds)
    )
}

/// What the run will overwrite, how much of it, and for how long: the lines of one block.
fn overwrite_notice(inspection: &Inspection, start: &RunStart) -> Vec<String> {
    let mut lines = inspection::summary_lines(inspection);
    if let Some(first) = lines.first_mut() {
        first.insert_str(0, "overwriting ");
    }
    let writes = start.forecast.max_written_bytes.map_or_else(
        || "writes an unknown number of bytes".to_owned(),
        |bytes| {
            format!(
                "writes up to {}",
                describe_written_bytes(bytes, &start.target)
            )
        },
    );
    let time = start.forecast.run_time.describe();
    lines.push(format!("{writes}, takes {time}"));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

/// That the free space of something below the target is unknown, if it is.
fn space_notice(start: &RunStart) -> Option<String> {
    let unknown = start.unknown_space.as_ref()?;
    Some(format!(
        "not checked, because it is unknown: the free space of {unknown}"
    ))
}

impl ProgressLine {
    /// Shows an event.
    pub(in crate::cli) fn show_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Forecast {
                benchmark,
                forecast,
            } => self.print_forecast(benchmark, forecast),
            RunEvent::ScratchFill {
                written_bytes,
                total_bytes,
            } => self.draw_scratch_fill(*written_bytes, *total_bytes),
            RunEvent::Started(start) => self.print_start(start),
            RunEvent::Progress(progress) => self.draw_progress(progress),
            RunEvent::PhaseFinished(_) => {}
            RunEvent::Ended => self.clear_line(),
        }
    }

    fn print_forecast(&self, benchmark: &str, forecast: &Forecast) {
        if self.prints_forecast(forecast) {
            let time = forecast.run_time.describe();
            self.print_line(&format!("{benchmark}: {}; takes {time}", forecast.sentence));
        }
    }

    fn draw_scratch_fill(&mut self, written_bytes: u64, total_bytes: u64) {
        let fraction = written_bytes as f64 / total_bytes.max(1) as f64;
        self.draw_line(&format!(
            "{}  filling the scratch file, {}",
            progress_bar(fraction),
            units::format_size(total_bytes)
        ));
    }

    fn print_start(&mut self, start: &RunStart) {
        self.clear_line();
        if let Some(inspection) = &start.overwritten_target {
            overwrite_notice(inspection, start)
                .iter()
                .for_each(|line| self.print_line(line));
        }
        if let Some(notice) = space_notice(start) {
            self.print_line(&notice);
        }
        if self.prints_forecast(&start.forecast)
            && let Some(reason) = &start.engine.reason
        {
            self.print_line(&format!("engine {}: {reason}", start.engine.name));
        }
    }

    fn draw_progress(&mut self, progress: &RunProgress) {
        let bar = progress.fraction.map_or_else(String::new, progress_bar);
        let left = progress.remaining_time().map_or_else(String::new, |left| {
            format!("  {} left", units::format_wait(left))
        });
        self.draw_line(&format!(
            "{bar}  {}  {}{left}",
            progress.phase,
            phase_rates(&progress.snapshot)
        ));
    }
}
