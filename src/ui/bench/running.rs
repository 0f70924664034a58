//! A benchmark that runs.
//!
//! ```text
//!  random-read   /srv   4 KiB   depth 32
//!  ██████████████████░░░░░░░   72 %   7.2 s   2.8 s left
//!  IOPS over the run
//!  Response times                          Kernel's own view
//!  ! generator-busy: the thread that sent the requests used 93 % of a processor
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{chart, distribution, kernel, meaning_of, verdicts};
use crate::app::RunView;
use crate::app::running::RunningState;
use crate::bench::{Chart, Progress, Shape, common};
use crate::session::document::{Axis, Findings, Series, Unit};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::bar::bar;
use crate::ui::widgets::text::{cut_end, grouped};
use crate::units;

/// From this height on verdicts have more than a line.
const ROOMY: u16 = 26;

/// What is drawn while a test has no curve of its own yet.
static OVER_TIME: Chart = Chart::new(
    "Throughput over time",
    Shape::Line,
    &["throughput-over-time"],
);

/// Draws it.
pub(in crate::ui) fn draw(running: &RunningState, look: Look, area: Rect, buf: &mut Buffer) {
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
    let Some(view) = &running.view else {
        Line::styled("opening the target", look.style(Meaning::Faint)).render(progress, buf);
        return;
    };
    if let Some((done, total)) = view.preparing {
        draw_preparing(done, total, look, progress, body, buf);
        return;
    }
    draw_progress(running, &view.progress, look, progress, buf);
    draw_body(running, view, look, body, buf);
}

fn draw_title(running: &RunningState, look: Look, area: Rect, buf: &mut Buffer) {
    let description = running.job.test.description();
    let mut line = Line::from(vec![
        Span::styled(description.name, look.style(Meaning::Title)),
        Span::raw("   "),
        Span::raw(running.job.target.clone()),
    ]);
    let set: Vec<_> = running
        .job
        .set
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let rest = area.width.saturating_sub(line.width() as u16 + 3);
    let settings = cut_end(&set.join("   "), rest, look);
    line.push_span(Span::styled(
        format!("   {settings}"),
        look.style(Meaning::Faint),
    ));
    line.render(area, buf);
}

fn draw_preparing(done: u64, total: u64, look: Look, row: Rect, body: Rect, buf: &mut Buffer) {
    let share = if total == 0 {
        0.0
    } else {
        done as f64 / total as f64
    };
    let wide = row.width.saturating_sub(42);
    let mut line = Line::from(bar(share, wide, Meaning::Write, look).to_vec());
    line.push_span(format!(
        "   filling the scratch file: {} of {}",
        units::capacity(done as f64),
        units::size(total)
    ));
    line.render(row, buf);
    let why = "Random bytes are really written first: reads of blocks that were never written \
               would not reach the drive. The file has no name and is gone with the program.";
    let lines = crate::ui::widgets::text::wrapped(why, body.width.min(90));
    for (row, line) in body.rows().zip(lines) {
        Line::styled(line, look.style(Meaning::Faint)).render(row, buf);
    }
}

fn draw_progress(
    running: &RunningState,
    progress: &Progress,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let left = match (running.stopping, progress.left()) {
        (true, _) => "stopping".to_owned(),
        (false, Some(left)) => format!("{} left", units::waiting(left)),
        (false, None) => "time left unknown".to_owned(),
    };
    let percent = progress.fraction.map_or_else(
        || " n/a".to_owned(),
        |share| format!("{:3.0} %", share * 100.0),
    );
    let text = format!(
        "  {percent}   {}   {left}   {}",
        units::waiting(progress.elapsed),
        progress.phase
    );
    let wide = area.width.saturating_sub(52).max(10);
    let share = progress.fraction.unwrap_or(0.0);
    let mut line = Line::from(bar(share, wide, Meaning::Good, look).to_vec());
    line.push_span(cut_end(&text, area.width.saturating_sub(wide), look));
    line.render(area, buf);
}

