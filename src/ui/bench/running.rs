//! A running benchmark.
//!
//! ```text
//!  random-read   /srv   4 KiB   depth 32
//!  ██████████████████░░░░░░░   72 %   7.2 s   2.8 s left
//!  ! generator-busy: the thread that sent the requests used 93 % of a processor
//!  ▄▄▄▄ k IOPS      ▄▄▄ us p99      ▄▄▄ MB/s
//!  IOPS over the run
//!  Latency                                 Block layer
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::running::RunningState;
use crate::bench::{ChartShape, ChartSpec, RunEvent, RunProgress, framework};
use crate::session::document::{
    AxisQuantity, Findings, LatencySummary, Metric, MetricId, Series, SeriesId, SeriesKind,
};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::text::{cut_end, grouped_thousands};
use crate::ui::bench::{chart, checks, distribution, headline, kernel, role_of};
use crate::units;

/// Minimum height for gaps and for more than one line of checks.
const CHECKS_MIN_HEIGHT: u16 = 26;
/// Maximum height of the chart: more rows would show nothing more.
const MAX_CHART_ROWS: u16 = 14;

/// The chart of a benchmark that has no curve of its own yet.
static THROUGHPUT_CHART: ChartSpec = ChartSpec::new(
    "Throughput over time",
    ChartShape::Line,
    &[SeriesId::THROUGHPUT_OVER_TIME],
);

