//! The comparison of sessions.
//!
//! ```text
//!  random-read   block-size 4KiB, depth 32                          test 1 of 2   chart 1 of 3
//!  A  20260203-140506-random-read   web-07   /dev/nvme0n1 Samsung PM9A3
//!  B  20260210-091500-random-read   web-07   /dev/nvme0n1 Samsung PM9A3
//!
//!  IOPS over the run   A   B
//!  ...
//!                        A          B    B/A      95 % CI
//!  IOPS           83.9k /s   91.2k /s  1.087  1.081-1.093  faster
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::figures;
use crate::app::comparison::ComparisonState;
use crate::bench;
use crate::report::compare::words::session_letter;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::compare::{ChartOverlay, ComparedBenchmark, ComparedSession};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::areas::split_heading;
use crate::ui::widgets::plot::{PlotCurve, PlotWidget};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::{cut_end, wrap_text};

/// Minimum width for the metrics beside the chart.
const METRICS_BESIDE_MIN_WIDTH: u16 = 150;
/// Width of the metrics there.
const METRICS_WIDTH: u16 = 84;
/// Maximum number of listed sessions; further ones are counted.
const MAX_LISTED_SESSIONS: usize = 6;
/// Roles of the sessions' curves; further sessions repeat them.
const SESSION_ROLES: [StyleRole; 5] = [
    StyleRole::Plain,
    StyleRole::Read,
    StyleRole::Write,
    StyleRole::Warning,
    StyleRole::Success,
];

/// The role of a session.
pub(super) fn session_role(side: usize) -> StyleRole {
    SESSION_ROLES[side % SESSION_ROLES.len()]
}

/// Draws the comparison.
pub(super) fn draw(state: &ComparisonState, look: Theme, area: Rect, buf: &mut Buffer) {
    let sides = session_lines(state, look, area.width);
    let [title, introduced, _, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(sides.len() as u16),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_title(state, look, title, buf);
    for (row, line) in introduced.rows().zip(sides) {
        line.render(row, buf);
    }
    let (chart, figures) = match state.selected_overlay() {
        None => (None, body),
        Some(overlay) if body.width >= METRICS_BESIDE_MIN_WIDTH => {
            let [figures, _, chart] = Layout::horizontal([
                Constraint::Length(METRICS_WIDTH),
                Constraint::Length(3),
                Constraint::Min(0),
            ])
            .areas(body);
            (Some((overlay, chart)), figures)
        }
        Some(overlay) => {
            let [chart, _, figures] = Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(1),
                Constraint::Fill(1),
            ])
            .areas(body);
            (Some((overlay, chart)), figures)
        }
    };
    if let (Some((overlay, area)), Some(test)) = (chart, state.selected_benchmark()) {
        draw_overlay(overlay, test, look, area, buf);
    }
    state.viewport.clear_extent();
    let lines = detail_lines(state, look, figures.width);
    scrolled::draw(lines, &state.viewport, look, figures, buf);
}

fn draw_title(state: &ComparisonState, look: Theme, area: Rect, buf: &mut Buffer) {
    let Some(test) = state.selected_benchmark() else {
        let text = "nothing in these sessions can be compared";
        Line::styled(text, look.role_style(StyleRole::Warning)).render(area, buf);
        return;
    };
    let counted = |word: &str, place: usize, of: usize| {
        let text = format!("   {word} {} of {of}", place + 1);
        if of > 1 { text } else { String::new() }
    };
    let counts = counted(
        "test",
        state.benchmark_index,
        state.comparison.benchmarks.len(),
    ) + &counted("chart", state.chart_index, test.charts.len());
    let room = usize::from(area.width).saturating_sub(test.benchmark.len() + counts.len() + 3);
    let mut parameters = test.parameters.join(", ");
    if !test.differing.is_empty() {
        let words: Vec<String> = test.differing.iter().map(|it| it.values_text()).collect();
        parameters = format!("ignored: {}   {parameters}", words.join("; "));
    }
    Line::from(vec![
        Span::styled(test.benchmark.clone(), look.role_style(StyleRole::Title)),
        Span::raw("   "),
        Span::styled(
            cut_end(&parameters, room as u16, look),
            look.role_style(StyleRole::Faint),
        ),
        Span::styled(counts, look.role_style(StyleRole::Faint)),
    ])
    .render(area, buf);
}

