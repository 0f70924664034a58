//! The selected device: identity, stack, tuning advice, and history.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::drive::{BlockDevice, DriveKind, MountedFileSystem, advice};
use crate::model::history::DevicePoint;
use crate::model::snapshot::DeviceView;
use crate::model::{Snapshot, stack};
use crate::session::document::MetricUnit;
use crate::ui::live::charts::{ChartHistory, draw_history};
use crate::ui::live::rows::fact_line;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::wrap_text;
use crate::units;

/// Minimum width for charts beside the facts.
const CHARTS_BESIDE_MIN_WIDTH: u16 = 110;
/// Width of the charts there.
const CHARTS_WIDTH: u16 = 56;
/// Minimum height for charts below the facts, where they do not fit beside.
const CHARTS_BELOW_MIN_HEIGHT: u16 = 24;

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
    let (facts, charts) = if area.width >= CHARTS_BESIDE_MIN_WIDTH {
        let [facts, charts] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(CHARTS_WIDTH)])
                .spacing(3)
                .areas(area);
        (
            facts,
            Layout::vertical([Constraint::Fill(1); 4]).areas(charts),
        )
    } else {
        let height = if area.height >= CHARTS_BELOW_MIN_HEIGHT {
            area.height / 3
        } else {
            6
        };
        let [facts, charts] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
            .spacing(2)
            .areas(charts);
        (facts, [left, right, Rect::default(), Rect::default()])
    };
    let lines = description_lines(live, sample, device, facts.width, theme);
    scrolled::draw(lines, &live.viewport, theme, facts, buf);
    for (history, place) in chart_histories(live, &device.name).iter().zip(charts) {
        draw_history(history, live.interval, theme, place, buf);
    }
}

fn description_lines(
    live: &LiveState,
    sample: &Snapshot,
    device: &DeviceView,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let title = format!("DEVICE {}  {}", device.name, device.label);
    let mut lines = vec![Line::styled(title, theme.role_style(StyleRole::Title))];
    lines.extend(rate_lines(device, theme));
    let drive = sample.drives.iter().find(|drive| drive.name == device.name);
    if let Some(drive) = drive {
        lines.extend(identity_lines(drive, theme));
        let own = sample.file_systems.iter();
        for file_system in own.filter(|it| it.block_device == drive.number) {
            lines.extend(usage_lines(file_system, theme));
        }
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        format!("{:<24} {:>10} {:>10}", "STACK", "r_await", "w_await"),
        theme.role_style(StyleRole::Title),
    ));
    lines.extend(stack_lines(sample, device, theme));
    if let Some(drive) = drive {
        let load = live.history.read_load(&device.name);
        for advice in advice::tuning_advice(drive, &sample.file_systems, load) {
            lines.push(Line::default());
            lines.push(Line::styled(
                format!("ADVICE {}", advice.code),
                theme.role_style(StyleRole::Warning),
            ));
            lines.extend(wrap_text(&advice.reason, width).into_iter().map(Line::raw));
            let command = Span::styled(advice.command, theme.role_style(StyleRole::Title));
            lines.push(Line::from(vec![Span::raw("  "), command]));
        }
    }
    lines
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

fn identity_lines(drive: &BlockDevice, theme: Theme) -> Vec<Line<'static>> {
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
    let temperature = details.temperature_celsius;
    let temperature = temperature.map(|celsius| format!("{celsius:.0} C"));
    let discard = details.discard_max_bytes.map(|max| match max {
        0 => "no".to_owned(),
        max => format!("up to {}", units::format_block_size(max as f64)),
    });
    let facts = [
        ("serial", serial),
        ("transport", link.or_else(|| drive.transport.clone())),
        ("rotational", drive.rotational.map(yes)),
        ("sectors", drive.sector_kind()),
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
        .filter(|(name, value)| value.is_some() || (is_whole_drive && *name != "aligned"))
        .map(|(name, value)| fact_line(name, value, theme))
        .collect()
}

fn usage_lines(file_system: &MountedFileSystem, theme: Theme) -> Vec<Line<'static>> {
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
    vec![
        fact_line("file system", Some(location), theme),
        fact_line("space", space, theme),
        fact_line("inodes used", inodes, theme),
        fact_line("options", Some(file_system.options.join(",")), theme),
    ]
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
            let name = format!("{}{branch}{}", "  ".repeat(layer.depth), device.name);
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
    let pair = |read, write| {
        vec![
            (points(read), StyleRole::Read),
            (points(write), StyleRole::Write),
        ]
    };
    [
        ChartHistory {
            title: "throughput: read, write",
            unit: MetricUnit::BytesPerSecond,
            curves: pair(|it| it.read_bytes_per_s, |it| it.write_bytes_per_s),
        },
        ChartHistory {
            title: "r_await, w_await",
            unit: MetricUnit::Nanoseconds,
            curves: pair(|it| it.read_await_ns, |it| it.write_await_ns),
        },
        ChartHistory {
            title: "aqu-sz",
            unit: MetricUnit::Count,
            curves: vec![(points(|it| it.queue_size), StyleRole::Warning)],
        },
        ChartHistory {
            title: "areq-sz",
            unit: MetricUnit::Bytes,
            curves: vec![(points(|it| it.request_bytes), StyleRole::Plain)],
        },
    ]
}
