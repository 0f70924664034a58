//! One request: who, what, and the time of each stage.
//!
//! ```text
//!  REQUEST  write of 8 KiB at sector 2742980209   postgres, pid 993
//!  RWBS WS: write, synchronous
//!  STEP                                       since Q   stage
//!  Q  queued: submitted to the block layer          0
//!  G  request allocated                       +900 ns   Q2G   900 ns    0 %
//!  D  issued to the driver                    +753 us   G2D   752 us   10 %  ━━
//!  C  completed                              +7.59 ms   D2C  6.83 ms   90 %  ━━━━━━━━━━━━━
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::files::printable::printable_bytes;
use crate::trace::requests::TracedRequest;
use crate::tui::screens::requests::cells::operation_role;
use crate::tui::screens::requests::flags;
use crate::tui::screens::requests::list::seek_text;
use crate::tui::screens::requests::state::ListedRequest;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::text::cut_end;
use crate::units;

/// Height in rows.
pub(super) const ROWS: u16 = 12;
/// Keys of this pane.
const KEYS: &str = "Up/Down other request   Esc close";
/// Width of the letter and the meaning of a step.
const MEANING_WIDTH: usize = 41;
/// Minimum width of the bars.
const MIN_BAR_WIDTH: u16 = 8;

/// A step of a request: its letter, what it means, when it happened, and the stage that it ends.
struct Step {
    letter: &'static str,
    meaning: &'static str,
    time: Option<u64>,
    stage: Option<(&'static str, Option<u64>)>,
}

/// Draws the request.
pub(super) fn draw(listed: ListedRequest<'_>, theme: Theme, area: Rect, buf: &mut Buffer) {
    let request = listed.request;
    let mut lines = vec![title(request, theme, area.width)];
    let faint = theme.role_style(StyleRole::Faint);
    let mut facts = vec![flags_text(request)];
    facts.extend(circumstances(listed));
    for fact in facts {
        lines.push(Line::raw(cut_end(&fact, area.width, theme)));
    }
    let heading = format!("{:MEANING_WIDTH$}{:>10}   stage", "STEP", "since Q");
    lines.push(Line::styled(heading, theme.role_style(StyleRole::Title)));
    lines.extend(step_lines(request, theme, area.width));
    let unknown = "-  not passed (no scheduler, or a bio-based device), or before the trace began";
    lines.push(Line::styled(cut_end(unknown, area.width, theme), faint));
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buf);
    }
}

fn title(request: &TracedRequest, theme: Theme, width: u16) -> Line<'static> {
    let who = request.charged_actor().map_or_else(
        || "process unknown".to_owned(),
        |actor| {
            let name = printable_bytes(actor.name.as_bytes());
            format!("{name}, pid {}", actor.pid)
        },
    );
    let size = units::format_block_size(request.bytes as f64);
    let what = format!(" of {size} at sector {}   {who}", request.sector);
    let mut line = Line::from(vec![
        Span::styled("REQUEST  ", theme.role_style(StyleRole::Title)),
        Span::styled(
            request.operation.name(),
            theme.role_style(operation_role(request.operation)),
        ),
        Span::raw(what),
    ]);
    let gap = usize::from(width).saturating_sub(line.width() + KEYS.width());
    if gap >= 2 {
        line.push_span(" ".repeat(gap));
        line.push_span(Span::styled(KEYS, theme.role_style(StyleRole::Faint)));
    }
    line
}

fn flags_text(request: &TracedRequest) -> String {
    let letters = request.flags.as_bytes();
    let words = flags::meanings(letters).join(", ");
    format!("RWBS {}: {words}", printable_bytes(letters))
}

