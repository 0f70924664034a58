//! The result of a run.
//!
//! ```text
//!  random-read   /srv   nvme0n1 Samsung PM9A3   finished after 10 s
//!  ▄▄▄▄ k IOPS      ▄▄▄ MB/s      ▄▄▄ us
//!  IOPS over the run                     Response times
//!  FIGURES                               VERDICTS
//!  saved in ...
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{chart, distribution, headline, kernel, meaning_of};
use crate::app::result::{ResultState, charts, has_latency};
use crate::bench;
use crate::session::document::{Run, RunState, Severity};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::{cut_end, cut_start, wrapped};
use crate::units;

/// From this width on two charts stand side by side.
const TWO_FROM: u16 = 110;

/// Draws it.
pub(in crate::ui) fn draw(result: &ResultState, look: Look, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    let Some((run, page)) = result.front() else {
        Line::styled("this session has no run", look.style(Meaning::Faint)).render(area, buf);
        return;
    };
    let notes = notes(run, look, area.width);
    let lower = (area.height / 3).clamp(5, 12);
    let [title, _, numbers, _, middle, _, bottom, saved] = Layout::vertical([
        Constraint::Length(1 + notes.len() as u16),
        Constraint::Length(1),
        Constraint::Length(headline::HEIGHT),
        Constraint::Length(u16::from(area.height >= 26)),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(lower),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(result, run, look, title, buf);
    for (row, note) in title.rows().skip(1).zip(notes) {
        note.render(row, buf);
    }
    draw_headline(run, look, numbers, buf);
    draw_charts(run, page, look, middle, buf);
    draw_lower(result, run, look, bottom, buf);
    draw_saved(result, look, saved, buf);
}

fn draw_title(result: &ResultState, run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let elapsed = units::waiting(Duration::from_nanos(run.elapsed_ns));
    let (how, meaning) = match run.state {
        RunState::Finished => ("finished after", Meaning::Good),
        RunState::Interrupted => ("stopped after", Meaning::Waiting),
        RunState::Failed => ("FAILED after", Meaning::Trouble),
        RunState::Running => ("cut off after", Meaning::Waiting),
    };
    let target = &run.target;
    let mut about = vec![target.path.clone()];
    about.extend(
        target
            .device
            .clone()
            .filter(|name| !target.path.ends_with(name)),
    );
    about.extend(target.model.clone());
    about.push(run.engine.name.clone());
    let end = format!("{how} {elapsed}");
    let room = area
        .width
        .saturating_sub((run.test.len() + end.len() + 6) as u16);
    let mut line = Line::from(vec![
        Span::styled(run.test.clone(), look.style(Meaning::Title)),
        Span::raw("   "),
        Span::raw(cut_end(&about.join("  "), room, look)),
        Span::raw("   "),
        Span::styled(end, look.style(meaning)),
    ]);
    if result.runs.len() > 1 {
        line.push_span(format!("   {} runs", result.runs.len()));
    }
    line.render(area, buf);
}

/// What went wrong, below the title.
fn notes(run: &Run, look: Look, width: u16) -> Vec<Line<'static>> {
    let Some(error) = &run.error else {
        return Vec::new();
    };
    let text = format!("{}. {}", error.message, error.advice);
    wrapped(&text, width)
        .into_iter()
        .take(3)
        .map(|line| Line::styled(line, look.style(Meaning::Trouble)))
        .collect()
}

fn draw_headline(run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let test = bench::find(&run.test);
    let names = test.map_or(&[][..], |test| test.description().headline);
    let mut figures: Vec<_> = names
        .iter()
        .filter_map(|name| run.findings.figure(name))
        .collect();
    if figures.is_empty() {
        figures = run.findings.figures.iter().take(4).collect();
    }
    if figures.is_empty() {
        let text = "nothing was measured";
        Line::styled(text, look.style(Meaning::Waiting)).render(area, buf);
        return;
    }
    let meaning = test.map_or(Meaning::Plain, meaning_of);
    headline::draw(&figures, meaning, look, area, buf);
}

fn draw_charts(run: &Run, page: usize, look: Look, area: Rect, buf: &mut Buffer) {
    let count = charts(run).len() + usize::from(has_latency(run));
    if area.width < TWO_FROM || count < 2 {
        return draw_chart(run, page, look, area, buf);
    }
    let [left, _, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(4),
        Constraint::Fill(1),
    ])
    .areas(area);
    draw_chart(run, page, look, left, buf);
    draw_chart(run, (page + 1) % count, look, right, buf);
}

