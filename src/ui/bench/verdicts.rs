//! What is to be thought of the figures: goals and verdicts, the gravest first.

use ratatui::text::{Line, Span};

use crate::session::document::{Findings, Goal, Verdict};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::wrapped;

/// The verdicts, the gravest first; those of one severity in their order.
pub(super) fn sorted(findings: &Findings) -> Vec<&Verdict> {
    let mut verdicts: Vec<_> = findings.verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    verdicts
}

/// Goals, then each verdict with its evidence and what to do about it.
pub(super) fn lines(findings: &Findings, look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines: Vec<_> = findings.goals.iter().map(|it| goal(it, look)).collect();
    for verdict in sorted(findings) {
        let style = look.style(verdict.severity.into());
        let text = format!("{}: {}", verdict.code, verdict.evidence);
        let evidence = wrapped(&text, width).into_iter();
        lines.extend(evidence.map(|line| Line::styled(line, style)));
        let advice = wrapped(&verdict.advice, width.saturating_sub(2)).into_iter();
        let faint = look.style(Meaning::Faint);
        lines.extend(advice.map(|line| Line::styled(format!("  {line}"), faint)));
    }
    lines
}

fn goal(goal: &Goal, look: Look) -> Line<'static> {
    let (word, meaning) = match goal.met {
        Some(true) => ("met", Meaning::Good),
        Some(false) => ("missed", Meaning::Trouble),
        None => ("n/a", Meaning::Faint),
    };
    Line::from(vec![
        Span::raw(format!("goal {}: ", goal.goal)),
        Span::styled(word, look.style(meaning)),
    ])
}

/// That nothing speaks against the figures.
pub(super) fn none(look: Look, width: u16) -> Vec<Line<'static>> {
    let well = look.glyphs().well;
    let text = format!("{well} nothing speaks against these figures");
    let lines = wrapped(&text, width).into_iter();
    lines
        .map(|line| Line::styled(line, look.style(Meaning::Good)))
        .collect()
}
