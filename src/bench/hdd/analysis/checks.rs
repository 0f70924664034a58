//! The checks that several benchmarks of hard disks make.

use serde_json::{Value, json};

use crate::bench::hdd::analysis::rotation_state::{MIN_PAIRS, RevolutionEstimate, RotationState};
use crate::session::checks::DOES_NOT_ROTATE;
use crate::session::document::Verdict;
use crate::session::document::check::Check;
use crate::stats::rotation::epoch_folding;
use crate::units;

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

const NO_MECHANICS: &str =
    "this is an SSD, a virtual disk, a RAID or a cache: its mechanics cannot be measured";

/// The check for a drive that does not rotate, or not beyond doubt; `None` for one that does.
#[must_use]
pub fn rotation_check(rotation: &RotationState) -> Option<Verdict> {
    Some(match rotation {
        RotationState::Rotating(_) => return None,
        RotationState::Doubtful(found) => {
            let (sentence, facts) = coherence(found);
            let advice = "stop other programs and other users of the drive, and repeat the run; use a \
                          larger window if the cache is large";
            ROTATION_DOUBTFUL.found(sentence, advice, facts)
        }
        RotationState::NotRotating(found) => {
            let (sentence, mut facts) = coherence(found);
            facts["reason"] = "incoherent".into();
            DOES_NOT_ROTATE.found(sentence, NO_MECHANICS, facts)
        }
        RotationState::TooFast(found) => too_fast(found),
        RotationState::ProcessorsBusy(delay) => ROTATION_UNDETERMINED.found(
            format!(
                "cannot tell: processors busy; this program waited {} per read for a CPU, which hides \
                 the rotation of a disk",
                units::format_latency(1e9 * delay.as_secs_f64())
            ),
            "stop other programs, or start diskscope with a higher priority (nice -n -10), and repeat \
             the run",
            json!({ "run_delay_seconds": delay.as_secs_f64() }),
        ),
        RotationState::PeriodicClock(found) => {
            let frequency = found.epoch_folding.frequency;
            let coherence = found.cross_sector_coherence;
            DOES_NOT_ROTATE.found(
                format!(
                    "the completion times of all sectors are periodic with {frequency:.1} Hz (coherence \
                     of different sectors {coherence:.2})"
                ),
                "a virtual disk or a rate limit completes requests on a timer: its mechanics cannot be \
                 measured",
                json!({
                    "reason": "periodic-clock",
                    "frequency_hz": frequency,
                    "cross_sector_coherence": coherence,
                }),
            )
        }
        RotationState::TooFewPairs(pairs) => {
            too_few_observations(("rotation", "rotation"), *pairs, MIN_PAIRS)
        }
    })
}

fn too_fast(found: &RevolutionEstimate) -> Verdict {
    let pairs = found.pair_count - found.cached_pairs;
    DOES_NOT_ROTATE.found(
        format!(
            "half of the reads of {pairs} pairs take at most {}: a disk waits half a revolution on \
             average, 2 ms even at 15,000 rpm",
            units::format_latency(1e9 * found.median_response)
        ),
        NO_MECHANICS,
        json!({
            "reason": "fast-reads",
            "median_response_seconds": found.median_response,
            "pairs": pairs,
        }),
    )
}

/// Coherence of the completion times of pairs of reads of the same sector, as a sentence and as facts.
fn coherence(found: &RevolutionEstimate) -> (String, Value) {
    let pairs = found.pair_count - found.cached_pairs;
    let chance = epoch_folding::chance_coherence(pairs);
    let coherence = found.epoch_folding.coherence;
    let sentence = format!(
        "half of the reads take at most {:.3} ms; highest coherence {coherence:.2} of {pairs} pairs of \
         reads (chance level {chance:.2}); {} more pairs were served from the cache",
        1e3 * found.median_response,
        found.cached_pairs
    );
    let facts = json!({
        "median_response_seconds": found.median_response,
        "coherence": coherence,
        "chance_coherence": chance,
        "pairs": pairs,
        "cached_pairs": found.cached_pairs,
    });
    (sentence, facts)
}

/// The check for a limit or a stop before the metric was certain: what the reads are needed for, as a
/// key and in words.
#[must_use]
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
#[must_use]
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
