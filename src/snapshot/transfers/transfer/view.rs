//! The view of a transfer.

use std::time::Duration;

use super::{ProgressBasis, Transfer};
use crate::files::safe_text::SafeText;
use crate::probe::copy_jobs::temporary_name::final_path;
use crate::snapshot::transfers::estimate::Eta;
use crate::snapshot::transfers::kind::kind_of_program;
use crate::snapshot::view::{TransferState, TransferView};

impl Transfer {
    /// Remaining bytes, for sorting.
    #[must_use]
    pub fn remaining_bytes(&self) -> u64 {
        match (self.expected_size, self.estimator.last_position()) {
            _ if self.progress_basis == ProgressBasis::IoCounters => 0,
            (Some(size), Some(position)) => size.saturating_sub(position),
            _ => 0,
        }
    }

    /// View of the transfer.
    #[must_use]
    pub fn transfer_view(&self, at: Duration) -> TransferView {
        let state = self.state(at);
        let eta = match (state, self.progress_basis, self.expected_size) {
            (
                TransferState::Moving,
                ProgressBasis::Position | ProgressBasis::DestinationGrowth,
                Some(size),
            ) => self.estimator.eta(at, size),
            _ => Eta::default(),
        };
        let positioned = self.progress_basis != ProgressBasis::IoCounters;
        TransferView {
            pid: Some(self.pid),
            kind: kind_of_program(
                self.command.as_bytes(),
                self.source.is_some(),
                self.destination.is_some(),
            ),
            command: self.command.clone(),
            source: self
                .source
                .as_ref()
                .map(|end| SafeText::from_bytes(&end.path)),
            destination: self
                .destination
                .as_ref()
                .map(|end| SafeText::from_bytes(&final_path(&end.path))),
            position_bytes: self.estimator.last_position().filter(|_| positioned),
            size_bytes: self.expected_size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            interval_rate_bytes_per_s: self.estimator.interval_rate().filter(|_| !state.is_over()),
            eta: eta.likely,
            eta_low: eta.low,
            eta_high: eta.high,
            state,
            ..TransferView::default()
        }
    }

    fn state(&self, at: Duration) -> TransferState {
        if let Some(end) = self.end {
            return end.state;
        }
        let complete = self.progress_basis != ProgressBasis::IoCounters
            && self.expected_size.is_some()
            && self.remaining_bytes() == 0;
        match self.progress_basis {
            // Its last bytes are in flight: no progress is normal.
            _ if complete => TransferState::Moving,
            _ if self.estimator.is_stalled(at) => TransferState::Stalled,
            ProgressBasis::IoCounters => TransferState::UnknownPosition,
            ProgressBasis::Position | ProgressBasis::DestinationGrowth => TransferState::Moving,
        }
    }
}
