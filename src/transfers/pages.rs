//! The bytes of a transfer that are in memory only, also after its end.

use std::time::Duration;

use super::context::{TransferContext, TransferDevice};
use super::view::TransferView;
use crate::probe::SystemSample;
use crate::probe::sample::{PagesUnknown, UnwrittenBytes};

/// A transfer that is over is followed for at most this long until its pages are written.
const MAX_FOLLOW_TIME: Duration = Duration::from_secs(600);

/// Follows the destination of one transfer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DestinationPages {
    latest: Option<Result<UnwrittenBytes, PagesUnknown>>,
    /// Last time at which it had unwritten pages.
    unwritten_at: Option<Duration>,
    /// The bytes that were shown last, and the position then.
    shown: Option<(u64, u64)>,
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

    /// Time from which on the display of a transfer that ended then is limited: its end, or the last
    /// time at which it had unwritten pages.
    pub(super) fn settled_at(&self, end: Duration) -> Duration {
        let followed_until = end.saturating_add(MAX_FOLLOW_TIME);
        self.unwritten_at
            .map_or(end, |at| at.max(end).min(followed_until))
    }

    /// Adds the bytes that are in memory only, and when they are flushed: the file's own pages, or at
    /// most what was written to it, and at most all dirty bytes of the device, or of the machine where
    /// the kernel does not tell. Unknown without a device: a pipe holds nothing.
    pub(super) fn add_to(
        &mut self,
        view: &mut TransferView,
        device: Option<&TransferDevice<'_>>,
        context: &TransferContext<'_>,
    ) {
        match self.latest {
            Some(Ok(bytes)) => {
                view.not_on_disk_bytes = Some(bytes.total);
                view.not_on_disk_exact = true;
                let device = device.filter(|_| bytes.total > 0);
                view.time_to_flush =
                    device.and_then(|device| context.writeback.flush_time(device, bytes));
            }
            unknown => {
                view.not_on_disk_unknown = unknown.and_then(Result::err);
                let dirty = device.and_then(|it| it.unwritten_bytes.or(context.unwritten_bytes));
                let written = view.position_bytes.zip(dirty);
                view.not_on_disk_bytes = written.map(|(written, dirty)| written.min(dirty));
                let device = device.filter(|_| view.not_on_disk_bytes > Some(0));
                view.time_to_flush = device.and_then(|device| device.time_to_flush);
            }
        }
        self.limit_after_end(view);
    }

    /// After the end nothing is added but what was written since the last look: what others write
    /// afterwards is not of this transfer.
    fn limit_after_end(&mut self, view: &mut TransferView) {
        let position = view.position_bytes.unwrap_or(0);
        if let (Some((bytes, before)), true) = (self.shown, view.state.is_over()) {
            let most = bytes.saturating_add(position.saturating_sub(before));
            view.not_on_disk_bytes = view.not_on_disk_bytes.map(|bytes| bytes.min(most));
        }
        if let Some(bytes) = view.not_on_disk_bytes {
            self.shown = Some((bytes, position));
        }
    }
}