/// Draws the running benchmark.
pub fn draw(running: &RunningState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    let [title, progress, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_title(running, theme, title, buf);
    let mut draw_state = |state: &RunProgress| {
        draw_progress(running, state, theme, progress, buf);
        draw_body(running, state, theme, body, buf);
    };
    match running.latest_event.as_deref() {
        Some(RunEvent::Progress(state)) => draw_state(state),
        Some(RunEvent::Started(_)) => draw_state(&RunProgress::default()),
        Some(RunEvent::ScratchFill {
            written_bytes,
            total_bytes,
        }) => draw_scratch_fill(*written_bytes, *total_bytes, theme, progress, body, buf),
        None | Some(RunEvent::Forecast { .. } | RunEvent::PhaseFinished(_) | RunEvent::Ended) => {
            Line::styled("opening the target", theme.role_style(StyleRole::Faint))
                .render(progress, buf);
        }
    }
}

fn draw_title(running: &RunningState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let description = running.spec.benchmark.description();
    let mut line = Line::from(vec![
        Span::styled(description.name, theme.role_style(StyleRole::Title)),
        Span::raw("   "),
        Span::raw(running.spec.target().name.clone()),
    ]);
    let set: Vec<_> = running
        .spec
        .set
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let rest = area.width.saturating_sub(line.width() as u16 + 3);
    let settings = cut_end(&set.join("   "), rest, theme);
    line.push_span(Span::styled(
        format!("   {settings}"),
        theme.role_style(StyleRole::Faint),
    ));
    line.render(area, buf);
}

fn draw_scratch_fill(done: u64, total: u64, theme: Theme, row: Rect, body: Rect, buf: &mut Buffer) {
    let share = if total == 0 {
        0.0
    } else {
        done as f64 / total as f64
    };
    let bar_width = row.width.saturating_sub(48);
    let mut line = Line::from(bar(share, bar_width, StyleRole::Write, theme).to_vec());
    line.push_span(format!(
        "   filling the scratch file: {} of {}",
        units::format_capacity(done as f64),
        units::format_size(total)
    ));
    line.render(row, buf);
    let why = "The file is filled with random data first: reads of unwritten blocks would not \
               reach the drive. It has no name, and its space is freed when diskscope exits.";
    let lines = crate::tui::widgets::text::wrap_text(why, body.width.min(90));
    for (row, line) in body.rows().zip(lines) {
        Line::styled(line, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

fn draw_progress(
    running: &RunningState,
    progress: &RunProgress,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let left = match (running.is_stopping, progress.remaining_time()) {
        (true, _) => "stopping".to_owned(),
        (false, Some(left)) => format!("{} left", units::format_wait(left)),
        (false, None) => "ETA unknown".to_owned(),
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
    let bar_width = area.width.saturating_sub(52).max(10);
    let share = progress.fraction.unwrap_or(0.0);
    let mut line = Line::from(bar(share, bar_width, StyleRole::Success, theme).to_vec());
    line.push_span(cut_end(&text, area.width.saturating_sub(bar_width), theme));
    line.render(area, buf);
}

fn draw_body(
    running: &RunningState,
    state: &RunProgress,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let is_low = area.height < CHECKS_MIN_HEIGHT;
    let gap = u16::from(!is_low);
    let lower = (area.height * 2 / 5).clamp(7, 14);
    let brief = if is_low { 1 } else { 4 };
    let head = headline::height(theme);
    let room = area
        .height
        .saturating_sub(brief + head + lower + gap * 2 + 1);
    let [problems, _, numbers, _, top, _, bottom] = Layout::vertical([
        Constraint::Length(brief),
        Constraint::Length(gap),
        Constraint::Length(head),
        Constraint::Length(gap),
        Constraint::Length(room.min(MAX_CHART_ROWS)),
        Constraint::Length(1),
        Constraint::Length(lower),
    ])
    .areas(area);
    checks::draw_brief(&state.findings, theme, problems, buf);
    draw_chart(running, state, theme, top, buf);
    let stats = &state.snapshot.stats;
    let directions = [
        (&stats.read.latency, StyleRole::Read),
        (&stats.write.latency, StyleRole::Write),
    ];
    let (latency, role) = if stats.write.latency.count() > stats.read.latency.count() {
        directions[1]
    } else {
        directions[0]
    };
    let summary = framework::latency_summary(latency);
    let metrics = current_metrics(state, summary.as_ref());
    let metrics: Vec<&Metric> = metrics.iter().collect();
    headline::draw(&metrics, role, theme, numbers, buf);
    let [left, _, right] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(3),
        Constraint::Length(32.min(area.width * 2 / 5)),
    ])
    .areas(bottom);
    match summary {
        Some(summary) => distribution::draw(&summary, role, theme, left, buf),
        None => Line::styled(
            "no request completed yet",
            theme.role_style(StyleRole::Faint),
        )
        .render(left, buf),
    }
    let elapsed = u64::try_from(state.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let panel = kernel::KernelPanel {
        counts: state.kernel_counts.as_ref(),
        stages: state.stages.as_ref(),
        elapsed_ns: elapsed,
        benchmark_requests: None,
    };
    kernel::draw(panel, theme, right, buf);
}

/// The benchmark's own chart once it has two points, until then the throughput of this phase.
fn draw_chart(
    running: &RunningState,
    state: &RunProgress,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let description = running.spec.benchmark.description();
    let findings = &state.findings;
    let drawable = |chart: &&ChartSpec| {
        let series = chart.series.iter().filter_map(|id| findings.series(id));
        series
            .max_by_key(|series| series.points.len())
            .is_some_and(|series| series.points.len() > 1)
    };
    let role = role_of(running.spec.benchmark);
    let now = current_rates(state);
    let heading = Rect {
        height: area.height.min(1),
        ..area
    };
    // A curve over time is drawn from the current phase: its findings are up to a second old.
    let own = description
        .charts
        .iter()
        .find(drawable)
        .filter(|chart| !is_over_time(chart));
    match own {
        Some(chart) => chart::draw(chart, findings, role, None, theme, area, buf),
        None => {
            let chart = description
                .charts
                .first()
                .filter(|chart| is_over_time(chart));
            let present = current_phase_series(state);
            let reach = time_axis_bounds(state);
            chart::draw(
                chart.unwrap_or(&THROUGHPUT_CHART),
                &present,
                role,
                reach,
                theme,
                area,
                buf,
            );
        }
    }
    Line::raw(now).right_aligned().render(heading, buf);
}

/// Whether the chart shows rates over the time of a phase.
fn is_over_time(chart: &ChartSpec) -> bool {
    let mut kinds = chart.series.iter().filter_map(SeriesId::kind);
    kinds.any(|kind| kind.axes()[0] == AxisQuantity::Time)
}

/// The rates of the current phase over time, as series.
fn current_phase_series(state: &RunProgress) -> Findings {
    let snapshot = &state.snapshot;
    let timeline = snapshot.stats.counts_over_time();
    let elapsed = u64::try_from(snapshot.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates_over_time(elapsed);
    let series = |kind, column: usize| {
        let points = rates.iter().map(|rate| [rate[0] * 1e9, rate[column]]);
        Series::new(kind, points.collect())
    };
    Findings {
        series: vec![
            series(SeriesKind::IopsOverTime, 1),
            series(SeriesKind::ThroughputOverTime, 2),
        ],
        ..Findings::default()
    }
}

/// The time axis: from 0 to the end of the phase.
fn time_axis_bounds(state: &RunProgress) -> Option<[f64; 2]> {
    let snapshot = &state.snapshot;
    let elapsed = snapshot.elapsed.as_secs_f64() * 1e9;
    let end = match snapshot.completed_fraction {
        Some(fraction) if fraction > 0.02 => elapsed / fraction,
        _ => elapsed.max(1e9),
    };
    Some([0.0, end])
}

/// The metrics of the phase so far: rate of requests, the 99th percentile beside it, throughput;
/// none during ramp_time.
fn current_metrics(state: &RunProgress, latency: Option<&LatencySummary>) -> Vec<Metric> {
    let snapshot = &state.snapshot;
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.in_ramp_time || seconds <= 0.0 {
        return Vec::new();
    }
    let mut metrics = vec![Metric::new(
        MetricId::IOPS,
        snapshot.stats.requests() as f64 / seconds,
    )];
    let tail = latency.and_then(|latency| latency.percentiles.get("99"));
    metrics.extend(tail.map(|value| Metric::new(MetricId::LATENCY_P99, *value as f64)));
    let throughput = snapshot.stats.bytes() as f64 / seconds;
    metrics.push(Metric::new(MetricId::THROUGHPUT, throughput));
    metrics
}

/// The current rates of the phase.
fn current_rates(state: &RunProgress) -> String {
    let snapshot = &state.snapshot;
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.in_ramp_time {
        return "ramp_time: not measured yet".to_owned();
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
