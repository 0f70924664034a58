//! Draws the comparison of sessions.
//!
//! ```text
//!  random-read   block-size 4KiB, depth 32                          benchmark 1 of 2   chart 1 of 3
//!  A  20260203-140506-random-read   web-07   /dev/nvme0n1 Samsung PM9A3
//!  B  20260210-091500-random-read   web-07   /dev/nvme0n1 Samsung PM9A3
//!
//!  IOPS over the run   A   B
//!  ...
//!                        A          B    B/A      95 % CI
//!  IOPS           83.9k /s   91.2k /s  1.087  1.081-1.093  B better
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::bench;
use crate::report::words::session_letter;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::compare::{ChartOverlay, ComparedBenchmark, ComparedSession};
use crate::tui::screens::sessions::comparison::ComparisonState;
use crate::tui::screens::sessions::metrics;
use crate::tui::screens::sessions::metrics::session_role;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::plot::{PlotCurve, PlotWidget};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_end, wrap_text};

/// Minimum width for the metrics beside the chart.
const METRICS_BESIDE_MIN_WIDTH: u16 = 150;
/// Width of the metrics there.
const METRICS_WIDTH: u16 = 84;
/// Maximum number of listed sessions; further ones are counted.
const MAX_LISTED_SESSIONS: usize = 6;
/// Draws the comparison.
pub(super) fn draw(state: &ComparisonState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let sides = session_lines(state, theme, area.width);
    let [title, introduced, _, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(sides.len() as u16),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_title(state, theme, title, buf);
    for (row, line) in introduced.rows().zip(sides) {
        line.render(row, buf);
    }
    let (chart, details) = match state.selected_overlay() {
        None => (None, body),
        Some(overlay) if body.width >= METRICS_BESIDE_MIN_WIDTH => {
            let [details, _, chart] = Layout::horizontal([
                Constraint::Length(METRICS_WIDTH),
                Constraint::Length(3),
                Constraint::Min(0),
            ])
            .areas(body);
            (Some((overlay, chart)), details)
        }
        Some(overlay) => {
            let [chart, _, details] = Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(1),
                Constraint::Fill(1),
            ])
            .areas(body);
            (Some((overlay, chart)), details)
        }
    };
    if let (Some((overlay, area)), Some(benchmark)) = (chart, state.selected_benchmark()) {
        draw_overlay(overlay, benchmark, theme, area, buf);
    }
    state.viewport.clear_extent();
    let lines = detail_lines(state, theme, details.width);
    scrolled::draw(lines, &state.viewport, theme, details, buf);
}

fn draw_title(state: &ComparisonState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(benchmark) = state.selected_benchmark() else {
        let text = if state.differing_parameters().is_empty() {
            "these sessions have nothing in common to compare"
        } else {
            "the parameters differ: i ignores them and compares"
        };
        Line::styled(text, theme.role_style(StyleRole::Warning)).render(area, buf);
        return;
    };
    let counted = |word: &str, position: usize, of: usize| {
        let text = format!("   {word} {} of {of}", position + 1);
        if of > 1 { text } else { String::new() }
    };
    let counts = counted(
        "benchmark",
        state.benchmark_index,
        state.comparison.benchmarks.len(),
    ) + &counted("chart", state.chart_index, benchmark.charts.len());
    let room = usize::from(area.width).saturating_sub(benchmark.benchmark.len() + counts.len() + 3);
    let mut parameters = benchmark.parameters.join(", ");
    if !benchmark.differing.is_empty() {
        let parts: Vec<String> = benchmark
            .differing
            .iter()
            .map(|it| it.values_text())
            .collect();
        parameters = format!("ignored: {}   {parameters}", parts.join("; "));
    }
    Line::from(vec![
        Span::styled(
            benchmark.benchmark.clone(),
            theme.role_style(StyleRole::Title),
        ),
        Span::raw("   "),
        Span::styled(
            cut_end(&parameters, room as u16, theme),
            theme.role_style(StyleRole::Faint),
        ),
        Span::styled(counts, theme.role_style(StyleRole::Faint)),
    ])
    .render(area, buf);
}

/// A line for each session.
fn session_lines(state: &ComparisonState, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let all = &state.comparison.sessions;
    let line = |(index, side): (usize, &ComparedSession)| {
        let about = session_title(index, side, state.selected_benchmark());
        Line::from(vec![
            Span::styled(
                format!("{:3}", session_letter(index)),
                theme.role_style(session_role(index)),
            ),
            Span::raw(cut_end(&about, width.saturating_sub(3), theme)),
        ])
    };
    let shown = if all.len() > MAX_LISTED_SESSIONS {
        MAX_LISTED_SESSIONS - 1
    } else {
        all.len()
    };
    let mut lines: Vec<_> = all.iter().enumerate().take(shown).map(line).collect();
    if all.len() > shown {
        let more = format!("   and {} more", all.len() - shown);
        lines.push(Line::styled(more, theme.role_style(StyleRole::Faint)));
    }
    lines
}

