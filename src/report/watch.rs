//! A view of the moment as text of 80 columns, or as one line of JSON.

use std::fmt::Write as _;
use std::time::Duration;

use unicode_width::UnicodeWidthChar;

use crate::model::Live;
use crate::model::live::{
    Bottleneck, DeviceView, GrowingFile, HostView, ProcessView, Throttle, TransferState,
    TransferView,
};
use crate::units::{self, three_digits};

/// Columns of a terminal that has not been asked.
const WIDTH: usize = 80;
/// Writers that wait later than this are nobody's trouble yet.
const SOON: Duration = Duration::from_secs(300);
/// Files listed that grow.
const GROWING: usize = 3;
/// Processes listed, the busiest.
const PROCESSES: usize = 10;
/// Stands for what is not known.
const UNKNOWN: &str = "n/a";

/// One line of JSON without the line's end; the fields are those of `docs/fields.md`.
///
/// # Errors
/// Does not fail for a view that the model made; the error is serde's.
pub fn line(live: &Live) -> serde_json::Result<String> {
    serde_json::to_string(live)
}

/// Tables of devices, transfers and processes that fit 80 columns; every line ends in a newline.
/// Devices that did nothing are left out, except drives that lie on no other device.
#[must_use]
pub fn text(live: &Live) -> String {
    let mut text = heading(live);
    devices(&mut text, &live.devices);
    transfers(&mut text, &live.transfers);
    growing(&mut text, &live.growing);
    processes(&mut text, &live.processes, live.process_count);
    text
}

/// What could not be read and why, each said once: the notices of a view that are not among those
/// that `said` holds, which takes them up.
pub fn new_notices(live: &Live, said: &mut Vec<String>) -> String {
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
    words.extend(load.map(|load| format!("load {:.1}", load[0])));
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

fn devices(text: &mut String, devices: &[DeviceView]) {
    let shown: Vec<&DeviceView> = devices
        .iter()
        .filter(|view| is_worth_a_line(view))
        .collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<14} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} {:>5} {:>6}",
        "DEVICE", "r/s", "w/s", "r MB/s", "w MB/s", "r ms", "w ms", "queue", "busy %"
    );
    for view in shown {
        let _ = writeln!(
            text,
            "{} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} {:>5} {:>6}",
            fitted(&view.name, 14),
            per_second(view.read_ios_per_s),
            per_second(view.write_ios_per_s),
            megabytes(view.read_bytes_per_s),
            megabytes(view.write_bytes_per_s),
            milliseconds(view.read_await_ns, view.read_ios_per_s),
            milliseconds(view.write_await_ns, view.write_ios_per_s),
            known(view.queue_size, three_digits),
            known(view.busy, |share| format!("{:.0}", share * 100.0)),
        );
    }
}

fn is_worth_a_line(view: &DeviceView) -> bool {
    let rates = [
        view.read_ios_per_s,
        view.write_ios_per_s,
        view.discard_ios_per_s,
    ];
    let moved = rates.into_iter().flatten().any(|rate| rate > 0.0);
    let drive = view.parent.is_none() && !view.name.starts_with("loop");
    moved || drive || view.in_flight.is_some_and(|count| count > 0)
}

fn transfers(text: &mut String, transfers: &[TransferView]) {
    if transfers.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<8} {:>8} {:>8} {:>5} {:>10}  TIME LEFT (RANGE)",
        "TRANSFER", "DONE", "OF", "", "RATE"
    );
    for view in transfers {
        let _ = writeln!(
            text,
            "{} {:>8} {:>8} {:>5} {:>10}  {}",
            fitted(&view.command, 8),
            known(view.position_bytes, |bytes| units::capacity(bytes as f64)),
            known(view.size_bytes, |bytes| units::capacity(bytes as f64)),
            done(view),
            known(view.rate_bytes_per_s, units::throughput),
            fitted(&left(view), 36).trim_end(),
        );
        let _ = writeln!(text, "  {}", route(view, WIDTH - 2));
        let more = remarks(view);
        if !more.is_empty() {
            let _ = writeln!(text, "  {}", fitted(&more.join(", "), WIDTH - 2).trim_end());
        }
    }
}

