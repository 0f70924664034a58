//! Sentences about transfers, for the screen and for `watch`.

use crate::probe::operations::{OperationKind, WorkUnit};
use crate::probe::sample::PagesUnknown;
use crate::snapshot::view::{
    Bottleneck, BottleneckReason, Throttle, TransferKind, TransferOperation, TransferState,
    TransferView, WorkProgress,
};
use crate::units;

/// The bottleneck with its reason, such as `destination: sdc, w_await 48 ms`; `None` where it is
/// unknown.
#[must_use]
pub fn bottleneck_text(view: &TransferView) -> Option<String> {
    let name = bottleneck_name(view.bottleneck?);
    let reason = view.bottleneck_reason.as_ref().map(reason_text);
    Some(match reason {
        Some(reason) => format!("{name}: {reason}"),
        None => name.to_owned(),
    })
}

/// The bottleneck in at most `width` columns: with its reason, with its device, or alone; a limit of
/// the kernel before the bottleneck that it causes.
#[must_use]
pub fn short_bottleneck_text(view: &TransferView, width: usize) -> Option<String> {
    let whole = bottleneck_text(view)?;
    let limit = view.throttle.filter(|it| *it != Throttle::OwnLimit);
    if let Some(limit) = limit.map(throttle_text)
        && (whole.chars().count() > width || !whole.contains(limit))
    {
        return Some(limit.to_owned());
    }
    let without_value = whole.split_once(", ").map(|(start, _)| start.to_owned());
    let name = bottleneck_name(view.bottleneck?).to_owned();
    let mut texts = [Some(whole), without_value].into_iter().flatten();
    Some(
        texts
            .find(|text| text.chars().count() <= width)
            .unwrap_or(name),
    )
}

/// The bottleneck in a word or two.
#[must_use]
pub fn bottleneck_name(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::Source => "source",
        Bottleneck::Destination => "destination",
        Bottleneck::SameDisk => "same disk",
        Bottleneck::NotDiskBound => "not disk-bound",
    }
}

fn reason_text(reason: &BottleneckReason) -> String {
    match reason {
        BottleneckReason::Device {
            device,
            operation,
            await_ns,
            busy,
        } => {
            let column = match operation {
                TransferOperation::Read => "r_await",
                TransferOperation::Write => "w_await",
            };
            match (await_ns, busy) {
                (Some(time), _) => format!("{device}, {column} {}", units::format_latency(*time)),
                (None, Some(busy)) => format!("{device}, {} busy", units::format_percent(*busy)),
                (None, None) => String::from(&**device),
            }
        }
        BottleneckReason::DirtyLimit { device } => match device {
            Some(device) => format!("{device}, dirty limit reached"),
            None => "dirty limit reached".to_owned(),
        },
        BottleneckReason::ControlGroup { device } => format!("{device}, cgroup limit"),
        BottleneckReason::Processor { fraction } => {
            format!("{} CPU", units::format_percent(*fraction))
        }
        BottleneckReason::Pipeline => "waits for the pipeline".to_owned(),
        BottleneckReason::HardlyWaits { fraction } => {
            format!("IO% {}", units::format_percent(*fraction))
        }
    }
}

/// What an operation does that is no copy of files; `None` for what its files show.
#[must_use]
pub fn operation_text(kind: TransferKind) -> Option<&'static str> {
    Some(match kind {
        TransferKind::Fsck | TransferKind::Operation(OperationKind::Check) => "check",
        TransferKind::Operation(OperationKind::Resync) => "resync",
        TransferKind::Operation(OperationKind::Rebuild) => "rebuild",
        TransferKind::Operation(OperationKind::Repair) => "repair",
        TransferKind::Operation(OperationKind::Reshape) => "reshape",
        TransferKind::Operation(OperationKind::Scrub) => "scrub",
        TransferKind::Operation(OperationKind::Balance) => "balance",
        TransferKind::Operation(OperationKind::Pvmove) => "pvmove",
        TransferKind::Operation(OperationKind::Discard) => "discard",
        _ => return None,
    })
}

