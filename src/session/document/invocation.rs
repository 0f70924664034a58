//! How to do the same again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::safe_text::{SafeLines, SafeText};

/// How to do the same again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invocation {
    /// The command line of this program.
    pub diskscope: SafeText,
    /// Command lines for a POSIX shell that have fio do the same: the same ranges, amounts and rate.
    /// Where that writes, the first line is a comment that says how much it overwrites of what.
    /// Null where fio cannot do the same.
    pub fio: Option<SafeLines>,
    /// What fio cannot do, where `fio` is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio_gap: Option<FioGap>,
}

/// What fio cannot do, so that there is no fio command for a run. A code for scripts; the sentence is
/// the report's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FioGap {
    /// The target is a simulated drive of this program.
    SimulatedDrive,
    /// The benchmark measures several points, one after the other.
    SeveralPoints,
    /// The benchmark changes a setting of the system or the drive between its passes.
    SettingChange,
    /// The benchmark runs two different loads at once.
    #[serde(rename = "two-loads")]
    ConcurrentLoads,
    /// Where a request goes depends on what earlier ones took.
    AdaptiveRequests,
    /// The requests go to listed addresses in a certain order.
    #[serde(rename = "request-order")]
    ListedAddresses,
    /// The benchmark ends when the rate is steady by a criterion that fio does not have.
    SteadyState,
    /// Open loop: fio counts response times from the submission, not from the intended start.
    OpenLoopLatency,
    /// The time of the run is shared out to the zones as they are measured.
    #[serde(rename = "timed-zones")]
    TimeLimitedZones,
    /// The bytes or requests cannot be shared out evenly to the zones.
    UnevenZones,
    /// fio's limits are per job: bytes or requests that do not divide evenly among the workers.
    SharedLimit,
    /// fio does not count the requests of the ramp where they are limited by number.
    RampLimit,
    /// Without a limit fio ends when it has read or written the size of the window once.
    NoLimit,
    /// The addresses of `--align` with this block size and window.
    Alignment,
    /// The sizes of this range of block sizes.
    BlockSizes,
    /// Exponents of a skewed pattern that fio does not take.
    ZipfExponent,
    /// A share of reads that is no whole percentage.
    #[serde(rename = "read-share")]
    FractionalReadPercentage,
    /// fio cuts the target's name at `#`, `;` and white space at its end.
    TargetName,
    /// The parameters do not fit the target.
    Parameters,
    /// A code of a later version of this program.
    #[serde(other)]
    Other,
}
