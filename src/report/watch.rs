//! A snapshot as text, or as one line of JSON.

mod lists;
pub(super) mod table;
mod transfers;

use std::time::Duration;

use self::table::{cell, cut, display_width, table_text};
use crate::columns::Value;
use crate::columns::program_totals::{ProgramTotal, ProgramTotals};
use crate::columns::swap::SwapTraffic;
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::view::HostView;
use crate::units::{Unit, format_capacity, format_estimate};

/// Writers that will be throttled later than this are not worth a message.
const DIRTY_LIMIT_HORIZON: Duration = Duration::from_secs(300);
/// Programs in the report of totals at most.
const MAX_PROGRAMS: usize = 30;

/// How a sample is laid out as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextLayout {
    /// Terminal columns; without a limit nothing is cut.
    pub width: Option<usize>,
    /// Also partitions, idle loop devices and the layers below volumes.
    pub all_devices: bool,
}

/// One line of JSON without a newline; `docs/fields.md` describes the fields.
///
/// # Errors
/// Never fails for a view built by the model; the error is serde's.
pub fn json_line(live: &Snapshot) -> serde_json::Result<String> {
    crate::snapshot::snapshot_line(live)
}

/// Tables of devices, transfers and processes; every line ends in a newline.
/// Idle devices are omitted, except drives without devices below them, and so are devices that
/// another line stands for.
#[must_use]
pub fn watch_text(live: &Snapshot, layout: TextLayout) -> String {
    let width = layout.width;
    [
        host_heading(live, width),
        lists::devices_text(live, layout.all_devices, width),
        transfers::transfers_text(&live.transfers, width),
        transfers::growing_text(&live.growing_files, width),
        lists::mounts_text(live.mounts.as_deref(), width),
        lists::units_text(live.units.as_deref(), width),
        cut_known(totals_line(live), width),
        lists::processes_text(&live.processes, live.process_count, width),
        lists::by_device_text(live, width),
    ]
    .concat()
}

/// What processes read and wrote at devices, and what drives did (iotop's two lines).
fn totals_line(live: &Snapshot) -> Option<String> {
    let total = &live.total;
    if total.actual_read_bytes_per_s.is_none() && total.read_bytes_per_s.is_none() {
        return None;
    }
    let rate = |bytes: Option<f64>| Value::from(bytes).cell(Unit::BytesPerSecond);
    Some(format!(
        "MB/s: processes r {} w {}, drives r {} w {}",
        rate(total.read_bytes_per_s),
        rate(total.write_bytes_per_s),
        rate(total.actual_read_bytes_per_s),
        rate(total.actual_write_bytes_per_s),
    ))
}

fn cut_known(line: Option<String>, width: Option<usize>) -> String {
    line.map_or_else(String::new, |line| cut(line, width))
}

/// What could not be read and why, once each: the notices of a view that are not in `printed`,
/// to which they are added.
pub fn new_notices(live: &Snapshot, printed: &mut Vec<SafeText>) -> String {
    let mut text = String::new();
    for notice in &live.notices {
        if !printed.contains(notice) {
            text += &format!("note: {notice}\n");
            printed.push(notice.clone());
        }
    }
    text
}

/// The programs with most I/O since the first sample, ended processes included; empty without any.
#[must_use]
pub fn program_totals_text(totals: &ProgramTotals, width: Option<usize>) -> String {
    let programs = totals.by_bytes();
    if programs.is_empty() {
        return String::new();
    }
    let shown: &[&ProgramTotal] = &programs[..programs.len().min(MAX_PROGRAMS)];
    let heading = format!("PROGRAM ({} since the first sample)", programs.len());
    table_text(shown, width, Some(&heading))
}

