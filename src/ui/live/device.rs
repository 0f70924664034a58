//! The selected device: identity, stack, tuning advice, and history.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::drive::{BlockDevice, DriveKind, unplug};
use crate::report::devices;
use crate::report::unplug::unplug_text;
use crate::session::document::MetricUnit;
use crate::snapshot::advice::{self, TuningAdvice};
use crate::snapshot::history::DevicePoint;
use crate::snapshot::view::DeviceView;
use crate::snapshot::{Snapshot, stack};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::command::command_lines;
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{grouped_thousands, wrap_text};
use crate::ui::live::charts::{ChartHistory, ChartTime, HistoryCurve, draw_history};
use crate::ui::live::rows::{fact_line, wrap_facts};
use crate::units;

/// Minimum width for charts beside the facts.
const CHARTS_BESIDE_MIN_WIDTH: u16 = 110;
/// Width of the charts there.
const CHARTS_WIDTH: u16 = 56;
/// Minimum height of a chart.
const CHART_MIN_HEIGHT: u16 = 7;

/// Draws the device.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (Some(sample), Some(device)) = (&live.snapshot, live.selected_device()) else {
        Line::styled(
            "the selected device was removed",
            theme.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    let histories = chart_histories(live, &device.name);
    let advice = advice_on(live, sample, device);
    let commands = advice_lines(&advice, area.width, theme);
    let areas = PaneAreas::of(area, histories.len(), commands.len());
    let mut lines = description_lines(sample, device, areas.facts.width, theme);
    match areas.advice {
        Some(place) => Text::from(commands).render(place, buf),
        None => lines.extend(commands),
    }
    let lines = wrap_facts(lines, areas.facts.width);
    scrolled::draw(lines, &live.viewport, theme, areas.facts, buf);
    for (history, place) in histories.iter().zip(areas.charts) {
        draw_history(history, ChartTime::of(live), theme, place, buf);
    }
}

/// Where the parts of the pane are. Nothing is beside the commands of the advice: whoever copies their rows
/// would copy parts of a chart too.
struct PaneAreas {
    facts: Rect,
    /// The advice in the whole width; `None`: behind the facts, which have the whole width then.
    advice: Option<Rect>,
    charts: Vec<Rect>,
}

impl PaneAreas {
    /// In a wide terminal the charts are beside the facts, otherwise below.
    fn of(area: Rect, chart_count: usize, advice_height: usize) -> Self {
        let advice_height = u16::try_from(advice_height).unwrap_or(u16::MAX);
        if area.width < CHARTS_BESIDE_MIN_WIDTH || advice_height > area.height / 2 {
            return Self::with_charts_below(area);
        }
        let [upper, advice] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(advice_height)]).areas(area);
        let [facts, charts] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(CHARTS_WIDTH)])
                .spacing(3)
                .areas(upper);
        // A chart that is too low to be read is left out.
        let count = chart_count
            .min(usize::from(charts.height / CHART_MIN_HEIGHT))
            .max(1);
        let rows = Layout::vertical(vec![Constraint::Fill(1); count]).split(charts);
        Self {
            facts,
            advice: Some(advice),
            charts: rows.to_vec(),
        }
    }

    fn with_charts_below(area: Rect) -> Self {
        let height = (area.height / 3).max(CHART_MIN_HEIGHT);
        let [facts, charts] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
            .spacing(2)
            .areas(charts);
        Self {
            facts,
            advice: None,
            charts: vec![left, right],
        }
    }
}

/// Draws throughput, await and queue of the selected device side by side.
pub(super) fn draw_trends(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(device) = live.selected_device() else {
        return;
    };
    let heading = Rect { height: 1, ..area };
    let title = format!(
        "DEVICE {}  Tab, arrow keys: select another",
        device.display_name()
    );
    Line::styled(title, theme.role_style(StyleRole::Faint)).render(heading, buf);
    let body = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    let places: [Rect; 3] = Layout::horizontal([Constraint::Fill(1); 3])
        .spacing(2)
        .areas(body);
    for (history, place) in chart_histories(live, &device.name).iter().zip(places) {
        draw_history(history, ChartTime::of(live), theme, place, buf);
    }
}

