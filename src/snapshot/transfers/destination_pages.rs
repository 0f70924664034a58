//! The pages of a transfer's destination that are only in memory, also after its end.

use std::time::Duration;

use super::context::TransferContext;
use crate::probe::SystemSample;
use crate::probe::sample::{PagesUnknown, UnwrittenBytes};
use crate::snapshot::view::{DeviceView, TransferView};

/// A transfer that is over is followed for at most this long until its pages are written.
const MAX_FOLLOW_TIME: Duration = Duration::from_secs(600);

/// Follows the destination of one transfer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DestinationPages {
    latest: Option<Result<UnwrittenBytes, PagesUnknown>>,
    /// Last time at which it had unwritten pages.
    unwritten_at: Option<Duration>,
}

impl DestinationPages {
    /// Records what a sample says about the file.
    pub(super) fn update(&mut self, sample: &SystemSample, id: ((u32, u32), u64)) {
        let Some(found) = sample.file_pages.iter().find(|pages| pages.id == id) else {
            return;
        };
        // The last state of a file that was deleted or renamed afterwards is no present state.
        self.latest = Some(found.unwritten);
        if matches!(found.unwritten, Ok(bytes) if bytes.total > 0) {
            self.unwritten_at = Some(sample.boot_time);
        }
    }

    /// The latest state; `None` until it was looked at.
    pub(super) fn latest(&self) -> Option<Result<UnwrittenBytes, PagesUnknown>> {
        self.latest
    }

    /// Time from which on the display of a transfer that ended then is limited: its end, or the last
    /// time at which it had unwritten pages.
    pub(super) fn settled_at(&self, end: Duration) -> Duration {
        let followed_until = end.saturating_add(MAX_FOLLOW_TIME);
        self.unwritten_at
            .map_or(end, |at| at.max(end).min(followed_until))
    }
}

/// Replaces the upper limit of the bytes that are only in memory by those of the file's pages, or adds
/// why these are unknown.
pub(super) fn add_pages(
    view: &mut TransferView,
    pages: Result<UnwrittenBytes, PagesUnknown>,
    device: Option<&DeviceView>,
    context: &TransferContext<'_>,
) {
    let bytes = match pages {
        Ok(bytes) => bytes,
        Err(reason) => {
            view.not_on_disk_unknown = Some(reason);
            return;
        }
    };
    view.not_on_disk_bytes = Some(bytes.total);
    view.not_on_disk_exact = true;
    view.time_to_flush = None;
    if let Some(device) = device
        && bytes.total > 0
    {
        let memory = &context.sample.host.memory;
        view.time_to_flush = context.dirty_memory.file_flush_time(device, bytes, memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::FilePages;

    const FILE: ((u32, u32), u64) = ((8, 1), 12);

    fn sample(second: u64, total: u64) -> SystemSample {
        SystemSample {
            boot_time: Duration::from_secs(second),
            file_pages: vec![FilePages {
                id: FILE,
                unwritten: Ok(UnwrittenBytes {
                    total,
                    writeback: 0,
                }),
            }],
            ..SystemSample::default()
        }
    }

    #[test]
    fn transfer_is_settled_when_its_pages_are_written() {
        let mut pages = DestinationPages::default();
        let end = Duration::from_secs(10);
        assert_eq!(pages.settled_at(end), end);
        pages.update(&sample(40, 4096), FILE);
        assert_eq!(pages.settled_at(end), Duration::from_secs(40));
        pages.update(&sample(41, 0), FILE);
        assert_eq!(pages.latest(), Some(Ok(UnwrittenBytes::default())));
        assert_eq!(pages.settled_at(end), Duration::from_secs(40));
        pages.update(&sample(9000, 4096), FILE);
        assert_eq!(
            pages.settled_at(end),
            Duration::from_secs(610),
            "not forever"
        );
        pages.update(&sample(9001, 7), ((8, 1), 13));
        assert_eq!(pages.latest().map(|it| it.unwrap().total), Some(4096));
    }
}
