//! The selected transfer: whole paths, progress, and its rate over time.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::live::LiveState;
use crate::report::transfer_text::{
    bottleneck_text, dirty_text, end_text, operation_text, pages_unknown_text, state_text,
    throttle_text, work_text,
};
use crate::session::document::MetricUnit;
use crate::snapshot::view::TransferView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::wrap_text;
use crate::ui::live::charts::{ChartHistory, ChartTime, HistoryCurve, draw_history};
use crate::ui::live::rows::{FACT_NAME_WIDTH, fact_line, wrap_facts};
use crate::units;

/// Minimum width for the chart beside the facts.
const CHART_BESIDE_MIN_WIDTH: u16 = 110;
/// Minimum height for the chart below the facts, where it does not fit beside.
const CHART_BELOW_MIN_HEIGHT: u16 = 20;

/// Draws the transfer.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(transfer) = live.selected_transfer() else {
        Line::styled(
            "the selected transfer is over",
            theme.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    let (facts, chart) = if area.width >= CHART_BESIDE_MIN_WIDTH {
        let [facts, chart] = Layout::horizontal([Constraint::Fill(1); 2])
            .spacing(3)
            .areas(area);
        (
            facts,
            Rect {
                height: chart.height.min(16),
                ..chart
            },
        )
    } else {
        let height = if area.height >= CHART_BELOW_MIN_HEIGHT {
            area.height / 3
        } else {
            6
        };
        let [facts, chart] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
        (facts, chart)
    };
    let lines = wrap_facts(description_lines(transfer, facts.width, theme), facts.width);
    scrolled::draw(lines, &live.viewport, theme, facts, buf);
    let rates = live.history.transfer_rates(&transfer.key());
    let history = ChartHistory {
        title: "rate",
        unit: MetricUnit::BytesPerSecond,
        curves: vec![HistoryCurve {
            name: "now",
            values: rates,
            role: StyleRole::Read,
        }],
    };
    draw_history(&history, ChartTime::of(live), theme, chart, buf);
}

fn description_lines(transfer: &TransferView, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let title = match transfer.pid {
        Some(pid) => format!("TRANSFER {} {pid}", transfer.command),
        None => format!("TRANSFER {}", transfer.command),
    };
    let mut lines = vec![Line::styled(title, theme.role_style(StyleRole::Title))];
    for (name, path) in [("from", &transfer.source), ("to", &transfer.destination)] {
        let Some(path) = path else {
            continue;
        };
        if path.width() + FACT_NAME_WIDTH <= usize::from(width) {
            lines.push(fact_line(name, Some(path.to_string()), theme));
        } else {
            lines.push(Line::styled(name, theme.role_style(StyleRole::Faint)));
            lines.extend(wrap_text(path, width).into_iter().map(Line::raw));
        }
    }
    for (name, value) in facts(transfer) {
        lines.push(fact_line(name, value, theme));
    }
    lines
}

/// Names and values; a value that is unknown is `None`.
fn facts(transfer: &TransferView) -> Vec<(&'static str, Option<String>)> {
    let capacity = |bytes: u64| units::format_capacity(bytes as f64);
    let files = transfer.files_total.map(|total| match transfer.files_done {
        Some(done) => format!("{done} of {total}"),
        None => total.to_string(),
    });
    let eta = transfer.eta.map(|eta| {
        let eta = units::format_wait(eta);
        match (transfer.eta_low, transfer.eta_high) {
            (Some(low), Some(high)) if low != high => {
                let (low, high) = (units::format_wait(low), units::format_wait(high));
                format!("{eta} ({low} to {high})")
            }
            _ => eta,
        }
    });
    let size = transfer
        .size_bytes
        .map_or_else(String::new, |size| format!(" of {}", capacity(size)));
    let percent = transfer
        .progress_fraction()
        .map_or_else(String::new, |fraction| {
            format!(", {:.1} %", (fraction * 1000.0).floor() / 10.0)
        });
    let done = transfer
        .position_bytes
        .map(|done| format!("{}{size}{percent}", capacity(done)));
    let mut facts = vec![(
        "state",
        end_text(transfer).or_else(|| Some(state_text(transfer.state).to_owned())),
    )];
    if transfer.work.is_none() {
        facts.push(("done", done));
    }
    let operation = operation_text(transfer.kind).map(str::to_owned);
    facts.extend(operation.map(|operation| ("operation", Some(operation))));
    facts.extend(files.map(|files| ("files", Some(files))));
    let work = transfer.work.and_then(work_text);
    facts.extend(work.map(|work| ("done", Some(work))));
    let rate = transfer.rate_bytes_per_s.map(units::format_throughput);
    if transfer.state.is_over() {
        facts.push(("mean rate", rate));
    } else {
        facts.extend([
            ("rate", rate),
            ("ETA", eta),
            ("bottleneck", bottleneck_text(transfer)),
        ]);
    }
    facts.extend(
        transfer
            .throttle
            .map(|throttle| ("throttled", Some(throttle_text(throttle).to_owned()))),
    );
    facts.push(("dirty", dirty_text(transfer)));
    facts.extend(
        transfer
            .not_on_disk_unknown
            .map(|reason| ("limit because", Some(pages_unknown_text(reason).to_owned()))),
    );
    facts
}