fn draw_chart(run: &Run, page: usize, look: Look, area: Rect, buf: &mut Buffer) {
    let meaning = bench::find(&run.test).map_or(Meaning::Plain, meaning_of);
    if let Some(known) = charts(run).get(page) {
        return chart::draw(known, &run.findings, meaning, None, look, area, buf);
    }
    let latency = &run.findings.latency;
    match (&latency.read, &latency.write) {
        (Some(read), Some(write)) => {
            let [left, _, right] = Layout::horizontal([
                Constraint::Fill(1),
                Constraint::Length(3),
                Constraint::Fill(1),
            ])
            .areas(area);
            distribution::draw(read, Meaning::Read, look, left, buf);
            distribution::draw(write, Meaning::Write, look, right, buf);
        }
        (Some(read), None) => distribution::draw(read, Meaning::Read, look, area, buf),
        (None, Some(write)) => distribution::draw(write, Meaning::Write, look, area, buf),
        (None, None) => {}
    }
}

fn draw_lower(result: &ResultState, run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let wide = area.width >= TWO_FROM;
    let kernel = if wide { 32 } else { 0 };
    let figures = if wide { 44 } else { 36 };
    let [left, _, right, _, third] = Layout::horizontal([
        Constraint::Length(figures),
        Constraint::Length(3),
        Constraint::Min(0),
        Constraint::Length(if wide { 3 } else { 0 }),
        Constraint::Length(kernel),
    ])
    .areas(area);
    draw_figures(result, run, look, left, buf);
    draw_verdicts(result, run, look, right, buf);
    if wide {
        let latency = &run.findings.latency;
        let ours = [&latency.read, &latency.write]
            .into_iter()
            .flatten()
            .fold(0_u64, |sum, latency| sum.saturating_add(latency.count));
        let said = kernel::Said {
            counts: run.kernel.as_ref(),
            stages: run.stages.as_ref(),
            elapsed_ns: run.elapsed_ns,
            ours: Some(ours),
        };
        kernel::draw(said, look, third, buf);
    }
}

fn draw_figures(result: &ResultState, run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let (heading, body) = chart::split(area);
    Line::styled("Figures", look.style(Meaning::Title)).render(heading, buf);
    let figures = run.findings.figures.iter().skip(result.scroll);
    for (row, figure) in body.rows().zip(figures) {
        let label = cut_end(&figure.label(), row.width.saturating_sub(14), look);
        Line::styled(label, look.style(Meaning::Faint)).render(row, buf);
        Line::raw(figure.text()).right_aligned().render(row, buf);
    }
}

fn draw_verdicts(result: &ResultState, run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let (heading, body) = chart::split(area);
    Line::styled("Verdicts", look.style(Meaning::Title)).render(heading, buf);
    let lines = verdict_lines(run, look, body.width);
    for (row, line) in body.rows().zip(lines.into_iter().skip(result.scroll)) {
        line.render(row, buf);
    }
}

fn verdict_lines(run: &Run, look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for goal in &run.findings.goals {
        let (word, meaning) = match goal.met {
            Some(true) => ("met", Meaning::Good),
            Some(false) => ("missed", Meaning::Trouble),
            None => ("n/a", Meaning::Faint),
        };
        lines.push(Line::from(vec![
            Span::raw(format!("goal {}: ", goal.goal)),
            Span::styled(word, look.style(meaning)),
        ]));
    }
    let mut verdicts: Vec<_> = run.findings.verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    for verdict in verdicts {
        let meaning = match verdict.severity {
            Severity::Note => Meaning::Plain,
            Severity::Warning => Meaning::Waiting,
            Severity::Invalid => Meaning::Trouble,
        };
        let text = format!("{}: {}", verdict.code, verdict.evidence);
        let evidence = wrapped(&text, width).into_iter();
        lines.extend(evidence.map(|line| Line::styled(line, look.style(meaning))));
        let advice = wrapped(&verdict.advice, width.saturating_sub(2)).into_iter();
        lines.extend(
            advice.map(|line| Line::styled(format!("  {line}"), look.style(Meaning::Faint))),
        );
    }
    if lines.is_empty() {
        let well = look.glyphs().well;
        let text = format!("{well} nothing speaks against these figures");
        let text = wrapped(&text, width).into_iter();
        lines.extend(text.map(|line| Line::styled(line, look.style(Meaning::Good))));
    }
    lines
}

fn draw_saved(result: &ResultState, look: Look, area: Rect, buf: &mut Buffer) {
    let (word, path) = match (&result.exported, &result.path) {
        (Some(path), _) => ("exported to ", path),
        (None, Some(path)) => ("JSON saved in ", path),
        (None, None) => {
            let text = "not saved: no state directory can be written";
            Line::styled(text, look.style(Meaning::Trouble)).render(area, buf);
            return;
        }
    };
    let room = area.width.saturating_sub(word.len() as u16);
    let path = cut_start(&path.to_string_lossy(), room, look);
    Line::from(vec![
        Span::styled(word, look.style(Meaning::Faint)),
        Span::raw(path),
    ])
    .render(area, buf);
}
