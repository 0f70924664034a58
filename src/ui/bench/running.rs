//! A running benchmark.
//!
//! ```text
//!  random-read   /srv   4 KiB   depth 32
//!  ██████████████████░░░░░░░   72 %   7.2 s   2.8 s left
//!  IOPS over the run
//!  Response times                          Block layer
//!  ! generator-busy: the thread that sent the requests used 93 % of a processor
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{chart, distribution, kernel, role_of, verdicts};
use crate::app::RunSnapshot;
use crate::app::running::RunningState;
use crate::bench::{ChartShape, ChartSpec, RunProgress, framework};
use crate::session::document::{ChartAxis, Findings, MetricUnit, Series};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::bar::bar;
use crate::ui::widgets::text::{cut_end, grouped_thousands};
use crate::units;

/// Minimum height for more than one line of checks.
const CHECKS_MIN_HEIGHT: u16 = 26;

/// The chart of a benchmark that has no curve of its own yet.
static THROUGHPUT_CHART: ChartSpec = ChartSpec::new(
    "Throughput over time",
    ChartShape::Line,
    &["throughput-over-time"],
);

/// Draws the running benchmark.
pub(in crate::ui) fn draw(running: &RunningState, look: Theme, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    let [title, progress, _, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_title(running, look, title, buf);
    let Some(view) = &running.snapshot else {
        Line::styled("opening the target", look.role_style(StyleRole::Faint)).render(progress, buf);
        return;
    };
    if let Some((done, total)) = view.scratch_fill {
        draw_scratch_fill(done, total, look, progress, body, buf);
        return;
    }
    draw_progress(running, &view.progress, look, progress, buf);
    draw_body(running, view, look, body, buf);
}

fn draw_title(running: &RunningState, look: Theme, area: Rect, buf: &mut Buffer) {
    let description = running.spec.benchmark.description();
    let mut line = Line::from(vec![
        Span::styled(description.name, look.role_style(StyleRole::Title)),
        Span::raw("   "),
        Span::raw(running.spec.target_name.clone()),
    ]);
    let set: Vec<_> = running
        .spec
        .set
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let rest = area.width.saturating_sub(line.width() as u16 + 3);
    let settings = cut_end(&set.join("   "), rest, look);
    line.push_span(Span::styled(
        format!("   {settings}"),
        look.role_style(StyleRole::Faint),
    ));
    line.render(area, buf);
}

fn draw_scratch_fill(done: u64, total: u64, look: Theme, row: Rect, body: Rect, buf: &mut Buffer) {
    let share = if total == 0 {
        0.0
    } else {
        done as f64 / total as f64
    };
    let wide = row.width.saturating_sub(42);
    let mut line = Line::from(bar(share, wide, StyleRole::Write, look).to_vec());
    line.push_span(format!(
        "   filling the scratch file: {} of {}",
        units::format_capacity(done as f64),
        units::format_size(total)
    ));
    line.render(row, buf);
    let why = "Random bytes are really written first: reads of blocks that were never written \
               would not reach the drive. The file has no name and is gone with the program.";
    let lines = crate::ui::widgets::text::wrap_text(why, body.width.min(90));
    for (row, line) in body.rows().zip(lines) {
        Line::styled(line, look.role_style(StyleRole::Faint)).render(row, buf);
    }
}

fn draw_progress(
    running: &RunningState,
    progress: &RunProgress,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let left = match (running.is_stopping, progress.remaining_time()) {
        (true, _) => "stopping".to_owned(),
        (false, Some(left)) => format!("{} left", units::format_wait(left)),
        (false, None) => "time left unknown".to_owned(),
    };
    let percent = progress.fraction.map_or_else(
        || " n/a".to_owned(),
        |share| format!("{:3.0} %", share * 100.0),
    );
    let text = format!(
        "  {percent}   {}   {left}   {}",
        units::format_wait(progress.elapsed),
        progress.phase
    );
    let wide = area.width.saturating_sub(52).max(10);
    let share = progress.fraction.unwrap_or(0.0);
    let mut line = Line::from(bar(share, wide, StyleRole::Success, look).to_vec());
    line.push_span(cut_end(&text, area.width.saturating_sub(wide), look));
    line.render(area, buf);
}

fn draw_body(
    running: &RunningState,
    view: &RunSnapshot,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let lower = (area.height * 2 / 5).clamp(8, 14);
    let brief = if area.height < CHECKS_MIN_HEIGHT {
        1
    } else {
        4
    };
    let [top, _, bottom, _, foot] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(lower),
        Constraint::Length(1),
        Constraint::Length(brief),
    ])
    .areas(area);
    verdicts::draw_brief(&view.progress.findings, look, foot, buf);
    draw_chart(running, view, look, top, buf);
    let [left, _, right] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(3),
        Constraint::Length(32.min(area.width * 2 / 5)),
    ])
    .areas(bottom);
    let tally = &view.progress.snapshot.stats;
    let directions = [
        (&tally.read.latency, StyleRole::Read),
        (&tally.write.latency, StyleRole::Write),
    ];
    let (latency, meaning) = if tally.write.latency.count() > tally.read.latency.count() {
        directions[1]
    } else {
        directions[0]
    };
    match framework::latency_summary(latency) {
        Some(summary) => distribution::draw(&summary, meaning, look, left, buf),
        None => Line::styled(
            "no request completed yet",
            look.role_style(StyleRole::Faint),
        )
        .render(left, buf),
    }
    let elapsed = u64::try_from(view.progress.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let said = kernel::KernelPanel {
        counts: view.kernel_counts.as_ref(),
        stages: view.stages.as_ref(),
        elapsed_ns: elapsed,
        benchmark_requests: None,
    };
    kernel::draw(said, look, right, buf);
}

