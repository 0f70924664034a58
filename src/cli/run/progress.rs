//! The progress line on stderr, if stderr is a terminal.

use std::io::{self, IsTerminal};

use crate::bench::framework::describe_written_bytes;
use crate::bench::{Forecast, RunEvent, RunProgress, RunStart};
use crate::cli::output::print_status_line;
use crate::drive::Inspection;
use crate::files::printable::printable_str;
use crate::report::inspection;
use crate::tui::terminal_kind::terminal_text;
use crate::tui::terminal_output::TerminalOutput;
use crate::units;

/// Width of the bar in characters.
const BAR_WIDTH: usize = 24;

/// A line that is overwritten in place; prints nothing if stderr is not a terminal.
pub(in crate::cli) struct ProgressLine {
    /// The terminal; `None` if stderr is none, or there is no thread for it. A progress line that a slow
    /// terminal does not take in time is dropped: the measuring thread must not wait for it.
    terminal: Option<TerminalOutput>,
    width: usize,
}

impl ProgressLine {
    pub(in crate::cli) fn new() -> Self {
        let stderr = io::stderr();
        let terminal = stderr.is_terminal().then(|| TerminalOutput::start(&stderr));
        Self {
            terminal: terminal.and_then(Result::ok),
            width: 0,
        }
    }

    /// Shows an event.
    pub(in crate::cli) fn show_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Forecast {
                benchmark,
                forecast,
            } if self.prints_forecast(forecast) => {
                let time = forecast.run_time.describe();
                self.print_line(&format!("{benchmark}: {}; takes {time}", forecast.sentence));
            }
            RunEvent::ScratchFill {
                written_bytes,
                total_bytes,
            } => {
                let bar = progress_bar(*written_bytes as f64 / (*total_bytes).max(1) as f64);
                let size = units::format_size(*total_bytes);
                self.draw_line(&format!("{bar}  filling the scratch file, {size}"));
            }
            RunEvent::Started(start) => self.print_start(start),
            RunEvent::Progress(progress) => self.draw_line(&progress_text(progress)),
            RunEvent::Ended => self.clear_line(),
            RunEvent::Forecast { .. } | RunEvent::PhaseFinished(_) => {}
        }
    }

    fn print_start(&mut self, start: &RunStart) {
        self.clear_line();
        if let Some(inspection) = &start.overwritten_target {
            for line in overwrite_notice(inspection, start) {
                self.print_line(&line);
            }
        }
        if let Some(unknown) = &start.unknown_space {
            let notice = "not checked, because it is unknown: the free space of";
            self.print_line(&format!("{notice} {unknown}"));
        }
        if self.prints_forecast(&start.forecast)
            && let Some(reason) = &start.engine.reason
        {
            self.print_line(&format!("engine {}: {reason}", start.engine.name));
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

    /// Clears the line, so that other text can follow.
    fn clear_line(&mut self) {
        if let Some(terminal) = &self.terminal {
            let blanks = " ".repeat(self.width);
            terminal.write_last(format!("\r{blanks}\r").as_bytes());
            self.width = 0;
        }
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

    /// Whether the forecast is printed: if the run writes, also to a stderr that is not a terminal.
    fn prints_forecast(&self, forecast: &Forecast) -> bool {
        self.terminal.is_some() || forecast.max_written_bytes.is_some()
    }
}

fn progress_bar(fraction: f64) -> String {
    let full = (fraction.clamp(0.0, 1.0) * BAR_WIDTH as f64).round() as usize;
    let (bar, rest) = ("#".repeat(full), "-".repeat(BAR_WIDTH - full));
    format!("[{bar}{rest}] {:>3.0} %", fraction * 100.0)
}

/// The phase with its rate and the time that is left.
fn progress_text(progress: &RunProgress) -> String {
    let bar = progress.fraction.map_or_else(String::new, progress_bar);
    let snapshot = &progress.snapshot;
    let seconds = snapshot.elapsed.as_secs_f64();
    let rates = if snapshot.in_ramp_time || seconds <= 0.0 {
        "ramp".to_owned()
    } else {
        let requests = units::format_count(snapshot.stats.requests() as f64 / seconds);
        let bytes = units::format_throughput(snapshot.stats.bytes() as f64 / seconds);
        format!("{requests} IOPS  {bytes}")
    };
    let left = progress.remaining_time().map(units::format_wait);
    let left = left.map_or_else(String::new, |left| format!("  {left} left"));
    format!("{bar}  {}  {rates}{left}", progress.phase)
}

/// What the run will overwrite, how much of it, and for how long: the lines of one block.
fn overwrite_notice(inspection: &Inspection, start: &RunStart) -> Vec<String> {
    let mut lines = inspection::summary_lines(inspection);
    let writes = start.forecast.max_written_bytes.map_or_else(
        || "an unknown number of bytes".to_owned(),
        |bytes| format!("up to {}", describe_written_bytes(bytes, &start.target)),
    );
    let time = start.forecast.run_time.describe();
    lines.push(format!("writes {writes}, takes {time}"));
    for (index, line) in lines.iter_mut().enumerate() {
        line.insert_str(0, if index == 0 { "overwriting " } else { "  " });
    }
    lines
}