fn description_lines(
    sample: &Snapshot,
    device: &DeviceView,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let title = device_title(sample, device);
    let mut lines = vec![Line::styled(title, theme.role_style(StyleRole::Title))];
    lines.extend(current_lines(device, theme));
    lines.extend(rate_lines(device, theme));
    let drive = sample.drives.iter().find(|drive| drive.name == device.name);
    if let Some(drive) = drive {
        lines.extend(unplug_lines(sample, device, drive, width, theme));
        let temperature = sample.temperatures.get(&drive.number).copied();
        lines.extend(identity_lines(drive, temperature, theme));
        lines.extend(usage_lines(sample, drive, theme));
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        format!("{:<24} {:>10} {:>10}", "STACK", "r_await", "w_await"),
        theme.role_style(StyleRole::Title),
    ));
    lines.extend(stack_lines(sample, device, theme));
    lines
}

/// Advice on the settings of the device.
fn advice_on(live: &LiveState, sample: &Snapshot, device: &DeviceView) -> Vec<TuningAdvice> {
    let mut drives = sample.drives.iter();
    let Some(drive) = drives.find(|drive| drive.name == device.name) else {
        return Vec::new();
    };
    let load = live.history.read_load(&device.name);
    advice::tuning_advice(drive, &sample.file_systems, load)
}

fn advice_lines(advice: &[TuningAdvice], width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for advice in advice {
        lines.push(Line::default());
        lines.push(Line::styled(
            format!("ADVICE {}", advice.code),
            theme.role_style(StyleRole::Warning),
        ));
        lines.extend(wrap_text(&advice.reason, width).into_iter().map(Line::raw));
        let style = theme.role_style(StyleRole::Title);
        let command = command_lines(&advice.command, "diskscope devices", width, style, theme);
        lines.extend(command);
    }
    lines
}

/// Whether the drive can be unplugged; nothing for what is no drive, or in older recordings.
fn unplug_lines(
    sample: &Snapshot,
    device: &DeviceView,
    drive: &BlockDevice,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let dirty = device.dirty_bytes.zip(device.writeback_bytes);
    let dirty = dirty.map(|(dirty, writeback)| dirty + writeback);
    let answer = device
        .flush_state
        // To search all processes for each sample would cost more than the sample.
        .and_then(|flush| unplug::unplug_answer(drive, &sample.drives, None, dirty, flush));
    let Some(answer) = answer else {
        return Vec::new();
    };
    let text = unplug_text(&answer, &drive.path);
    let role = match answer.safe {
        Some(true) => StyleRole::Success,
        Some(false) => StyleRole::Plain,
        None => StyleRole::Faint,
    };
    let mut line = fact_line("safe to unplug", Some(text), theme);
    if let Some(value) = line.spans.last_mut() {
        value.style = theme.role_style(role);
    }
    wrap_facts(vec![line], width)
}

/// The name that users know, that of the kernel, and what it is.
fn device_title(sample: &Snapshot, device: &DeviceView) -> String {
    let description = devices::device_description(&sample.devices, device);
    match device.volume {
        Some(_) => format!(
            "DEVICE {}  {}, {description}",
            device.display_name(),
            device.name
        ),
        None => format!("DEVICE {}  {description}", device.name),
    }
}

/// The values of the line in the list.
fn current_lines(device: &DeviceView, theme: Theme) -> Vec<Line<'static>> {
    let direction = |rate: Option<f64>, ios: Option<f64>, await_ns: Option<f64>| {
        let ios = grouped_thousands(ios?);
        let time = await_ns.map_or_else(|| "-".to_owned(), units::format_latency);
        let rate = units::format_throughput(rate?);
        Some(format!("{rate}, {ios} per s, await {time}"))
    };
    let load = device.queue_size.zip(device.busy).map(|(queue, busy)| {
        let mark = if device.serves_serially {
            ""
        } else {
            " (parallel device: not saturation)"
        };
        format!("{queue:.1}, %util {:.0}{mark}", busy * 100.0)
    });
    let mut lines = vec![
        fact_line(
            "read",
            direction(
                device.read_bytes_per_s,
                device.read_ios_per_s,
                device.read_await_ns,
            ),
            theme,
        ),
        fact_line(
            "write",
            direction(
                device.write_bytes_per_s,
                device.write_ios_per_s,
                device.write_await_ns,
            ),
            theme,
        ),
        fact_line("aqu-sz", load, theme),
    ];
    if let Some((dirty, writeback)) = device.dirty_bytes.zip(device.writeback_bytes) {
        lines.push(fact_line(
            "dirty",
            Some(dirty_text(dirty, writeback, device.time_to_flush)),
            theme,
        ));
    }
    lines
}

