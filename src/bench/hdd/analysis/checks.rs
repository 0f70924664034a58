//! The checks that several benchmarks of hard disks make.

use serde_json::{Value, json};

use crate::session::checks::DOES_NOT_ROTATE;
use crate::session::document::Verdict;
use crate::session::document::check::Check;

/// Too early an end.
pub const TOO_FEW_PROBES: Check = Check::warning(
    "too-few-probes",
    "The benchmark ended before there were enough reads.",
);
/// Busy processors hide a rotation.
pub const ROTATION_UNDETERMINED: Check = Check::invalid(
    "rotation-undetermined",
    "The processors were too busy to tell whether the drive rotates.",
);
/// A weak sign of a rotation.
pub const ROTATION_DOUBTFUL: Check = Check::warning(
    "rotation-doubtful",
    "The latency shows a rotation, but not beyond doubt.",
);
/// No cached read to measure it with.
pub const COMMAND_OVERHEAD_UNKNOWN: Check = Check::warning(
    "command-overhead-unknown",
    "Seek times include the command overhead, because no cache served a repeated read.",
);
/// A seek time that is no seek time.
pub const SEEK_DOUBTFUL: Check = Check::warning(
    "seek-doubtful",
    "The rotational delays are not uniformly distributed over a revolution (Anderson-Darling, 1 %).",
);
/// Tracks that cannot be seen.
pub const TRACKS_UNDETERMINED: Check = Check::invalid(
    "tracks-undetermined",
    "The angles of adjacent sectors show no tracks.",
);

/// The checks of a benchmark of seeks.
pub const SEEK_CHECKS: [Check; 6] = [
    TOO_FEW_PROBES,
    DOES_NOT_ROTATE,
    ROTATION_UNDETERMINED,
    ROTATION_DOUBTFUL,
    COMMAND_OVERHEAD_UNKNOWN,
    SEEK_DOUBTFUL,
];

/// The check for a limit or a stop before the metric was certain: what the reads are needed for, as a
/// key and in words.
pub fn too_few_observations(
    (key, quantity): (&'static str, &'static str),
    found: usize,
    needed: usize,
) -> Verdict {
    TOO_FEW_PROBES.found(
        format!("{quantity}: {found} usable reads, {needed} are needed"),
        "let the benchmark finish, or use larger --duration, --bytes and --requests",
        json!({ "reason": "few-reads", "quantity": key, "found": found, "needed": needed }),
    )
}

/// The check for angles without detectable tracks: because of a limit, or for no known reason.
pub fn tracks_undetermined(over: bool) -> Verdict {
    if over {
        return TOO_FEW_PROBES.found(
            "the benchmark ended before the length of a track was known",
            "let the benchmark finish, and stop other users of the drive; a RAID or a drive with a \
             large cache may hide its tracks",
            json!({ "reason": "no-track-length" }),
        );
    }
    TRACKS_UNDETERMINED.found(
        "the drive rotates, but the angles of adjacent sectors show no tracks",
        "stop other users of the drive and repeat the run; a RAID or a drive with a large cache may hide \
         its tracks",
        Value::Null,
    )
}
