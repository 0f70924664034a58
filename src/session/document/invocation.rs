//! Command lines that repeat a run.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::safe_text::{SafeLines, SafeText};

/// Command lines that repeat a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Invocation {
    /// The command line of diskscope, with the absolute path of the target; empty if the working directory
    /// was deleted.
    pub diskscope: SafeText,
    /// Command lines for a POSIX shell that make fio do the same: the same ranges, amounts and
    /// rate. If they write, the first line is a comment that states how much of what they
    /// overwrite. Null if fio cannot do the same.
    pub fio: Option<SafeLines>,
    /// Why fio cannot do the same, if `fio` is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio_gap: Option<FioGap>,
}

/// Why there is no fio command for a run: a code for scripts. The report turns it into a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FioGap {
    /// The target is a simulated drive of this program.
    SimulatedDrive,
    /// The benchmark measures several points in sequence.
    SeveralPoints,
    /// The benchmark changes a setting of the system or the drive between its passes.
    SettingChange,
    /// The benchmark runs two different loads concurrently.
    ConcurrentLoads,
    /// The offset of a request depends on the latency of earlier ones.
    AdaptiveRequests,
    /// The requests go to listed offsets in a fixed order.
    ListedAddresses,
    /// The benchmark ends in steady state by a criterion that fio does not have.
    SteadyState,
    /// Open loop: fio measures latency from the submission, not from the scheduled start.
    OpenLoopLatency,
    /// The benchmark divides the run time among the zones while it measures them.
    TimeLimitedZones,
    /// The bytes or requests do not divide evenly among the zones.
    UnevenZones,
    /// fio's limits are per job: the bytes or requests do not divide evenly among the workers.
    SharedLimit,
    /// Without a limit fio ends after reading or writing the size of the window once.
    NoLimit,
    /// fio cannot produce the offsets of `--align` with this block size and window.
    Alignment,
    /// fio cannot produce the sizes of this range of block sizes.
    BlockSizes,
    /// fio does not accept this exponent of a Zipf distribution.
    ZipfExponent,
    /// The fraction of reads is not a whole percentage.
    FractionalReadPercentage,
    /// fio cuts the target's name at `#`, `;` and trailing white space, or the name ends in a line break,
    /// which no command on one line can contain.
    TargetName,
    /// A write can need space of an image, a snapshot or a pool below the target, which a command does not
    /// know.
    SpaceBelow,
    /// The parameters do not fit the target.
    Parameters,
    /// A code from a later version of this program.
    #[serde(other)]
    Other,
}