/// Dirty memory and what is under writeback, and when it is flushed.
pub(super) fn dirty_text(dirty: u64, writeback: u64, flush: Option<Duration>) -> String {
    let size = |bytes: u64| units::format_capacity(bytes as f64);
    let flush = flush.map_or_else(String::new, |time| {
        format!(", flushed within {}", units::format_estimate(time))
    });
    format!("{}, writeback {}{flush}", size(dirty), size(writeback))
}

/// The values of iostat -x that the line in the list omits.
fn rate_lines(device: &DeviceView, theme: Theme) -> Vec<Line<'static>> {
    let size = |bytes: Option<f64>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |bytes| units::format_block_size((bytes / 512.0).round() * 512.0),
        )
    };
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), units::format_latency);
    let both = |a: Option<f64>, b: Option<f64>| {
        Some(format!(
            "{}, {}",
            a.map_or("-".to_owned(), units::format_percent),
            b.map_or("-".to_owned(), units::format_percent)
        ))
    };
    vec![
        fact_line(
            "in flight",
            device.in_flight.map(|count| count.to_string()),
            theme,
        ),
        fact_line(
            "%rrqm, %wrqm",
            both(device.read_merged_fraction, device.write_merged_fraction),
            theme,
        ),
        fact_line(
            "areq-sz r, w",
            Some(format!(
                "{}, {}",
                size(device.read_request_bytes),
                size(device.write_request_bytes)
            )),
            theme,
        ),
        fact_line(
            "discards",
            device.discard_ios_per_s.map(|rate| {
                let bytes = device
                    .discard_bytes_per_s
                    .map_or_else(String::new, units::format_throughput);
                format!(
                    "{rate:.0} d/s {bytes}, d_await {}",
                    time(device.discard_await_ns)
                )
            }),
            theme,
        ),
        fact_line(
            "flushes",
            device
                .flush_ios_per_s
                .map(|rate| format!("{rate:.0} f/s, f_await {}", time(device.flush_await_ns))),
            theme,
        ),
    ]
}

fn identity_lines(
    drive: &BlockDevice,
    temperature: Option<f64>,
    theme: Theme,
) -> Vec<Line<'static>> {
    let details = &drive.details;
    let kib = |kib: Option<u32>| kib.map(|kib| units::format_block_size(f64::from(kib) * 1024.0));
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let link = details.link.as_ref().map(|link| {
        let ceiling = units::format_throughput(link.max_bytes_per_s as f64);
        format!("{}, max {ceiling}", link.name)
    });
    let depth = match (drive.queue_depth, details.queue_requests) {
        (Some(own), Some(kernel)) => Some(format!(
            "{own} in the drive, {kernel} in the kernel (nr_requests)"
        )),
        (own, kernel) => own.or(kernel).map(|count| count.to_string()),
    };
    let scheduler = drive
        .scheduler
        .as_ref()
        .map(|now| format!("{now} of {}", details.schedulers.join(" ")));
    let firmware = drive.firmware.as_ref();
    let serial = drive.serial.as_ref().map(|serial| match firmware {
        Some(firmware) => format!("{serial}, firmware {firmware}"),
        None => serial.clone(),
    });
    let temperature = temperature.map(|celsius| format!("{celsius:.0} C"));
    let discard = details.discard_max_bytes.map(|max| match max {
        0 => "no".to_owned(),
        max => format!("up to {}", units::format_block_size(max as f64)),
    });
    let facts = [
        ("serial", serial),
        ("by-id", drive.by_id.clone()),
        ("transport", link.or_else(|| drive.transport.clone())),
        ("rotational", drive.rotational.map(yes)),
        ("sectors", devices::sector_kind(drive)),
        ("scheduler", scheduler),
        ("queue depth", depth),
        ("read-ahead", kib(drive.read_ahead_kib)),
        ("max request", kib(drive.max_request_kib)),
        ("write cache", drive.write_cache.clone()),
        ("discard", discard),
        ("zoned", details.zoned.clone()),
        ("temperature", temperature),
        ("aligned", drive.aligned.map(yes)),
    ];
    // A value that a drive does not report is unknown; a partition or a volume has no such value.
    let is_whole_drive = matches!(drive.kind, DriveKind::Disk | DriveKind::Optical);
    facts
        .into_iter()
        .filter(|(name, value)| {
            value.is_some() || (is_whole_drive && !["aligned", "by-id"].contains(name))
        })
        .map(|(name, value)| fact_line(name, value, theme))
        .collect()
}

