//! A view of the moment as text of 80 columns, or as one line of JSON.

use std::fmt::Write as _;
use std::time::Duration;

use crate::model::Live;
use crate::model::live::HostView;
use crate::units;

mod columns;
mod devices;
mod processes;
mod transfers;

use crate::safe_text::SafeText;
use columns::{WIDTH, fitted};

/// Writers that wait later than this are nobody's trouble yet.
const SOON: Duration = Duration::from_secs(300);

/// One line of JSON without the line's end; the fields are those of `docs/fields.md`.
///
/// # Errors
/// Does not fail for a view that the model made; the error is serde's.
pub fn line(live: &Live) -> serde_json::Result<String> {
    crate::safe_json::to_string(live)
}

/// Tables of devices, transfers and processes that fit 80 columns; every line ends in a newline.
/// Devices that did nothing are left out, except drives that lie on no other device.
#[must_use]
pub fn text(live: &Live) -> String {
    let mut text = heading(live);
    devices::devices(&mut text, &live.devices);
    transfers::transfers(&mut text, &live.transfers);
    transfers::growing(&mut text, &live.growing);
    processes::processes(&mut text, &live.processes, live.process_count);
    text
}

/// What could not be read and why, each said once: the notices of a view that are not among those
/// that `said` holds, which takes them up.
pub fn new_notices(live: &Live, said: &mut Vec<SafeText>) -> String {
    let mut text = String::new();
    for notice in &live.notices {
        if !said.contains(notice) {
            let _ = writeln!(text, "note: {notice}");
            said.push(notice.clone());
        }
    }
    text
}

fn heading(live: &Live) -> String {
    let HostView {
        name,
        kernel,
        load,
        pressure_some,
        pressure_full,
        ..
    } = &live.host;
    let mut words = vec![live.time.clone()];
    words.extend(name.clone());
    words.extend(kernel.clone());
    words.extend(load.map(|load| format!("load {:.1}", load[0]).into()));
    let mut second = Vec::new();
    if let (Some(some), Some(full)) = (pressure_some, pressure_full) {
        second.push(format!(
            "io pressure some {} full {}",
            units::percent(*some),
            units::percent(*full)
        ));
    }
    second.extend(live.host.dirty_bytes.map(|bytes| {
        let drain = live
            .host
            .drain
            .map(|time| format!(" -> disk in ~{}", units::waiting(time)));
        format!(
            "dirty {}{}{}",
            units::capacity(bytes as f64),
            drain.unwrap_or_default(),
            limit(&live.host)
        )
    }));
    let mut text = fitted(&words.join("  "), WIDTH).trim_end().to_owned();
    text.push('\n');
    if !second.is_empty() {
        text.push_str(fitted(&second.join("  "), WIDTH).trim_end());
        text.push('\n');
    }
    text
}

/// How near dirty memory is to where writers have to wait.
fn limit(host: &HostView) -> String {
    match host.throttle {
        Some(left) if left.is_zero() => ", writers wait".to_owned(),
        Some(left) if left <= SOON => format!(", writers wait in {}", units::waiting(left)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::columns::columns;
    use super::*;
    use crate::model::live::{DeviceView, ProcessView, TransferState, TransferView};

    fn view() -> Live {
        Live {
            time: "2026-11-20T20:34:29Z".into(),
            interval: Some(Duration::from_secs(1)),
            host: HostView {
                name: Some("web-07".into()),
                kernel: Some("6.1.0-56".into()),
                load: Some([1.84, 1.0, 0.5]),
                pressure_some: Some(0.12),
                pressure_full: Some(0.04),
                dirty_bytes: Some(812_000_000),
                drain: Some(Duration::from_secs(9)),
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
                asked_read_bytes_per_s: Some(103e6),
                cached: Some(0.02),
                ..ProcessView::default()
            }],
            process_count: 2074,
            transfers: vec![TransferView {
                pid: 4711,
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
            growing: Vec::new(),
            drives: Default::default(),
            file_systems: Default::default(),
            notices: vec!["I/O wait: n/a".into()],
        }
    }

    #[test]
    fn the_text_of_a_moment() {
        insta::assert_snapshot!(text(&view()));
    }

    #[test]
    fn a_line_of_json_has_the_names_of_the_contract() {
        let line = line(&view()).unwrap();
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
    }

    #[test]
    fn a_notice_is_said_once() {
        let mut said = Vec::new();
        assert_eq!(new_notices(&view(), &mut said), "note: I/O wait: n/a\n");
        assert_eq!(new_notices(&view(), &mut said), "");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_80(
            name in "\\PC{0,60}", source in "\\PC{0,120}", destination in "\\PC{0,120}",
            rate in 0.0..1e12_f64, bytes: u64, seconds in 0_u64..1 << 31,
        ) {
            let mut live = view();
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
            for line in text(&live).lines() {
                prop_assert!(columns(line) <= WIDTH, "{} columns: {line}", columns(line));
            }
        }
    }
}
