//! Validity of the metrics: objectives and checks, the most severe first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::report::goals;
use crate::session::document::{Findings, Severity, SloResult, Verdict};
use crate::stats::sorting::SortList as _;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::{cut_end, right_aligned, wrap_text};

/// Lines of the checks with their evidence and advice, the most severe first, then of the objectives,
/// those that were missed first: an objective that an invalid run meets is not met.
pub(super) fn lines(findings: &Findings, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for verdict in findings.verdicts_by_severity() {
        let style = theme.role_style(verdict.severity.into());
        let evidence = wrap_text(&verdict_text(verdict, theme), width).into_iter();
        lines.extend(evidence.map(|line| Line::styled(line, style)));
        let advice = wrap_text(&verdict.advice, width.saturating_sub(2)).into_iter();
        let faint = theme.role_style(StyleRole::Faint);
        lines.extend(advice.map(|line| Line::styled(format!("  {line}"), faint)));
    }
    let mut goals: Vec<_> = findings.goals.iter().collect();
    goals.sort_list_by_key(|goal| goal.met == Some(true));
    lines.extend(goals.into_iter().flat_map(|it| slo_lines(it, theme, width)));
    lines
}

/// The problems in at most `budget` lines: objectives that were not met, then warnings and errors,
/// the most severe first. Each has at least one line; where space is left, the first are wrapped
/// instead of cut. The advice is with the other checks.
pub(super) fn problem_lines(
    findings: &Findings,
    theme: Theme,
    width: u16,
    budget: u16,
) -> Vec<Line<'static>> {
    let missed = findings.goals.iter().filter(|goal| goal.met == Some(false));
    let missed = missed.map(|goal| (slo_text(goal), StyleRole::Error));
    let checks = findings.verdicts_by_severity().into_iter();
    let checks = checks.filter(|verdict| verdict.severity > Severity::Note);
    let checks = checks.map(|verdict| (verdict_text(verdict, theme), verdict.severity.into()));
    let problems: Vec<(String, StyleRole)> = missed.chain(checks).collect();
    let budget = usize::from(budget.max(1));
    if problems.is_empty() {
        let mut lines = no_problems_lines(theme, width);
        lines.truncate(budget);
        return lines;
    }
    let shown = if problems.len() > budget {
        budget - 1
    } else {
        problems.len()
    };
    let mut spare = budget - shown;
    let mut lines = Vec::new();
    for (text, role) in &problems[..shown] {
        let style = theme.role_style(*role);
        let wrapped = wrap_text(text, width);
        if wrapped.len() <= spare + 1 && problems.len() == shown {
            spare -= wrapped.len() - 1;
            lines.extend(wrapped.into_iter().map(|line| Line::styled(line, style)));
        } else {
            lines.push(Line::styled(cut_end(text, width, theme), style));
        }
    }
    if problems.len() > shown {
        let more = format!("+{} more problems", problems.len() - shown);
        lines.push(Line::styled(more, theme.role_style(StyleRole::Error)));
    }
    lines
}

/// An objective that was not met, with its margin.
fn slo_text(goal: &SloResult) -> String {
    let margin = goals::outcome_text(goal).map_or_else(String::new, |text| format!(", {text}"));
    format!("! goal {}: {}{margin}", goal.goal, goals::status(goal))
}

/// Symbol, name and evidence of a check.
fn verdict_text(verdict: &Verdict, theme: Theme) -> String {
    let mark = match verdict.severity {
        Severity::Note => theme.glyphs().separator,
        Severity::Warning | Severity::Invalid => '!',
    };
    format!("{mark} {}: {}", verdict.code, verdict.evidence)
}

/// Draws as many checks as fit while a benchmark runs, the most severe first and with advice; the
/// number of further ones is shown at the right.
pub(super) fn draw_brief(findings: &Findings, theme: Theme, area: Rect, buf: &mut Buffer) {
    let verdicts = findings.verdicts_by_severity();
    let faint = theme.role_style(StyleRole::Faint);
    if verdicts.is_empty() {
        let well = theme.glyphs().check_mark;
        let text = format!("{well} no problems detected so far");
        Line::styled(text, faint).render(area, buf);
        return;
    }
    // The advice of the most severe one takes a row where there is more than one.
    let room = usize::from(area.height - u16::from(area.height > 1));
    let more = match verdicts.len().saturating_sub(room) {
        0 => String::new(),
        hidden => format!("  +{hidden} more"),
    };
    let mut lines = Vec::new();
    for verdict in verdicts.iter().take(room) {
        let width = area.width.saturating_sub(more.len() as u16);
        let text = cut_end(&verdict_text(verdict, theme), width, theme);
        lines.push(Line::styled(
            text,
            theme.role_style(verdict.severity.into()),
        ));
        if lines.len() == 1 {
            let advice = cut_end(&format!("  {}", verdict.advice), area.width, theme);
            lines.push(Line::styled(advice, faint));
        }
    }
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buf);
    }
    right_aligned(more, faint).render(area, buf);
}

