//! The selected device: what it is, what lies on what, what could be better, and its history.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::charts::{History, chart};
use super::fact;
use crate::app::live::LiveState;
use crate::drive::{Drive, DriveKind, FileSystem, advice};
use crate::model::Live;
use crate::model::history::Point;
use crate::model::live::DeviceView;
use crate::model::stack;
use crate::session::document::Unit;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::wrapped;
use crate::units;

/// From this width on the charts stand beside the facts.
const BESIDE: u16 = 110;
/// Width of the charts there.
const CHARTS: u16 = 56;
/// From this height on there are charts below the facts where they do not fit beside.
const BELOW: u16 = 24;

/// Draws it.
pub(super) fn draw(live: &LiveState, look: Look, area: Rect, buf: &mut Buffer) {
    let (Some(sample), Some(device)) = (&live.sample, live.selected_device()) else {
        Line::styled("the selected device is gone", look.style(Meaning::Faint)).render(area, buf);
        return;
    };
    let (facts, charts) = if area.width >= BESIDE {
        let [facts, charts] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(CHARTS)])
            .spacing(3)
            .areas(area);
        (
            facts,
            Layout::vertical([Constraint::Fill(1); 4]).areas(charts),
        )
    } else {
        let height = if area.height >= BELOW {
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
    let lines = describe(live, sample, device, facts.width, look);
    scrolled::draw(lines, &live.viewport, look, facts, buf);
    for (history, place) in histories(live, &device.name).iter().zip(charts) {
        chart(history, live.interval, look, place, buf);
    }
}

fn describe(
    live: &LiveState,
    sample: &Live,
    device: &DeviceView,
    width: u16,
    look: Look,
) -> Vec<Line<'static>> {
    let title = format!("DEVICE {}  {}", device.name, device.label);
    let mut lines = vec![Line::styled(title, look.style(Meaning::Title))];
    lines.extend(rates(device, look));
    let drive = sample.drives.iter().find(|drive| drive.name == device.name);
    if let Some(drive) = drive {
        lines.extend(identity(drive, look));
        let own = sample.file_systems.iter();
        for file_system in own.filter(|it| it.device == drive.number) {
            lines.extend(fullness(file_system, look));
        }
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        "STACK, await of reads and writes",
        look.style(Meaning::Title),
    ));
    lines.extend(layers(sample, device, look));
    if let Some(drive) = drive {
        let load = live.history.load(&device.name);
        for advice in advice::advise(drive, &sample.file_systems, load) {
            lines.push(Line::default());
            lines.push(Line::styled(
                format!("ADVICE {}", advice.code),
                look.style(Meaning::Waiting),
            ));
            lines.extend(wrapped(&advice.reason, width).into_iter().map(Line::raw));
            let command = Span::styled(advice.command, look.style(Meaning::Title));
            lines.push(Line::from(vec![Span::raw("  "), command]));
        }
    }
    lines
}

/// What iostat -x has beyond the line in the list.
fn rates(device: &DeviceView, look: Look) -> Vec<Line<'static>> {
    let size = |bytes: Option<f64>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |bytes| units::block_size((bytes / 512.0).round() * 512.0),
        )
    };
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), units::latency);
    let both = |a: Option<f64>, b: Option<f64>| {
        Some(format!(
            "{} / {}",
            a.map_or("-".to_owned(), units::percent),
            b.map_or("-".to_owned(), units::percent)
        ))
    };
    vec![
        fact(
            "in flight",
            device.in_flight.map(|count| format!("{count} now")),
            look,
        ),
        fact(
            "merged r / w",
            both(device.read_merged, device.write_merged),
            look,
        ),
        fact(
            "size r / w",
            Some(format!(
                "{} / {}",
                size(device.read_request_bytes),
                size(device.write_request_bytes)
            )),
            look,
        ),
        fact(
            "discards",
            device.discard_ios_per_s.map(|rate| {
                let bytes = device
                    .discard_bytes_per_s
                    .map_or_else(String::new, units::throughput);
                format!(
                    "{rate:.0}/s {bytes}, await {}",
                    time(device.discard_await_ns)
                )
            }),
            look,
        ),
        fact(
            "flushes",
            device
                .flush_ios_per_s
                .map(|rate| format!("{rate:.0}/s, await {}", time(device.flush_await_ns))),
            look,
        ),
    ]
}