/// The file systems on a drive.
fn usage_lines(sample: &Snapshot, drive: &BlockDevice, theme: Theme) -> Vec<Line<'static>> {
    let all = sample.file_systems.iter();
    let own = all.filter(|file_system| file_system.block_device == drive.number);
    own.flat_map(|file_system| {
        let usage = file_system.usage;
        let space = usage.and_then(|usage| {
            let size = units::format_capacity(usage.size_bytes as f64);
            let reserved = usage
                .reserved_fraction()
                .map(units::format_percent)
                .unwrap_or_default();
            Some(format!(
                "{} of {size} used, {reserved} reserved",
                units::format_percent(usage.used_fraction()?)
            ))
        });
        let inodes = usage
            .and_then(|usage| usage.used_inode_fraction())
            .map(units::format_percent);
        let location = format!("{} on {}", file_system.kind, file_system.mount_point);
        [
            fact_line("file system", Some(location), theme),
            fact_line("space", space, theme),
            fact_line("inodes used", inodes, theme),
            fact_line("options", Some(file_system.options.join(",")), theme),
        ]
    })
    .collect()
}

/// The stack from the drives upwards, with the latency at each layer.
fn stack_lines(sample: &Snapshot, selected: &DeviceView, theme: Theme) -> Vec<Line<'static>> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), units::format_latency);
    stack::stack_of(&sample.devices, &selected.name)
        .into_iter()
        .map(|layer| {
            let device = &sample.devices[layer.device_index];
            let branch = if layer.depth > 0 {
                theme.glyphs().branch
            } else {
                ""
            };
            let name = format!(
                "{}{branch}{}",
                "  ".repeat(layer.depth),
                device.display_name()
            );
            let mount_point = device.mount_point.as_deref().unwrap_or("");
            let text = format!(
                "{name:<24} {:>10} {:>10}  {mount_point}",
                time(device.read_await_ns),
                time(device.write_await_ns)
            );
            let role = if device.name == selected.name {
                StyleRole::Title
            } else {
                StyleRole::Plain
            };
            Line::styled(text, theme.role_style(role))
        })
        .collect()
}

fn chart_histories(live: &LiveState, device: &str) -> [ChartHistory; 4] {
    let points = |of: fn(&DevicePoint) -> Option<f32>| -> Vec<Option<f32>> {
        live.history
            .points_of(device)
            .into_iter()
            .flatten()
            .map(of)
            .collect()
    };
    let curve = |name, role, of: fn(&DevicePoint) -> Option<f32>| HistoryCurve {
        name,
        values: points(of),
        role,
    };
    [
        ChartHistory {
            title: "throughput",
            unit: MetricUnit::BytesPerSecond,
            curves: vec![
                curve("r", StyleRole::Read, |it| it.read_bytes_per_s),
                curve("w", StyleRole::Write, |it| it.write_bytes_per_s),
            ],
        },
        ChartHistory {
            title: "await",
            unit: MetricUnit::Nanoseconds,
            curves: vec![
                curve("r", StyleRole::Read, |it| it.read_await_ns),
                curve("w", StyleRole::Write, |it| it.write_await_ns),
            ],
        },
        ChartHistory {
            title: "queue",
            unit: MetricUnit::Count,
            curves: vec![curve("aqu-sz", StyleRole::Warning, |it| it.queue_size)],
        },
        ChartHistory {
            title: "request size",
            unit: MetricUnit::Bytes,
            curves: vec![curve("areq-sz", StyleRole::Plain, |it| it.request_bytes)],
        },
    ]
}
