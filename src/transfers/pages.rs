//! The bytes of a transfer that are in memory only, also after its end.

use std::time::Duration;

use super::context::{TransferContext, TransferDevice};
use super::estimate::{RateEstimator, time_to_transfer};
use super::view::TransferView;
use crate::probe::SystemSample;
use crate::probe::sample::{PagesUnknown, UnwrittenBytes};

/// A transfer that is over is followed for at most this long until its pages are written.
const MAX_FOLLOW_TIME: Duration = Duration::from_secs(600);

/// Follows the destination of one transfer.
#[derive(Debug, Clone, Default)]
pub(super) struct DestinationPages {
    latest: Option<Result<UnwrittenBytes, PagesUnknown>>,
    /// Last time at which it had unwritten pages.
    unwritten_at: Option<Duration>,
    /// The bytes that were shown last, and the position then.
    shown: Option<(u64, u64)>,
    /// Follows the bytes that are on the device, on a clock that runs while any are written.
    written: RateEstimator,
    writing_time: Duration,
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
                let position = view.position_bytes.unwrap_or(0);
                self.follow_written(position.saturating_sub(bytes.total), context);
                let device = device.filter(|_| bytes.total > 0);
                // That of the whole device where it is known, because the file may be the last.
                view.time_to_flush = device.and_then(|device| {
                    let own = || (context.flush_time)(bytes, device.write_speed);
                    device.time_to_flush.or_else(own)
                });
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

    fn follow_written(&mut self, bytes: u64, context: &TransferContext<'_>) {
        if self
            .written
            .last_value()
            .is_some_and(|before| before < bytes)
        {
            self.writing_time += Duration::from_secs_f64(context.interval.seconds().unwrap_or(0.0));
        }
        self.written.observe(self.writing_time, bytes);
    }

    /// Time to write these bytes at the rate at which its pages were written, or at this one where none
    /// were.
    pub(super) fn time_to_write(&self, bytes: u64, write_speed: Option<f64>) -> Option<Duration> {
        let rate = self.written.smoothed_rate().filter(|rate| *rate > 0.0);
        time_to_transfer(bytes, rate.or(write_speed)?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::safe_text::SafeText;
    use crate::probe::interval::SampleInterval;
    use crate::transfers::context::fixtures;
    use crate::transfers::view::TransferState;
    use crate::transfers::waits::DeviceLoad;

    /// The bytes in memory of a transfer in this state, of which so much is written, on a device where
    /// others write.
    fn add(pages: &mut DestinationPages, state: TransferState, written: u64) -> Option<u64> {
        let name = SafeText::from("sda");
        let device = TransferDevice {
            unwritten_bytes: Some(271_000_000),
            ..fixtures::device(&name, &[], DeviceLoad::default())
        };
        let sample = SystemSample::default();
        let interval = SampleInterval::new(None, &sample);
        let context = TransferContext {
            unwritten_bytes: Some(900_000_000),
            ..fixtures::context(&interval, &[])
        };
        let mut view = TransferView {
            position_bytes: Some(written),
            state,
            ..TransferView::default()
        };
        pages.add_to(&mut view, Some(&device), &context);
        view.not_on_disk_bytes
    }

    #[test]
    fn what_others_write_after_the_end_is_not_of_the_transfer() {
        const WRITTEN: u64 = 600_000_000;
        let unwritten = UnwrittenBytes {
            total: 250_000,
            writeback: 0,
        };
        let mut pages = DestinationPages {
            latest: Some(Ok(unwritten)),
            ..DestinationPages::default()
        };
        assert_eq!(
            add(&mut pages, TransferState::Moving, WRITTEN),
            Some(250_000)
        );
        // It was renamed, or is overwritten by somebody.
        for latest in [Some(Err(PagesUnknown::NotFound)), None] {
            pages.latest = latest;
            for written in [WRITTEN, WRITTEN + 1000, WRITTEN + 1000] {
                let bytes = add(&mut pages, TransferState::Finished, written);
                assert!(bytes <= Some(252_000), "{bytes:?}");
            }
        }
    }
}