/// The benchmark's own chart once it has two points, until then the throughput of this phase.
fn draw_chart(
    running: &RunningState,
    view: &RunSnapshot,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let description = running.spec.benchmark.description();
    let findings = &view.progress.findings;
    let drawable = |chart: &&ChartSpec| {
        let series = chart.series.iter().filter_map(|name| findings.series(name));
        series
            .max_by_key(|series| series.points.len())
            .is_some_and(|series| series.points.len() > 1)
    };
    let meaning = role_of(running.spec.benchmark);
    let now = current_rates(view);
    let heading = Rect {
        height: area.height.min(1),
        ..area
    };
    // A curve over time is drawn from the current phase: its findings are up to a second old.
    let own = description
        .charts
        .iter()
        .find(drawable)
        .filter(|chart| !chart.series.iter().any(|name| name.ends_with("-over-time")));
    match own {
        Some(chart) => chart::draw(chart, findings, meaning, None, look, area, buf),
        None => {
            let chart = description
                .charts
                .first()
                .filter(|chart| chart.series.iter().any(|name| name.ends_with("-over-time")));
            let present = current_phase_series(view);
            let reach = time_axis_bounds(view);
            chart::draw(
                chart.unwrap_or(&THROUGHPUT_CHART),
                &present,
                meaning,
                reach,
                look,
                area,
                buf,
            );
        }
    }
    Line::raw(now).right_aligned().render(heading, buf);
}

/// The rates of the current phase over time, as series.
fn current_phase_series(view: &RunSnapshot) -> Findings {
    let snapshot = &view.progress.snapshot;
    let timeline = snapshot.stats.counts_over_time();
    let elapsed = u64::try_from(snapshot.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates_over_time(elapsed);
    let series = |name: &str, unit, column: usize| Series {
        name: name.into(),
        x: ChartAxis::new("time", MetricUnit::Nanoseconds),
        y: ChartAxis::new("rate", unit),
        points: rates
            .iter()
            .map(|rate| [rate[0] * 1e9, rate[column]])
            .collect(),
        intervals: Vec::new(),
    };
    Findings {
        series: vec![
            series("iops-over-time", MetricUnit::PerSecond, 1),
            series("throughput-over-time", MetricUnit::BytesPerSecond, 2),
        ],
        ..Findings::default()
    }
}

/// The time axis: from 0 to the end of the phase.
fn time_axis_bounds(view: &RunSnapshot) -> Option<[f64; 2]> {
    let snapshot = &view.progress.snapshot;
    let elapsed = snapshot.elapsed.as_secs_f64() * 1e9;
    let end = match snapshot.completed_fraction {
        Some(fraction) if fraction > 0.02 => elapsed / fraction,
        _ => elapsed.max(1e9),
    };
    Some([0.0, end])
}

/// The current rates of the phase.
fn current_rates(view: &RunSnapshot) -> String {
    let snapshot = &view.progress.snapshot;
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.in_ramp_time {
        return "ramp: not counted yet".to_owned();
    }
    if seconds <= 0.0 {
        return String::new();
    }
    let iops = snapshot.stats.requests() as f64 / seconds;
    let throughput = snapshot.stats.bytes() as f64 / seconds;
    format!(
        "{} IOPS   {}",
        grouped_thousands(iops),
        units::format_throughput(throughput)
    )
}
