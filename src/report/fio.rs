//! Why there is no fio command for a run, as a sentence.

use crate::session::document::{BenchmarkRun, FioGap};

/// The fio command lines of a run, or the reason why there are none, as shell lines: everything but
/// commands is a comment. Empty if the document has neither.
#[must_use]
pub fn fio_command_lines(run: &BenchmarkRun) -> Vec<String> {
    match (&run.reproduce.fio, run.reproduce.fio_gap) {
        (Some(fio), _) => fio.lines().map(str::to_owned).collect(),
        (None, Some(gap)) => vec![format!("# no fio command: {}", fio_gap_reason(gap))],
        (None, None) => Vec::new(),
    }
}

/// What fio cannot do, as a sentence.
#[must_use]
pub fn fio_gap_reason(gap: FioGap) -> &'static str {
    match gap {
        FioGap::SimulatedDrive => "the simulated drive exists in diskscope only",
        FioGap::SeveralPoints => {
            "the benchmark measures several points, and one fio job is one of them"
        }
        FioGap::SettingChange => "fio does not change the setting that the benchmark changes",
        FioGap::ConcurrentLoads => {
            "the benchmark runs two loads at once and compares before, during and after"
        }
        FioGap::AdaptiveRequests => {
            "where a request goes depends on what earlier ones took, which fio cannot do"
        }
        FioGap::ListedAddresses => {
            "fio cannot send requests in the order that the benchmark computes"
        }
        FioGap::SteadyState => "fio's steady state is not the one of the SNIA test",
        FioGap::OpenLoopLatency => {
            "with a rate, fio counts response times from the submission, not from the intended start"
        }
        FioGap::TimeLimitedZones => "fio cannot share out --duration to the zones",
        FioGap::UnevenZones => {
            "fio's zones are all alike, and these limits do not divide evenly by them"
        }
        FioGap::SharedLimit => {
            "fio's limits are per job, and these do not divide evenly by --workers"
        }
        FioGap::RampLimit => {
            "fio does not count the requests of the ramp where --requests limits them"
        }
        FioGap::NoLimit => "without a limit fio ends after the size of the window",
        FioGap::Alignment => "fio cannot choose from the same addresses with this --align",
        FioGap::BlockSizes => "fio does not draw the same sizes from this range of block sizes",
        FioGap::ZipfExponent => "fio does not take this exponent for a skewed pattern",
        FioGap::FractionalReadPercentage => "fio takes whole percentages of reads only",
        FioGap::TargetName => "fio would cut the target's name and open another file",
        FioGap::Parameters => "the parameters do not fit the target",
        FioGap::Other => "the version that wrote this knows why",
    }
}