/// Progress that is not counted in bytes, such as `12 of 40 chunks`; `None` for a mere fraction.
#[must_use]
pub fn work_text(work: WorkProgress) -> Option<String> {
    match work.unit {
        WorkUnit::Chunks => Some(format!("{} of {} chunks", work.done, work.total)),
        WorkUnit::Bytes => None,
    }
}

/// What throttles a transfer.
#[must_use]
pub fn throttle_text(throttle: Throttle) -> &'static str {
    match throttle {
        Throttle::DirtyMemory => "dirty limit",
        Throttle::ControlGroup => "cgroup limit",
        Throttle::OwnLimit => "own rate limit",
    }
}

/// The bytes that are in memory only, and when they are on disk, such as
/// `812 MB only in memory, on disk in ~9 s`, or `up to 812 MB not on disk, flushed in ~9 s` where only
/// a limit is known; `None` if there are none, or it is unknown.
///
/// For a transfer that is over without any such bytes: `on disk`.
#[must_use]
pub fn dirty_text(view: &TransferView) -> Option<String> {
    let bytes = view.not_on_disk_bytes?;
    if bytes == 0 {
        let written = view.not_on_disk_exact && view.state.is_over();
        return written.then(|| "on disk".to_owned());
    }
    let size = units::format_capacity(bytes as f64);
    let (held, written) = if view.not_on_disk_exact {
        (format!("{size} only in memory"), "on disk")
    } else {
        (format!("up to {size} not on disk"), "flushed")
    };
    Some(match view.time_to_flush {
        Some(time) => format!("{held}, {written} in ~{}", units::format_wait(time)),
        None => held,
    })
}

/// How a transfer is over and what of it is in memory only, in at most `width` columns where possible;
/// `None` while it is not over.
#[must_use]
pub fn short_end_text(view: &TransferView, width: usize) -> Option<String> {
    let end = end_text(view)?;
    let Some(dirty) = dirty_text(view) else {
        return Some(end);
    };
    let held = dirty.split(", ").next().unwrap_or(&dirty).to_owned();
    let short = view
        .not_on_disk_bytes
        .filter(|bytes| *bytes > 0)
        .map(|bytes| {
            let size = units::format_capacity(bytes as f64);
            match view.not_on_disk_exact {
                true => format!("{size} in RAM"),
                false => format!("up to {size} in RAM"),
            }
        });
    let texts = [format!("{end}, {dirty}"), dirty, held];
    let fitting = texts.into_iter().find(|text| text.chars().count() <= width);
    Some(fitting.or(short).unwrap_or(end))
}

/// Why the bytes in memory are known as an upper limit only.
#[must_use]
pub fn pages_unknown_text(reason: PagesUnknown) -> &'static str {
    match reason {
        PagesUnknown::OldKernel => "the kernel has no cachestat(2), Linux 6.5",
        PagesUnknown::NotPermitted => "the file belongs to another user",
        PagesUnknown::BlockDevice => "the pages of a block device are not examined",
        PagesUnknown::FileSystem => "no mounted file system with the pages of the file",
        PagesUnknown::NotFound => "the closed file is no longer at its path",
        PagesUnknown::Failed => "the file cannot be opened",
    }
}

/// The state of a transfer in a word.
#[must_use]
pub fn state_text(state: TransferState) -> &'static str {
    match state {
        TransferState::Moving => "transferring",
        TransferState::Stalled => "stalled",
        TransferState::UnknownPosition => "no position",
        TransferState::Finished => "finished",
        TransferState::Ended | TransferState::Closed => "ended",
    }
}