/// What else is worth a word: files of a job, what waits, what is in memory only.
fn remarks(view: &TransferView) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(view.files_total.map(|total| match view.files_done {
        Some(done) => format!("{done} of {total} files"),
        None => format!("{total} files"),
    }));
    words.extend(view.waits_for.map(|end| match end {
        Bottleneck::Source => "waits for the source".to_owned(),
        Bottleneck::Destination => "waits for the destination".to_owned(),
        Bottleneck::Both => "one device is both ends".to_owned(),
        Bottleneck::Program => "waits for no device".to_owned(),
    }));
    words.extend(view.throttled.map(|throttle| match throttle {
        Throttle::DirtyMemory => "throttled: dirty memory is full".to_owned(),
        Throttle::OwnLimit => "throttled by its own option".to_owned(),
    }));
    let unwritten = view.unwritten_bytes.filter(|bytes| *bytes > 0);
    words.extend(
        unwritten.map(|bytes| format!("up to {} not on disk", units::capacity(bytes as f64))),
    );
    words
}

/// The files that grow fastest.
fn growing(text: &mut String, files: &[GrowingFile]) {
    for file in files.iter().take(GROWING) {
        let start = format!(
            "GROWS {:>10} to {:>8}  ",
            units::throughput(file.growth_bytes_per_s),
            units::capacity(file.size_bytes as f64),
        );
        let room = WIDTH.saturating_sub(columns(&start));
        let _ = writeln!(text, "{start}{}", shortened(&file.path, room));
    }
}

/// The share that is done, where there is one.
fn done(view: &TransferView) -> String {
    match (view.position_bytes, view.size_bytes) {
        (Some(position), Some(size)) if size > 0 => {
            format!("{:.0} %", position as f64 / size as f64 * 100.0)
        }
        _ => String::new(),
    }
}

fn left(view: &TransferView) -> String {
    match (view.state, view.eta) {
        (TransferState::Finished, _) => "finished".to_owned(),
        (TransferState::Stalled, _) => "stalled".to_owned(),
        (TransferState::NoPosition, _) => "no position".to_owned(),
        (TransferState::Moving, None) => UNKNOWN.to_owned(),
        (TransferState::Moving, Some(likely)) => {
            let likely = units::waiting(likely);
            match (view.eta_low, view.eta_high) {
                (Some(low), Some(high)) => format!(
                    "{likely} ({} - {})",
                    units::waiting(low),
                    units::waiting(high)
                ),
                _ => likely,
            }
        }
    }
}

/// From where to where; names that do not fit lose their beginnings.
fn route(view: &TransferView, width: usize) -> String {
    match (&view.source, &view.destination) {
        (Some(source), Some(destination)) => {
            let arrow = " -> ";
            let half = (width - arrow.len()) / 2;
            let spare = half.saturating_sub(columns(source).min(columns(destination)));
            let room = half + spare;
            let source = shortened(source, if columns(source) <= half { half } else { room });
            format!(
                "{source}{arrow}{}",
                shortened(destination, width - arrow.len() - columns(&source))
            )
        }
        (Some(source), None) => format!("from {}", shortened(source, width - 5)),
        (None, Some(destination)) => format!("to {}", shortened(destination, width - 3)),
        (None, None) => UNKNOWN.to_owned(),
    }
}

fn processes(text: &mut String, processes: &[ProcessView], count: usize) {
    if processes.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:>8} {:<8} {:>8} {:>8} {:>6} {:>6}  COMMAND ({} of {count} active)",
        "PID",
        "USER",
        "r MB/s",
        "w MB/s",
        "cache%",
        "wait %",
        processes.len()
    );
    let percent = |share: Option<f64>| known(share, |share| format!("{:.0}", share * 100.0));
    for view in processes.iter().take(PROCESSES) {
        let start = format!(
            "{:>8} {} {:>8} {:>8} {:>6} {:>6}  ",
            view.pid,
            fitted(view.user.as_deref().unwrap_or(UNKNOWN), 8),
            megabytes(view.read_bytes_per_s),
            megabytes(view.write_bytes_per_s),
            match view.asked_read_bytes_per_s {
                Some(0.0) => "-".to_owned(),
                _ => percent(view.cached),
            },
            percent(view.io_wait),
        );
        let room = WIDTH.saturating_sub(columns(&start));
        let _ = writeln!(text, "{start}{}", fitted(&view.command, room).trim_end());
    }
}