/// Time, host, load; then pressure, swap traffic and dirty memory.
fn host_heading(live: &Snapshot, width: Option<usize>) -> String {
    let host = &live.host;
    let mut first = vec![whole_seconds(&live.time)];
    let names = host.name.iter().chain(&host.kernel);
    first.extend(names.map(ToString::to_string));
    let load = host.load_averages;
    first.extend(load.map(|load| format!("load {:.1}", load[0])));
    let mut second = Vec::new();
    if host.pressure_some.is_some() && host.pressure_full.is_some() {
        let (some, full) = (cell("pressure_some", live), cell("pressure_full", live));
        second.push(format!("PSI io some {some} % full {full} %"));
    }
    second.extend(SwapTraffic::of(live).map(|swap| swap.text()));
    second.extend(dirty_text(host));
    cut(first.join("  "), width) + &folded(&second, width)
}

/// An RFC 3339 time without its fraction of a second.
fn whole_seconds(time: &str) -> String {
    let Some((seconds, fraction)) = time.split_once('.') else {
        return time.to_owned();
    };
    seconds.to_owned() + fraction.trim_start_matches(|it: char| it.is_ascii_digit())
}

/// The parts on as few lines as they fit on.
fn folded(parts: &[String], width: Option<usize>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width.is_none_or(|it| display_width(line) + part.len() + 2 <= it) => {
                line.push_str("  ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines.into_iter().map(|line| cut(line, width)).collect()
}

fn dirty_text(host: &HostView) -> Option<String> {
    let size = format_capacity(host.dirty_bytes? as f64);
    let flush = host.time_to_flush.map(format_estimate);
    let flush = flush.map_or_else(String::new, |time| format!(", flushed in {time}"));
    Some(format!("dirty {size}{flush}{}", dirty_limit_text(host)))
}

/// The time until dirty memory reaches the limit at which writers are throttled.
fn dirty_limit_text(host: &HostView) -> String {
    match host.time_to_throttle {
        Some(left) if left.is_zero() => ", writers throttled".to_owned(),
        Some(left) if left <= DIRTY_LIMIT_HORIZON => {
            format!(", writers throttled in {}", format_estimate(left))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::Entity;
    use crate::drive::{BlockDevice, DeviceUse};
    use crate::probe::sample::UnitKind;
    use crate::snapshot::view::{
        DeviceShare, DeviceView, ProcessView, TotalRates, TracedInterval, TransferState,
        TransferView, UnitLimit, UnitView,
    };

    const LAYOUT: TextLayout = TextLayout {
        width: Some(80),
        all_devices: false,
    };

    fn test_view() -> Snapshot {
        Snapshot {
            time: "2026-11-20T20:34:29Z".into(),
            interval: Some(Duration::from_secs(1)),
            host: HostView {
                name: Some("web-07".into()),
                kernel: Some("6.1.0-56".into()),
                load_averages: Some([1.84, 1.0, 0.5]),
                pressure_some: Some(0.12),
                pressure_full: Some(0.04),
                dirty_bytes: Some(812_000_000),
                time_to_flush: Some(Duration::from_secs(9)),
                ..HostView::default()
            },
            devices: vec![
                DeviceView {
                    name: "nvme0n1".into(),
                    read_ios_per_s: Some(1204.0),
                    write_ios_per_s: Some(0.0),
                    read_bytes_per_s: Some(78.9e6),
                    write_bytes_per_s: Some(0.0),
                    read_await_ns: Some(110_000.0),
                    queue_size: Some(0.2),
                    busy: Some(0.11),
                    ..DeviceView::default()
                },
                DeviceView {
                    name: "sda".into(),
                    ..DeviceView::default()
                },
            ],
            processes: vec![ProcessView {
                pid: 4711,
                tid: 4711,
                user: Some("backup".into()),
                command: "cp --sparse=always /srv/img/vm7.raw /mnt/backup/of/a/long/name".into(),
                read_bytes_per_s: Some(101.2e6),
                write_bytes_per_s: Some(100e3),
                rchar_bytes_per_s: Some(103e6),
                cache_fraction: Some(0.02),
                ..ProcessView::default()
            }],
            process_count: 2074,
            total: TotalRates::default(),
            traced: None,
            transfers: vec![TransferView {
                pid: Some(4711),
                command: "cp".into(),
                source: Some("/srv/img/vm7.raw".into()),
                destination: Some("/mnt/backup/vm7.raw".into()),
                position_bytes: Some(61_200_000_000),
                size_bytes: Some(98_000_000_000),
                rate_bytes_per_s: Some(101e6),
                eta: Some(Duration::from_secs(364)),
                eta_low: Some(Duration::from_secs(350)),
                eta_high: Some(Duration::from_secs(400)),
                state: TransferState::Moving,
                ..TransferView::default()
            }],
            growing_files: Vec::new(),
            mounts: None,
            blocked: None,
            io_errors: None,
            units: None,
            drives: Default::default(),
            temperatures: Default::default(),
            file_systems: Default::default(),
            notices: vec!["I/O wait: n/a".into()],
        }
    }

    #[test]
    fn watch_sample_is_formatted_as_text() {
        insta::assert_snapshot!(watch_text(&test_view(), LAYOUT));
    }

    #[test]
    fn busy_units_are_listed_with_pressure_and_use_of_their_limits() {
        let unit = |name: &str, kind, rate| UnitView {
            path: format!("/{name}").into(),
            name: name.into(),
            kind,
            read_bytes_per_s: Some(rate),
            write_bytes_per_s: Some(0.0),
            read_ios_per_s: Some(rate / 1e6),
            write_ios_per_s: Some(0.0),
            pressure_some: Some(0.38),
            pressure_full: None,
            limits: Vec::new(),
        };
        let mut live = test_view();
        let mut limited = unit("nightly-backup.service", UnitKind::Service, 101.2e6);
        limited.limits = vec![UnitLimit {
            device: "sda".into(),
            read_bytes_per_s: Some(104_857_600),
            write_bytes_per_s: None,
            read_ios_per_s: None,
            write_ios_per_s: None,
            usage: Some(0.965),
        }];
        live.units = Some(vec![
            limited,
            unit("system.slice", UnitKind::Slice, 101.2e6),
            unit("shop/db-0/postgres", UnitKind::Container, 12e6),
        ]);
        insta::assert_snapshot!(watch_text(&live, LAYOUT));
    }

    #[test]
    fn processes_are_listed_by_device_where_requests_were_traced() {
        let share = |name: &str, read: f64| DeviceShare {
            name: name.into(),
            read_bytes_per_s: Some(read),
            write_bytes_per_s: Some(0.0),
            read_ios_per_s: Some(read / 4096.0),
            write_ios_per_s: Some(0.0),
        };
        let mut live = test_view();
        live.total = TotalRates {
            read_bytes_per_s: Some(101.2e6),
            write_bytes_per_s: Some(100e3),
            actual_read_bytes_per_s: Some(103e6),
            actual_write_bytes_per_s: None,
        };
        live.processes[0].devices = vec![share("sda", 90e6), share("nvme0n1", 11.2e6)];
        live.traced = Some(TracedInterval {
            unattributed: vec![share("sda", 1.8e6)],
            events_lost: 12,
        });
        insta::assert_snapshot!(watch_text(&live, LAYOUT));
    }

    #[test]
    fn watch_json_line_has_contract_keys() {
        let line = json_line(&test_view()).unwrap();
        assert!(!line.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["interval_ns"], 1_000_000_000_u64);
        assert_eq!(json["devices"][0]["read_ios_per_s"], 1204.0);
        assert!(json["devices"][1]["read_ios_per_s"].is_null());
        assert_eq!(
            json["processes"][0]["command"].as_str().map(str::len),
            Some(62)
        );
        assert!(json["processes"][0]["io_wait"].is_null());
        assert_eq!(json["transfers"][0]["eta_ns"], 364_000_000_000_u64);
        assert_eq!(json["transfers"][0]["state"], "moving");
        assert!(json["processes"][0]["read_syscalls_per_s"].is_null());
        assert!(json["processes"][0]["devices"].is_array());
        assert!(json["total"]["actual_read_bytes_per_s"].is_null());
    }

    #[test]
    fn probe_notice_is_printed_once() {
        let mut printed = Vec::new();
        assert_eq!(
            new_notices(&test_view(), &mut printed),
            "note: I/O wait: n/a\n"
        );
        assert_eq!(new_notices(&test_view(), &mut printed), "");
    }

    #[test]
    fn text_without_a_width_is_not_cut_and_names_the_program_first() {
        let mut live = test_view();
        let long = "/srv/a/rather/long/path/".repeat(9);
        live.processes[0].command = format!("/usr/bin/python3 /opt/bin/borg {long}").into();
        live.transfers[0].source = Some(long.as_str().into());
        let text = watch_text(&live, TextLayout::default());
        let command = format!("borg {long} (/usr/bin/python3 /opt/bin/borg)");
        let transfer = format!("  {long} -> /mnt/backup/vm7.raw");
        for line in [command, transfer] {
            assert!(text.lines().any(|it| it.ends_with(&line)), "{line}\n{text}");
        }
        let heading = text
            .lines()
            .find(|line| line.starts_with("Device"))
            .unwrap();
        for column in DeviceView::COLUMNS.iter().filter(|it| it.is_in_tables()) {
            assert!(heading.contains(column.name), "{heading}");
        }
        let narrow = watch_text(&live, LAYOUT);
        assert!(narrow.contains(" borg /srv/a/rather"), "{narrow}");
    }

    #[test]
    fn heading_has_whole_seconds_and_folds_where_it_is_too_wide() {
        let mut live = test_view();
        live.time = "2026-11-20T20:34:29.1234567+02:00".into();
        live.host.swap_in_bytes_per_s = Some(180e6);
        live.host.time_to_throttle = Some(Duration::from_secs(21));
        let text = watch_text(&live, LAYOUT);
        let heading: Vec<&str> = text.lines().take(3).collect();
        assert!(heading[0].starts_with("2026-11-20T20:34:29+02:00  web-07"));
        assert!(heading[1].starts_with("PSI io some"), "{text}");
        assert!(heading[2].ends_with("writers throttled in ~21 s"), "{text}");
        let wide = watch_text(&live, TextLayout::default());
        assert!(
            wide.lines()
                .nth(2)
                .is_some_and(|it| it.starts_with("Device"))
        );
    }

    #[test]
    fn swap_traffic_is_told_with_its_device() {
        let mut live = test_view();
        live.host.swap_in_bytes_per_s = Some(180e6);
        live.host.swap_out_bytes_per_s = Some(175e6);
        let drive = |name: &str, users| BlockDevice {
            name: name.to_owned(),
            users,
            ..BlockDevice::default()
        };
        live.drives = [
            drive("sda", vec![]),
            drive("nvme0n1", vec![DeviceUse::Swap]),
        ]
        .into();
        let text = watch_text(&live, LAYOUT);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].contains("  swap in 180 out 175 MB/s  dirty"),
            "{text}"
        );
        assert!(
            lines.contains(&"swap in 180 out 175 MB/s on nvme0n1"),
            "{text}"
        );
        live.host.swap_in_bytes_per_s = Some(0.0);
        live.host.swap_out_bytes_per_s = Some(0.0);
        assert!(!watch_text(&live, LAYOUT).contains("swap"));
    }

    proptest! {
        #[test]
        fn watch_text_fits_the_terminal(
            width in 40_usize..300,
            name in "\\PC{0,60}", source in "\\PC{0,120}", destination in "\\PC{0,120}",
            rate in 0.0..1e12_f64, bytes: u64, seconds in 0_u64..1 << 31,
        ) {
            let mut live = test_view();
            live.devices[0].name = name.clone().into();
            live.devices[0].read_bytes_per_s = Some(rate);
            live.devices[0].read_ios_per_s = Some(rate);
            live.processes[0].command = source.clone().into();
            live.processes[0].user = Some(name.clone().into());
            live.transfers[0].command = name.into();
            live.transfers[0].source = Some(source.into());
            live.transfers[0].destination = Some(destination.into());
            live.transfers[0].size_bytes = Some(bytes);
            live.transfers[0].eta = Some(Duration::from_secs(seconds));
            let layout = TextLayout {
                width: Some(width),
                all_devices: false,
            };
            for line in watch_text(&live, layout).lines() {
                prop_assert!(display_width(line) <= width, "{} columns: {line}", display_width(line));
            }
        }
    }
}