/// How a transfer is over: `finished`, `ended at 77 %`, or where it was seen last; `None` while it is
/// not.
#[must_use]
pub fn end_text(view: &TransferView) -> Option<String> {
    let percent = || {
        // Rounded down: 99.9 % is not everything.
        view.progress_fraction()
            .map(|fraction| format!("{:.0} %", (fraction * 100.0).floor()))
    };
    match (view.state, percent()) {
        (TransferState::Finished, _) => Some("finished".to_owned()),
        (TransferState::Ended, Some(at)) => Some(format!("ended at {at}")),
        (TransferState::Closed, Some(at)) => Some(format!("ended, {at} seen")),
        (TransferState::Ended | TransferState::Closed, None) => Some("ended".to_owned()),
        (TransferState::Moving | TransferState::Stalled | TransferState::UnknownPosition, _) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(bottleneck: Bottleneck, reason: BottleneckReason) -> TransferView {
        TransferView {
            bottleneck: Some(bottleneck),
            bottleneck_reason: Some(reason),
            ..TransferView::default()
        }
    }

    #[test]
    fn bottleneck_is_a_sentence_with_its_reason() {
        let device = BottleneckReason::Device {
            device: "sdc".into(),
            operation: TransferOperation::Write,
            await_ns: Some(48e6),
            busy: Some(0.99),
        };
        let text = bottleneck_text(&view(Bottleneck::Destination, device));
        assert_eq!(text.as_deref(), Some("destination: sdc, w_await 48.0 ms"));
        let short = |width| {
            let device = BottleneckReason::Device {
                device: "sdc".into(),
                operation: TransferOperation::Write,
                await_ns: Some(48e6),
                busy: None,
            };
            short_bottleneck_text(&view(Bottleneck::Destination, device), width).unwrap()
        };
        assert_eq!(short(34), "destination: sdc, w_await 48.0 ms");
        assert_eq!(short(20), "destination: sdc");
        assert_eq!(short(14), "destination");
        let cpu = BottleneckReason::Processor { fraction: 0.97 };
        let text = bottleneck_text(&view(Bottleneck::NotDiskBound, cpu));
        assert_eq!(text.as_deref(), Some("not disk-bound: 97 % CPU"));
        assert_eq!(bottleneck_text(&TransferView::default()), None);
    }

    #[test]
    fn dirty_bytes_are_printed_with_the_time_to_flush_where_it_is_known() {
        let mut view = TransferView {
            not_on_disk_bytes: Some(812_000_000),
            ..TransferView::default()
        };
        let text = dirty_text(&view).unwrap();
        assert_eq!(text, "up to 812 MB not on disk");
        view.time_to_flush = Some(std::time::Duration::from_secs(9));
        let text = dirty_text(&view).unwrap();
        assert_eq!(text, "up to 812 MB not on disk, flushed in ~9.0 s");
        view.not_on_disk_bytes = Some(0);
        assert_eq!(dirty_text(&view), None);
    }

    #[test]
    fn pages_in_memory_are_told_until_all_are_on_disk() {
        let mut view = TransferView {
            not_on_disk_bytes: Some(812_000_000),
            not_on_disk_exact: true,
            time_to_flush: Some(std::time::Duration::from_secs(9)),
            ..TransferView::default()
        };
        let whole = "812 MB only in memory, on disk in ~9.0 s";
        assert_eq!(dirty_text(&view).as_deref(), Some(whole));
        assert_eq!(short_end_text(&view, 80), None, "not over");
        view.state = TransferState::Finished;
        let end = |view: &TransferView, width| short_end_text(view, width).unwrap();
        assert_eq!(end(&view, 60), format!("finished, {whole}"));
        assert_eq!(end(&view, 40), whole);
        assert_eq!(end(&view, 24), "812 MB only in memory");
        assert_eq!(end(&view, 14), "812 MB in RAM");
        view.not_on_disk_exact = false;
        assert_eq!(end(&view, 20), "up to 812 MB in RAM", "an upper limit");
        view.not_on_disk_exact = true;
        view.not_on_disk_bytes = Some(0);
        assert_eq!(end(&view, 24), "finished, on disk");
        assert_eq!(end(&view, 14), "on disk");
        // An upper limit of 0 says that nothing at all is dirty, not that the file was seen.
        view.not_on_disk_exact = false;
        assert_eq!(end(&view, 24), "finished");
    }

    #[test]
    fn end_names_the_last_position() {
        let at = |state, position| {
            end_text(&TransferView {
                state,
                position_bytes: Some(position),
                size_bytes: Some(1000),
                ..TransferView::default()
            })
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(at(TransferState::Finished, 1000), text("finished"));
        assert_eq!(at(TransferState::Ended, 777), text("ended at 77 %"));
        assert_eq!(at(TransferState::Closed, 929), text("ended, 92 % seen"));
        assert_eq!(at(TransferState::Moving, 929), None);
    }
}
