//! The Live screen: devices, transfers and processes.
//!
//! ```text
//!  DEVICES            r/s    w/s  rMB/s  wMB/s  r_await w_await aqu-sz  %util  throughput
//!  TRANSFERS                            %    done      of  MB/s     ETA  bottleneck
//!  PROCESSES                      rMB/s  wMB/s   hit%   IO%  command
//!  notices
//! ```

mod charts;
mod detail;
mod device;
mod devices;
mod files;
mod filter;
mod memory;
mod mounts;
mod processes;
mod rows;
pub mod timeline;
mod transfer;
mod transfers;
mod units;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::{LivePane, LiveState};
use crate::app::viewport::Viewport;
use crate::files::safe_text::SafeText;
use crate::snapshot::view::{is_delay_accounting_notice, is_other_users_notice, is_units_notice};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::text::{cut_end, right_aligned};
use crate::ui::live::filter::draw_filter;
use crate::ui::live::rows::{take_bottom, take_top};

/// Minimum width for details of the selected process beside the list.
const DETAIL_MIN_WIDTH: u16 = 140;
/// Width of the details.
const DETAIL_WIDTH: u16 = 46;

/// Minimum width for the long text about parallel devices beside the totals.
const WIDE_NOTE_MIN_WIDTH: u16 = 110;
/// Minimum height of the list of processes for charts of the selected device below it.
const TREND_MIN_LIST_HEIGHT: u16 = 24;
/// Height of these charts.
const TREND_HEIGHT: u16 = 11;
/// The same where the list keeps more rows than it.
const TALL_TREND_HEIGHT: u16 = 15;

/// Draws the screen.
pub fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(sample) = &live.snapshot else {
        Line::styled(
            " waiting for the first sample",
            theme.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    let mut area = with_side_margins(area);
    timeline::draw_below(live, theme, &mut area, buf);
    // The list of units says itself what is missing in it.
    let is_shown = |notice: &&SafeText| !(live.shows_units() && is_units_notice(notice));
    let shown: Vec<SafeText> = sample.notices.iter().filter(is_shown).cloned().collect();
    let notices = shown.len().min(2) as u16;
    let foot = take_bottom(&mut area, notices + u16::from(notices > 0));
    draw_notices(&shown, live.timeline.is_some(), theme, foot, buf);

    if !live.pane.is_lists() {
        draw_pane(live, theme, area, buf);
        return;
    }
    let listed = live.device_list();
    let max = (area.height / 3).max(4) + 1;
    let devices = take_top(&mut area, devices::row_count(&listed).min(max));
    devices::draw(&listed, live, theme, devices, buf);
    let gap = take_top(&mut area, 1);
    devices::draw_totals(live, sample, theme, gap, buf);
    if listed.rows.iter().any(|device| !device.serves_serially) {
        // At most as wide as the columns without totals.
        let note = if gap.width >= WIDE_NOTE_MIN_WIDTH {
            "* parallel device: %util is not saturation"
        } else {
            "* parallel: not saturation"
        };
        right_aligned(note, theme.role_style(StyleRole::Faint)).render(gap, buf);
    }

    let max = (area.height / 2).saturating_sub(2).max(1);
    let count = (sample.transfers.len() as u16).min(max);
    let transfers = take_top(&mut area, count + 1);
    transfers::draw(live, sample, theme, transfers, buf);
    take_top(&mut area, 1);

    if live.is_editing_filter || !live.focused_filter().is_empty() {
        let line = take_bottom(&mut area, 1);
        draw_filter(live, theme, line, buf);
    }
    if area.height >= TREND_MIN_LIST_HEIGHT && live.selected_device().is_some() {
        let height = if area.height >= 2 * TREND_MIN_LIST_HEIGHT - TREND_HEIGHT {
            TALL_TREND_HEIGHT
        } else {
            TREND_HEIGHT
        };
        let strip = take_bottom(&mut area, height);
        take_bottom(&mut area, 1);
        device::draw_trends(live, theme, strip, buf);
    }
    if area.width >= DETAIL_MIN_WIDTH && live.selected_process_id.is_some() {
        let mut pane = area;
        pane.x = area.right() - DETAIL_WIDTH;
        pane.width = DETAIL_WIDTH;
        area.width -= DETAIL_WIDTH + 3;
        detail::draw(live, &Viewport::default(), theme, pane, buf);
    }
    processes::draw(live, theme, area, buf);
}

/// Draws the pane in place of the lists.
fn draw_pane(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    live.viewport.clear_extent();
    match &live.pane {
        LivePane::Lists => {}
        LivePane::Device => device::draw(live, theme, area, buf),
        LivePane::Transfer => transfer::draw(live, theme, area, buf),
        LivePane::Process => detail::draw(live, &live.viewport, theme, area, buf),
        LivePane::OpenFiles(files) => {
            files::draw_open_files(live, files.as_ref(), theme, area, buf)
        }
        LivePane::DeletedFiles(files) => {
            files::draw_deleted_files(files.as_deref(), &live.viewport, theme, area, buf);
        }
        LivePane::Units => units::draw(live, theme, area, buf),
        LivePane::Mounts => mounts::draw(live, theme, area, buf),
        LivePane::Memory => memory::draw(live, theme, area, buf),
    }
}

/// Draws the notices; those that a key can fix come first.
fn draw_notices(
    notices: &[SafeText],
    is_recording: bool,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let faint = theme.role_style(StyleRole::Faint);
    let is_root = !notices.iter().any(|notice| is_other_users_notice(notice));
    for (row, notice) in area.rows().skip(1).zip(notices) {
        let is_accounting = is_delay_accounting_notice(notice);
        let line = if is_accounting && (is_recording || !is_root) {
            let state = match is_recording {
                true => "delay accounting was off",
                false => "delay accounting is off, root can turn it on",
            };
            let text = format!("{} IO%, SWAPIN%: {state}", theme.glyphs().separator);
            Line::styled(cut_end(&text, row.width, theme), faint)
        } else if is_accounting {
            let offer = " turns on delay accounting, which IO% and SWAPIN% need";
            let key = Span::styled("w", theme.role_style(StyleRole::Title));
            Line::from(vec![key, Span::styled(offer, faint)])
        } else {
            let text = format!("{} {notice}", theme.glyphs().separator);
            Line::styled(cut_end(&text, row.width, theme), faint)
        };
        line.render(row, buf);
    }
}