/// A line for each session.
fn session_lines(state: &ComparisonState, look: Theme, width: u16) -> Vec<Line<'static>> {
    let all = &state.comparison.sessions;
    let line = |(index, side): (usize, &ComparedSession)| {
        let about = session_title(index, side, state.selected_benchmark());
        Line::from(vec![
            Span::styled(
                format!("{:3}", session_letter(index)),
                look.role_style(session_role(index)),
            ),
            Span::raw(cut_end(&about, width.saturating_sub(3), look)),
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
        lines.push(Line::styled(more, look.role_style(StyleRole::Faint)));
    }
    lines
}

/// Title of a session: its name, its host, and the target of the benchmark.
fn session_title(index: usize, side: &ComparedSession, test: Option<&ComparedBenchmark>) -> String {
    let mut words = vec![side.name.clone()];
    words.extend(side.host.clone());
    let measured = test.and_then(|test| test.targets.get(index)?.as_ref());
    match (measured, test) {
        (Some(measured), _) => {
            words.push(measured.target.clone());
            words.extend(measured.model.clone());
            if measured.runs > 1 {
                words.push(format!("{} runs", measured.runs).into());
            }
        }
        (None, Some(_)) => words.push("has no run of this".into()),
        (None, None) => {}
    }
    words.join("   ")
}

/// The curves of all sessions on one axis, as the benchmark's description declares them.
fn draw_overlay(
    overlay: &ChartOverlay,
    test: &ComparedBenchmark,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let fallback = ChartSpec::new("", ChartShape::Line, &[]);
    let known =
        bench::find_benchmark(&test.benchmark).map_or(&[][..], |test| test.description().charts);
    let described = known
        .iter()
        .find(|chart| chart.series.contains(&overlay.name.as_str()));
    let style = described.unwrap_or(&fallback);
    // A heading for several curves is not specific enough for one.
    let title = match described {
        Some(chart) if chart.series.len() == 1 => chart.title.to_owned(),
        _ => overlay.title(),
    };
    let (heading, body) = split_heading(area);
    let mut line = Line::from(Span::styled(title, look.role_style(StyleRole::Title)));
    for curve in &overlay.curves {
        let name = format!("   {}", session_letter(curve.session));
        line.push_span(Span::styled(
            name,
            look.role_style(session_role(curve.session)),
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
        theme: look,
    };
    (&plot).render(body, buf);
}

/// Metrics, cautions, and what was not compared.
fn detail_lines(state: &ComparisonState, look: Theme, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(test) = state.selected_benchmark() {
        lines.extend(figures::lines(test, state.pair(), look, width));
        for reason in test.not_determined_reasons() {
            let reason = wrap_text(&reason, width).into_iter();
            lines.extend(reason.map(|line| Line::styled(line, look.role_style(StyleRole::Faint))));
        }
        lines.extend(caution_lines(test, look, width));
    }
    let mismatches = &state.comparison.mismatches;
    if !mismatches.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled(
            "Not compared",
            look.role_style(StyleRole::Title),
        ));
    }
    for mismatch in mismatches {
        let sentence = wrap_text(&mismatch.sentence(), width).into_iter();
        lines.extend(sentence.map(|line| Line::styled(line, look.role_style(StyleRole::Faint))));
    }
    lines
}

/// Checks that limit the validity of the sessions' metrics.
fn caution_lines(test: &ComparedBenchmark, look: Theme, width: u16) -> Vec<Line<'static>> {
    let sides = test.targets.iter().enumerate();
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
            let style = look.role_style(caution.severity.into());
            let text = wrap_text(&text, width).into_iter();
            lines.extend(text.map(|line| Line::styled(line, style)));
        }
    }
    lines
}