fn draw_body(running: &RunningState, view: &RunView, look: Look, area: Rect, buf: &mut Buffer) {
    let lower = (area.height * 2 / 5).clamp(8, 14);
    let brief = if area.height < ROOMY { 1 } else { 4 };
    let [top, _, bottom, _, foot] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(lower),
        Constraint::Length(1),
        Constraint::Length(brief),
    ])
    .areas(area);
    verdicts::draw_brief(&view.progress.findings, look, foot, buf);
    draw_curve(running, view, look, top, buf);
    let [left, _, right] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(3),
        Constraint::Length(32.min(area.width * 2 / 5)),
    ])
    .areas(bottom);
    let tally = &view.progress.snapshot.tally;
    let directions = [
        (&tally.read.latency, Meaning::Read),
        (&tally.write.latency, Meaning::Write),
    ];
    let (latency, meaning) = if tally.write.latency.count() > tally.read.latency.count() {
        directions[1]
    } else {
        directions[0]
    };
    match common::summary(latency) {
        Some(summary) => distribution::draw(&summary, meaning, look, left, buf),
        None => {
            Line::styled("no request completed yet", look.style(Meaning::Faint)).render(left, buf)
        }
    }
    let elapsed = u64::try_from(view.progress.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let said = kernel::Said {
        counts: view.kernel.as_ref(),
        stages: view.stages.as_ref(),
        elapsed_ns: elapsed,
        ours: None,
    };
    kernel::draw(said, look, right, buf);
}

/// The test's own chart once it has two points, until then what moves in this phase.
fn draw_curve(running: &RunningState, view: &RunView, look: Look, area: Rect, buf: &mut Buffer) {
    let description = running.job.test.description();
    let findings = &view.progress.findings;
    let drawable = |chart: &&Chart| {
        let series = chart.series.iter().filter_map(|name| findings.series(name));
        series
            .max_by_key(|series| series.points.len())
            .is_some_and(|series| series.points.len() > 1)
    };
    let meaning = meaning_of(running.job.test);
    let now = now(view);
    let heading = Rect {
        height: area.height.min(1),
        ..area
    };
    // A curve over time is drawn from the present phase: its findings are up to a second old.
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
            let present = present_phase(view);
            let reach = reach(view);
            chart::draw(
                chart.unwrap_or(&OVER_TIME),
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

/// The rates over time of the present phase, as series.
fn present_phase(view: &RunView) -> Findings {
    let snapshot = &view.progress.snapshot;
    let mut timeline = snapshot.tally.read.timeline.clone();
    timeline.merge(&snapshot.tally.write.timeline);
    let elapsed = u64::try_from(snapshot.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates(elapsed);
    let series = |name: &str, unit, column: usize| Series {
        name: name.into(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("rate", unit),
        points: rates
            .iter()
            .map(|rate| [rate[0] * 1e9, rate[column]])
            .collect(),
        intervals: Vec::new(),
    };
    Findings {
        series: vec![
            series("iops-over-time", Unit::PerSecond, 1),
            series("throughput-over-time", Unit::BytesPerSecond, 2),
        ],
        ..Findings::default()
    }
}

/// The axis of time: from 0 to where the phase will end.
fn reach(view: &RunView) -> Option<[f64; 2]> {
    let snapshot = &view.progress.snapshot;
    let elapsed = snapshot.elapsed.as_secs_f64() * 1e9;
    let end = match snapshot.fraction {
        Some(fraction) if fraction > 0.02 => elapsed / fraction,
        _ => elapsed.max(1e9),
    };
    Some([0.0, end])
}

/// Rates of the present phase until now.
fn now(view: &RunView) -> String {
    let snapshot = &view.progress.snapshot;
    let seconds = snapshot.elapsed.as_secs_f64();
    if snapshot.ramping {
        return "ramp: not counted yet".to_owned();
    }
    if seconds <= 0.0 {
        return String::new();
    }
    let iops = snapshot.tally.requests() as f64 / seconds;
    let throughput = snapshot.tally.bytes() as f64 / seconds;
    format!("{} IOPS   {}", grouped(iops), units::throughput(throughput))
}