fn identity(drive: &Drive, look: Look) -> Vec<Line<'static>> {
    let details = &drive.details;
    let kib = |kib: Option<u32>| kib.map(|kib| units::block_size(f64::from(kib) * 1024.0));
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let link = details.link.as_ref().map(|link| {
        let ceiling = units::throughput(link.ceiling_bytes_per_s as f64);
        format!("{}, at most {ceiling}", link.name)
    });
    let depth = match (drive.queue_depth, details.queue_requests) {
        (Some(own), Some(kernel)) => Some(format!("{own} in the drive, {kernel} in the kernel")),
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
    let temperature = temperature.map(|warm| format!("{warm:.0} C"));
    let discard = details.discard_max_bytes.map(|most| match most {
        0 => "no".to_owned(),
        most => format!("up to {}", units::block_size(most as f64)),
    });
    let facts = [
        ("serial", serial),
        ("bus", link.or_else(|| drive.transport.clone())),
        ("rotates", drive.rotational.map(yes)),
        ("sectors", drive.sector_kind()),
        ("scheduler", scheduler),
        ("queue depth", depth),
        ("read-ahead", kib(drive.read_ahead_kib)),
        ("largest request", kib(drive.max_request_kib)),
        ("write cache", drive.write_cache.clone()),
        ("discard", discard),
        ("zoned", details.zoned.clone()),
        ("temperature", temperature),
        ("aligned", drive.aligned.map(yes)),
    ];
    // What a drive does not tell is unknown; a partition or a volume has no such thing.
    let whole = matches!(drive.kind, DriveKind::Disk | DriveKind::Optical);
    facts
        .into_iter()
        .filter(|(name, value)| value.is_some() || (whole && *name != "aligned"))
        .map(|(name, value)| fact(name, value, look))
        .collect()
}

fn fullness(file_system: &FileSystem, look: Look) -> Vec<Line<'static>> {
    let usage = file_system.usage;
    let space = usage.and_then(|usage| {
        let size = units::capacity(usage.size_bytes as f64);
        let reserved = usage.reserved().map(units::percent).unwrap_or_default();
        Some(format!(
            "{} of {size} used, {reserved} reserved",
            units::percent(usage.used()?)
        ))
    });
    let inodes = usage
        .and_then(|usage| usage.inodes_used())
        .map(units::percent);
    let place = format!("{} on {}", file_system.kind, file_system.at);
    vec![
        fact("file system", Some(place), look),
        fact("space", space, look),
        fact("inodes used", inodes, look),
        fact("options", Some(file_system.options.join(",")), look),
    ]
}

/// The stack from the drives upwards, with the response time at each layer.
fn layers(sample: &Live, selected: &DeviceView, look: Look) -> Vec<Line<'static>> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), units::latency);
    stack::of(&sample.devices, &selected.name)
        .into_iter()
        .map(|layer| {
            let device = &sample.devices[layer.device];
            let branch = if layer.depth > 0 {
                look.glyphs().branch
            } else {
                ""
            };
            let name = format!("{}{branch}{}", "  ".repeat(layer.depth), device.name);
            let at = device.mounted_at.as_deref().unwrap_or("");
            let text = format!(
                "{name:<24} {:>10} {:>10}  {at}",
                time(device.read_await_ns),
                time(device.write_await_ns)
            );
            let meaning = if device.name == selected.name {
                Meaning::Title
            } else {
                Meaning::Plain
            };
            Line::styled(text, look.style(meaning))
        })
        .collect()
}

fn histories(live: &LiveState, device: &str) -> [History; 4] {
    let points = |of: fn(&Point) -> Option<f32>| -> Vec<Option<f32>> {
        live.history
            .of(device)
            .into_iter()
            .flatten()
            .map(of)
            .collect()
    };
    let pair = |read, write| {
        vec![
            (points(read), Meaning::Read),
            (points(write), Meaning::Write),
        ]
    };
    [
        History {
            title: "throughput, read and written",
            unit: Unit::BytesPerSecond,
            curves: pair(|it| it.read_bytes_per_s, |it| it.write_bytes_per_s),
        },
        History {
            title: "await of reads and writes",
            unit: Unit::Nanoseconds,
            curves: pair(|it| it.read_await_ns, |it| it.write_await_ns),
        },
        History {
            title: "queue",
            unit: Unit::Count,
            curves: vec![(points(|it| it.queue_size), Meaning::Waiting)],
        },
        History {
            title: "request size",
            unit: Unit::Bytes,
            curves: vec![(points(|it| it.request_bytes), Meaning::Plain)],
        },
    ]
}