/// What else is known of the request.
fn circumstances(listed: ListedRequest<'_>) -> Vec<String> {
    let request = listed.request;
    let mut facts = vec![match listed.seek_bytes {
        Some(0) => "seek 0: sequential to the request issued before".to_owned(),
        Some(bytes) => format!(
            "seek {} from the end of the request issued before",
            seek_text(bytes)
        ),
        None => "seek n/a: the request issued before is not listed".to_owned(),
    }];
    let mut parts = Vec::new();
    if request.error != 0 {
        let error = std::io::Error::from_raw_os_error(request.error.saturating_neg());
        parts.push(format!("failed: {error}"));
    }
    if let (Some(_), Some(submitter)) = (request.dirtied_by, request.submitter) {
        let name = printable_bytes(submitter.name.as_bytes());
        parts.push(format!("* written back by {name}, pid {}", submitter.pid));
    }
    if request.merged_count > 0 {
        parts.push(format!("{} requests merged into it", request.merged_count));
    }
    if request.is_split {
        parts.push("part of a larger request".to_owned());
    }
    if request.requeue_count > 0 {
        parts.push(format!("requeued {} times", request.requeue_count));
    }
    if !parts.is_empty() {
        facts.push(parts.join("   "));
    }
    facts
}

fn steps(request: &TracedRequest) -> [Step; 5] {
    let times = request.timestamps;
    let stages = times.stages();
    let step = |letter, meaning, time, stage| Step {
        letter,
        meaning,
        time,
        stage,
    };
    // Without a scheduler nothing is inserted: the driver follows the allocation.
    let before_driver = match (times.inserted, times.allocated) {
        (Some(_), _) => ("I2D", stages.i2d),
        (None, Some(allocated)) => {
            let taken = times
                .issued
                .and_then(|issued| issued.checked_sub(allocated));
            ("G2D", taken)
        }
        (None, None) => ("Q2D", stages.q2d),
    };
    [
        step(
            "Q",
            "queued: submitted to the block layer",
            times.queued,
            None,
        ),
        step(
            "G",
            "request allocated; merging, free tags",
            times.allocated,
            Some(("Q2G", stages.q2g)),
        ),
        step(
            "I",
            "inserted into the scheduler's queue",
            times.inserted,
            Some(("G2I", stages.g2i)),
        ),
        step(
            "D",
            "issued to the driver",
            times.issued,
            Some(before_driver),
        ),
        step(
            "C",
            "completed by driver and drive",
            Some(times.completed),
            Some(("D2C", stages.d2c)),
        ),
    ]
}

fn step_lines(request: &TracedRequest, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let total = request.timestamps.stages().q2c;
    let begin = request.timestamps.queued;
    let faint = theme.role_style(StyleRole::Faint);
    let line = |step: Step| {
        let since = match (begin, step.time) {
            (Some(begin), Some(time)) => match time.checked_sub(begin) {
                Some(0) => "0".to_owned(),
                Some(since) => format!("+{}", units::format_latency(since as f64)),
                None => "-".to_owned(),
            },
            _ => "-".to_owned(),
        };
        let meaning = format!("{:3}{}", step.letter, step.meaning);
        let mut line = Line::raw(format!("{meaning:MEANING_WIDTH$}{since:>10}"));
        let Some((stage, length)) = step.stage else {
            return line;
        };
        let text = length.map_or_else(
            || "-".to_owned(),
            |length| units::format_latency(length as f64),
        );
        line.push_span(Span::styled(format!("   {stage}"), faint));
        line.push_span(format!("{text:>9}"));
        if let (Some(length), Some(total)) = (length, total.filter(|total| *total > 0)) {
            let share = length as f64 / total as f64;
            line.push_span(format!("{:>5.0} %  ", share * 100.0));
            let room = width.saturating_sub(line.width() as u16).min(40);
            if room >= MIN_BAR_WIDTH {
                let [filled, _] = bar(share, room, operation_role(request.operation), theme);
                line.push_span(filled);
            }
        }
        line
    };
    let mut lines: Vec<Line<'static>> = steps(request).into_iter().map(line).collect();
    let total = total.map_or_else(
        || "-".to_owned(),
        |total| units::format_latency(total as f64),
    );
    let label = "total, Q to C";
    lines.push(Line::raw(format!(
        "{:MEANING_WIDTH$}{:10}   Q2C{total:>9}",
        label, ""
    )));
    lines
}