/// Title of a session: its name, its host, and the target of the benchmark.
fn session_title(
    index: usize,
    side: &ComparedSession,
    benchmark: Option<&ComparedBenchmark>,
) -> String {
    let mut parts = vec![side.name.clone()];
    parts.extend(side.host.clone());
    let measured = benchmark.and_then(|benchmark| benchmark.targets.get(index)?.as_ref());
    match (measured, benchmark) {
        (Some(measured), _) => {
            parts.push(measured.target.clone());
            parts.extend(measured.model.clone());
            if measured.runs > 1 {
                parts.push(format!("{} runs", measured.runs).into());
            }
        }
        (None, Some(_)) => parts.push("no run of this benchmark".into()),
        (None, None) => {}
    }
    parts.join("   ")
}

/// The curves of all sessions on one axis, as the benchmark's description declares them.
fn draw_overlay(
    overlay: &ChartOverlay,
    benchmark: &ComparedBenchmark,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let fallback = ChartSpec::new("", ChartShape::Line, &[]);
    let known = bench::find_benchmark(&benchmark.benchmark)
        .map_or(&[][..], |benchmark| benchmark.description().charts);
    let described = known
        .iter()
        .find(|chart| chart.series.contains(&overlay.id));
    let style = described.unwrap_or(&fallback);
    // A heading for several curves is not specific enough for one.
    let title = match described {
        Some(chart) if chart.series.len() == 1 => chart.title.to_owned(),
        _ => overlay.title(),
    };
    let (heading, body) = split_heading(area);
    let mut line = Line::from(Span::styled(title, theme.role_style(StyleRole::Title)));
    for curve in &overlay.curves {
        let name = format!("   {}", session_letter(curve.session));
        line.push_span(Span::styled(
            name,
            theme.role_style(session_role(curve.session)),
        ));
    }
    line.render(heading, buf);
    let curves = overlay.curves.iter().map(|curve| PlotCurve {
        confidence_intervals: &[],
        points: &curve.points,
        role: session_role(curve.session),
        marker_letter: session_letter(curve.session).chars().next(),
    });
    let plot = PlotWidget {
        curves: curves.collect(),
        // Stacked parts cannot be compared with those of another session.
        shape: match style.shape {
            ChartShape::StackedBars => ChartShape::Bars,
            shape => shape,
        },
        x_axis: &overlay.x,
        y_axis: &overlay.y,
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        x_bounds: None,
        marks: Vec::new(),
        theme,
    };
    (&plot).render(body, buf);
}

/// Metrics, cautions, and what was not compared.
fn detail_lines(state: &ComparisonState, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(benchmark) = state.selected_benchmark() {
        lines.extend(metrics::lines(benchmark, state.pair(), theme, width));
        for reason in benchmark.not_determined_reasons() {
            let reason = wrap_text(&reason, width).into_iter();
            lines.extend(reason.map(|line| Line::styled(line, theme.role_style(StyleRole::Faint))));
        }
        lines.extend(caution_lines(benchmark, theme, width));
    }
    let mismatches = &state.comparison.mismatches;
    if !mismatches.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled(
            "Not compared",
            theme.role_style(StyleRole::Title),
        ));
    }
    for mismatch in mismatches {
        let sentence = wrap_text(&mismatch.sentence(), width).into_iter();
        lines.extend(sentence.map(|line| Line::styled(line, theme.role_style(StyleRole::Faint))));
    }
    lines
}

/// Checks that limit the validity of the sessions' metrics.
fn caution_lines(benchmark: &ComparedBenchmark, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let sides = benchmark.targets.iter().enumerate();
    let all = sides.filter_map(|(side, measured)| Some((side, measured.as_ref()?)));
    let mut lines = Vec::new();
    for (side, measured) in all {
        for caution in &measured.cautions {
            if lines.is_empty() {
                lines.push(Line::default());
            }
            let text = format!(
                "{}  {}: {}",
                session_letter(side),
                caution.code,
                caution.evidence
            );
            let style = theme.role_style(caution.severity.into());
            let text = wrap_text(&text, width).into_iter();
            lines.extend(text.map(|line| Line::styled(line, style)));
        }
    }
    lines
}