fn known<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), format)
}

fn per_second(rate: Option<f64>) -> String {
    known(rate, |rate| {
        if rate < 100_000.0 {
            format!("{rate:.0}")
        } else {
            units::count(rate)
        }
    })
}

fn megabytes(bytes: Option<f64>) -> String {
    known(bytes, |bytes| {
        if bytes == 0.0 {
            "0".to_owned()
        } else {
            three_digits(bytes / 1e6)
        }
    })
}

/// A response time; a dash where nothing completed and so there is none.
fn milliseconds(nanoseconds: Option<f64>, rate: Option<f64>) -> String {
    match rate {
        Some(0.0) => "-".to_owned(),
        _ => known(nanoseconds, |ns| three_digits(ns / 1e6)),
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Exactly so many columns: cut at the end, or filled with spaces.
fn fitted(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let own = letter.width().unwrap_or(0);
        if used + own > width {
            break;
        }
        fitted.push(letter);
        used += own;
    }
    fitted.extend(std::iter::repeat_n(' ', width - used));
    fitted
}

/// At most so many columns: of a path the end says more than the beginning.
fn shortened(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 3;
    for letter in text.chars().rev() {
        let own = letter.width().unwrap_or(0);
        if used + own > width {
            break;
        }
        kept.push(letter);
        used += own;
    }
    "...".chars().chain(kept.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn view() -> Live {
        Live {
            time: "2026-11-20T20:34:29Z".to_owned(),
            interval: Some(Duration::from_secs(1)),
            host: HostView {
                name: Some("web-07".to_owned()),
                kernel: Some("6.1.0-56".to_owned()),
                load: Some([1.84, 1.0, 0.5]),
                pressure_some: Some(0.12),
                pressure_full: Some(0.04),
                dirty_bytes: Some(812_000_000),
                drain: Some(Duration::from_secs(9)),
                ..HostView::default()
            },
            devices: vec![
                DeviceView {
                    name: "nvme0n1".to_owned(),
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
                    name: "sda".to_owned(),
                    ..DeviceView::default()
                },
            ],
            processes: vec![ProcessView {
                pid: 4711,
                tid: 4711,
                user: Some("backup".to_owned()),
                command: "cp --sparse=always /srv/img/vm7.raw /mnt/backup/of/a/long/name"
                    .to_owned(),
                read_bytes_per_s: Some(101.2e6),
                write_bytes_per_s: Some(100e3),
                asked_read_bytes_per_s: Some(103e6),
                cached: Some(0.02),
                ..ProcessView::default()
            }],
            process_count: 2074,
            transfers: vec![TransferView {
                pid: 4711,
                command: "cp".to_owned(),
                source: Some("/srv/img/vm7.raw".to_owned()),
                destination: Some("/mnt/backup/vm7.raw".to_owned()),
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
            notices: vec!["I/O wait: n/a".to_owned()],
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
            live.devices[0].name = name.clone();
            live.devices[0].read_bytes_per_s = Some(rate);
            live.devices[0].read_ios_per_s = Some(rate);
            live.processes[0].command = source.clone();
            live.processes[0].user = Some(name.clone());
            live.transfers[0].command = name;
            live.transfers[0].source = Some(source);
            live.transfers[0].destination = Some(destination);
            live.transfers[0].size_bytes = Some(bytes);
            live.transfers[0].eta = Some(Duration::from_secs(seconds));
            for line in text(&live).lines() {
                prop_assert!(columns(line) <= WIDTH, "{} columns: {line}", columns(line));
            }
        }
    }
}
