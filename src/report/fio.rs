//! Why there is no fio command for a run, as a sentence.

use crate::session::document::{BenchmarkRun, FioGap};

/// Why there is no fio command for a run, as a comment of a shell; `None` where that is not known.
#[must_use]
pub fn fio_gap_line(run: &BenchmarkRun) -> Option<String> {
    let gap = run.reproduce.fio_gap?;
    Some(format!("# no fio command: {}", fio_gap_reason(gap)))
}

/// What fio cannot do, as a sentence.
#[must_use]
pub fn fio_gap_reason(gap: FioGap) -> &'static str {
    match gap {
        FioGap::SimulatedDrive => "the simulated drive exists in diskscope only",
        FioGap::SeveralPoints => {
            "the benchmark measures several points, and a fio job measures one"
        }
        FioGap::SettingChange => "fio does not change the setting that the benchmark changes",
        FioGap::ConcurrentLoads => {
            "the benchmark runs two loads at once and compares before, during and after"
        }
        FioGap::AdaptiveRequests => {
            "the address of a request depends on the latency of earlier ones, which fio does not support"
        }
        FioGap::ListedAddresses => {
            "fio cannot issue requests in the order that the benchmark computes"
        }
        FioGap::SteadyState => "the steady-state criterion of fio is not that of the SNIA test",
        FioGap::OpenLoopLatency => {
            "with a rate, fio measures latency from the submission, not from the scheduled start"
        }
        FioGap::TimeLimitedZones => "fio cannot divide --duration among the zones",
        FioGap::UnevenZones => {
            "the zones of fio have equal limits, and these limits are not divisible by the number of zones"
        }
        FioGap::SharedLimit => {
            "the limits of fio are per job, and these are not divisible by --workers"
        }
        FioGap::NoLimit => "without a limit fio ends after the size of the window",
        FioGap::Alignment => "fio cannot choose from the same addresses with this --align",
        FioGap::BlockSizes => "fio does not draw the same sizes from this range of block sizes",
        FioGap::ZipfExponent => "fio does not support this exponent of a skewed pattern",
        FioGap::FractionalReadPercentage => "fio supports only whole percentages of reads",
        FioGap::TargetName => "fio would truncate the name of the target and open another file",
        FioGap::SpaceBelow => {
            "a write can need space of an image, a snapshot or a pool below the target, which fio does not check"
        }
        FioGap::Parameters => "the parameters do not fit the target",
        FioGap::Other => "this version of diskscope does not know the reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zsh takes `#` for the name of a program when it is typed: then nothing behind it may begin
    /// another command, or quotes that are not closed.
    #[test]
    fn reasons_have_no_meaning_in_a_shell() {
        for gap in [
            FioGap::SimulatedDrive,
            FioGap::SeveralPoints,
            FioGap::SettingChange,
            FioGap::ConcurrentLoads,
            FioGap::AdaptiveRequests,
            FioGap::ListedAddresses,
            FioGap::SteadyState,
            FioGap::OpenLoopLatency,
            FioGap::TimeLimitedZones,
            FioGap::UnevenZones,
            FioGap::SharedLimit,
            FioGap::NoLimit,
            FioGap::Alignment,
            FioGap::BlockSizes,
            FioGap::ZipfExponent,
            FioGap::FractionalReadPercentage,
            FioGap::TargetName,
            FioGap::SpaceBelow,
            FioGap::Parameters,
            FioGap::Other,
        ] {
            let reason = fio_gap_reason(gap);
            let plain = |letter: char| letter.is_ascii_alphanumeric() || " ,-_.:".contains(letter);
            assert!(reason.chars().all(plain), "{reason}");
        }
    }
}