/// Whether an objective was met, and its margin: on the same line, or below where there is no room.
fn slo_lines(goal: &SloResult, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let role = match goal.met {
        Some(true) => StyleRole::Success,
        Some(false) => StyleRole::Error,
        None => StyleRole::Faint,
    };
    let mut line = Line::from(vec![
        Span::raw(format!("goal {}: ", goal.goal)),
        Span::styled(goals::status(goal), theme.role_style(role)),
    ]);
    let margin = goals::outcome_text(goal).or(goals::undetermined_reason(goal).map(str::to_owned));
    let Some(margin) = margin else {
        return vec![line];
    };
    let faint = theme.role_style(StyleRole::Faint);
    if line.width() + margin.width() + 3 <= usize::from(width) {
        line.push_span(Span::styled(format!("   {margin}"), faint));
        return vec![line];
    }
    let below = wrap_text(&margin, width.saturating_sub(2)).into_iter();
    let below = below.map(|text| Line::styled(format!("  {text}"), faint));
    std::iter::once(line).chain(below).collect()
}

/// The line that no problems were detected.
pub(super) fn no_problems_lines(theme: Theme, width: u16) -> Vec<Line<'static>> {
    let well = theme.glyphs().check_mark;
    let text = format!("{well} no problems detected");
    let lines = wrap_text(&text, width).into_iter();
    lines
        .map(|line| Line::styled(line, theme.role_style(StyleRole::Success)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(severities: &[Severity], height: u16) -> Vec<String> {
        let verdict = |(index, severity): (usize, &Severity)| Verdict {
            code: format!("v{index}").as_str().into(),
            severity: *severity,
            evidence: "seen".into(),
            advice: "do this".into(),
            facts: serde_json::Map::new(),
        };
        let findings = Findings {
            verdicts: severities.iter().enumerate().map(verdict).collect(),
            ..Findings::default()
        };
        let area = Rect::new(0, 0, 24, height);
        let mut buf = Buffer::empty(area);
        draw_brief(&findings, Theme::FULL, area, &mut buf);
        let row = |y| (0..24).map(|x| buf[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn brief_checks_show_most_severe_first_and_count_the_rest() {
        let all = [Severity::Note, Severity::Invalid, Severity::Warning];
        assert_eq!(drawn(&all, 1), ["! v1: seen       +2 more"]);
        assert_eq!(
            drawn(&all, 3),
            ["! v1: seen       +1 more", "  do this", "! v2: seen"]
        );
        assert_eq!(
            drawn(&all, 4),
            ["! v1: seen", "  do this", "! v2: seen", "· v0: seen"]
        );
    }

    #[test]
    fn every_problem_has_a_line_before_any_is_wrapped() {
        let verdict = |code: &str, severity, evidence: &str| Verdict {
            code: code.into(),
            severity,
            evidence: evidence.into(),
            advice: "do this".into(),
            facts: serde_json::Map::new(),
        };
        let findings = Findings {
            verdicts: vec![
                verdict("note", Severity::Note, "seen"),
                verdict("warning", Severity::Warning, "a long text of two lines"),
                verdict("invalid", Severity::Invalid, "not valid"),
            ],
            ..Findings::default()
        };
        let text = |budget| -> Vec<String> {
            let lines = problem_lines(&findings, Theme::FULL, 24, budget);
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(text(1), ["+2 more problems"]);
        assert_eq!(
            text(2),
            ["! invalid: not valid", "! warning: a long text …"]
        );
        assert_eq!(
            text(3),
            [
                "! invalid: not valid",
                "! warning: a long text",
                "of two lines"
            ]
        );
        let clean = problem_lines(&Findings::default(), Theme::FULL, 24, 2);
        assert!(clean[0].to_string().contains("no problems detected"));
    }

    #[test]
    fn brief_checks_without_findings_show_check_mark() {
        assert!(drawn(&[], 2)[0].starts_with('✓'));
    }
}
