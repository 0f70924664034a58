//! Sessions against each other.
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
use crate::session::chart::{Chart, Shape};
use crate::session::compare::{ComparedTest, Overlay, Side, words::letter};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::areas::under_heading;
use crate::ui::widgets::plot::{Curve, Plot};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::{cut_end, wrapped};

/// From this width on the figures stand beside the chart.
const BESIDE_FROM: u16 = 150;
/// Columns of the figures there.
const FIGURES: u16 = 84;
/// Sides that are introduced; more are counted.
const INTRODUCED: usize = 6;
/// The looks of the sides' curves; further sides begin again.
const SIDES: [Meaning; 5] = [
    Meaning::Plain,
    Meaning::Read,
    Meaning::Write,
    Meaning::Waiting,
    Meaning::Good,
];

/// How a side looks everywhere.
pub(super) fn of_side(side: usize) -> Meaning {
    SIDES[side % SIDES.len()]
}

/// Draws it.
pub(super) fn draw(state: &ComparisonState, look: Look, area: Rect, buf: &mut Buffer) {
    let sides = sides(state, look, area.width);
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
    let (chart, figures) = match state.overlay() {
        None => (None, body),
        Some(overlay) if body.width >= BESIDE_FROM => {
            let [figures, _, chart] = Layout::horizontal([
                Constraint::Length(FIGURES),
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
    if let (Some((overlay, area)), Some(test)) = (chart, state.front()) {
        draw_overlay(overlay, test, look, area, buf);
    }
    state.viewport.begin();
    let lines = below(state, look, figures.width);
    scrolled::draw(lines, &state.viewport, look, figures, buf);
}

fn draw_title(state: &ComparisonState, look: Look, area: Rect, buf: &mut Buffer) {
    let Some(test) = state.front() else {
        let text = "nothing in these sessions can be compared";
        Line::styled(text, look.style(Meaning::Waiting)).render(area, buf);
        return;
    };
    let counted = |word: &str, place: usize, of: usize| {
        let text = format!("   {word} {} of {of}", place + 1);
        if of > 1 { text } else { String::new() }
    };
    let counts = counted("test", state.test, state.comparison.tests.len())
        + &counted("chart", state.chart, test.charts.len());
    let room = usize::from(area.width).saturating_sub(test.test.len() + counts.len() + 3);
    let mut parameters = test.parameters.join(", ");
    if !test.differing.is_empty() {
        let words: Vec<String> = test.differing.iter().map(|it| it.words()).collect();
        parameters = format!("ignored: {}   {parameters}", words.join("; "));
    }
    Line::from(vec![
        Span::styled(test.test.clone(), look.style(Meaning::Title)),
        Span::raw("   "),
        Span::styled(
            cut_end(&parameters, room as u16, look),
            look.style(Meaning::Faint),
        ),
        Span::styled(counts, look.style(Meaning::Faint)),
    ])
    .render(area, buf);
}

/// A line for each session.
fn sides(state: &ComparisonState, look: Look, width: u16) -> Vec<Line<'static>> {
    let all = &state.comparison.sides;
    let line = |(index, side): (usize, &Side)| {
        let about = introduce(index, side, state.front());
        Line::from(vec![
            Span::styled(format!("{:3}", letter(index)), look.style(of_side(index))),
            Span::raw(cut_end(&about, width.saturating_sub(3), look)),
        ])
    };
    let shown = if all.len() > INTRODUCED {
        INTRODUCED - 1
    } else {
        all.len()
    };
    let mut lines: Vec<_> = all.iter().enumerate().take(shown).map(line).collect();
    if all.len() > shown {
        let more = format!("   and {} more", all.len() - shown);
        lines.push(Line::styled(more, look.style(Meaning::Faint)));
    }
    lines
}

/// What a side is: its name, its host, and what it measured the test on.
fn introduce(index: usize, side: &Side, test: Option<&ComparedTest>) -> String {
    let mut words = vec![side.name.clone()];
    words.extend(side.host.clone());
    let measured = test.and_then(|test| test.measured.get(index)?.as_ref());
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

/// The curves of all sides under one axis, as the test's description wants them.
fn draw_overlay(overlay: &Overlay, test: &ComparedTest, look: Look, area: Rect, buf: &mut Buffer) {
    let fallback = Chart::new("", Shape::Line, &[]);
    let known = bench::find(&test.test).map_or(&[][..], |test| test.description().charts);
    let described = known
        .iter()
        .find(|chart| chart.series.contains(&overlay.name.as_str()));
    let style = described.unwrap_or(&fallback);
    // A heading for several curves says too little of one.
    let title = match described {
        Some(chart) if chart.series.len() == 1 => chart.title.to_owned(),
        _ => overlay.title(),
    };
    let (heading, body) = under_heading(area);
    let mut line = Line::from(Span::styled(title, look.style(Meaning::Title)));
    for curve in &overlay.curves {
        let name = format!("   {}", letter(curve.side));
        line.push_span(Span::styled(name, look.style(of_side(curve.side))));
    }
    line.render(heading, buf);
    let curves = overlay.curves.iter().map(|curve| Curve {
        intervals: &[],
        points: &curve.points,
        meaning: of_side(curve.side),
        letter: letter(curve.side).chars().next(),
    });
    let plot = Plot {
        curves: curves.collect(),
        // Parts that lie one on the other cannot be set beside those of another side.
        shape: match style.shape {
            Shape::StackedBars => Shape::Bars,
            shape => shape,
        },
        x: &overlay.x,
        y: &overlay.y,
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        x_bounds: None,
        marks: Vec::new(),
        look,
    };
    (&plot).render(body, buf);
}

/// Figures, cautions, and what was not compared.
fn below(state: &ComparisonState, look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(test) = state.front() {
        lines.extend(figures::lines(test, state.pair(), look, width));
        for reason in test.reasons() {
            let reason = wrapped(&reason, width).into_iter();
            lines.extend(reason.map(|line| Line::styled(line, look.style(Meaning::Faint))));
        }
        lines.extend(cautions(test, look, width));
    }
    let mismatches = &state.comparison.mismatches;
    if !mismatches.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled("Not compared", look.style(Meaning::Title)));
    }
    for mismatch in mismatches {
        let sentence = wrapped(&mismatch.sentence(), width).into_iter();
        lines.extend(sentence.map(|line| Line::styled(line, look.style(Meaning::Faint))));
    }
    lines
}

/// What keeps the sides' figures from being believed.
fn cautions(test: &ComparedTest, look: Look, width: u16) -> Vec<Line<'static>> {
    let sides = test.measured.iter().enumerate();
    let all = sides.filter_map(|(side, measured)| Some((side, measured.as_ref()?)));
    let mut lines = Vec::new();
    for (side, measured) in all {
        for caution in &measured.cautions {
            if lines.is_empty() {
                lines.push(Line::default());
            }
            let text = format!("{}  {}: {}", letter(side), caution.code, caution.evidence);
            let style = look.style(caution.severity.into());
            let text = wrapped(&text, width).into_iter();
            lines.extend(text.map(|line| Line::styled(line, style)));
        }
    }
    lines
}
