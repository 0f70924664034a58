//! Checks of the benchmarks of hard disks.

use super::text::CheckText;
use crate::session::document::check::{
    CylinderScan, DelayedReads, FoundZones, NonRotation, PairCoherence, ProbeShortage,
    ProbedQuantity, ReportedSpeed, RotationalFlag, SeekDoubt, SeekMargin, ShortSpan, SkewPattern,
    SpeedClass, SurfaceScan,
};
use crate::units;

pub(super) fn too_few_probes(shortage: &ProbeShortage) -> CheckText {
    match shortage {
        ProbeShortage::FewReads {
            quantity,
            found,
            needed,
        } => {
            let quantity = match quantity {
                ProbedQuantity::Rotation => "rotation",
                ProbedQuantity::FullStroke => "full-stroke seek",
                ProbedQuantity::TrackToTrack => "track-to-track seek",
                ProbedQuantity::SeekCurve => "seek curve",
                ProbedQuantity::Geometry => "geometry",
            };
            CheckText::new(
                format!("{quantity}: {found} usable reads, {needed} are needed"),
                "let the benchmark finish, or use larger --duration, --bytes and --requests",
            )
        }
        ProbeShortage::NoTrackLength => CheckText::new(
            "the benchmark ended before the length of a track was known",
            "let the benchmark finish, and stop other users of the drive; a RAID or a drive with a \
             large cache may hide its tracks",
        ),
    }
}

fn coherence_text(pairs: &PairCoherence) -> String {
    format!(
        "half of the reads take at most {:.3} ms; highest coherence {:.2} of {} pairs of reads (chance \
         level {:.2}); {} more pairs were served from the cache",
        1e3 * pairs.median_response_seconds,
        pairs.coherence,
        pairs.pairs,
        pairs.chance_coherence,
        pairs.cached_pairs
    )
}

pub(super) fn does_not_rotate(reason: &NonRotation) -> CheckText {
    match reason {
        NonRotation::Incoherent(pairs) => CheckText::new(
            coherence_text(pairs),
            "this is an SSD, a virtual disk, a RAID or a cache: its mechanics cannot be measured",
        ),
        NonRotation::FastReads {
            median_response_seconds,
            pairs,
        } => CheckText::new(
            format!(
                "half of the reads of {pairs} pairs take at most {}: a disk waits half a revolution on \
                 average, 2 ms even at 15,000 rpm",
                units::format_latency(1e9 * median_response_seconds)
            ),
            "this is an SSD, a virtual disk, a RAID or a cache: its mechanics cannot be measured",
        ),
        NonRotation::PeriodicClock {
            frequency_hz,
            cross_sector_coherence,
        } => CheckText::new(
            format!(
                "the completion times of all sectors are periodic with {frequency_hz:.1} Hz (coherence of \
                 different sectors {cross_sector_coherence:.2})"
            ),
            "a virtual disk or a rate limit completes requests on a timer: its mechanics cannot be \
             measured",
        ),
    }
}

pub(super) fn rotation_undetermined(reads: &DelayedReads) -> CheckText {
    CheckText::new(
        format!(
            "cannot tell: processors busy; this program waited {} per read for a CPU, which hides the \
             rotation of a disk",
            units::format_latency(1e9 * reads.run_delay_seconds)
        ),
        "stop other programs, or start diskscope with a higher priority (nice -n -10), and repeat the run",
    )
}

pub(super) fn rotation_doubtful(pairs: &PairCoherence) -> CheckText {
    CheckText::new(
        coherence_text(pairs),
        "stop other programs and other users of the drive, and repeat the run; use a larger window if the \
         cache is large",
    )
}

pub(super) fn rotation_class(speed: &SpeedClass) -> CheckText {
    let rpm = speed.measured_rpm;
    match speed.class_rpm {
        Some(class) => CheckText::new(
            format!(
                "{rpm:.2} rpm ({} from {class:.0}): a drive of the {class:.0} rpm class",
                deviation(rpm, class)
            ),
            "no action needed",
        ),
        None => CheckText::new(
            format!("{rpm:.2} rpm is none of the usual speeds"),
            "no action needed: some drives have an unusual speed that their label does not state",
        ),
    }
}

fn reported_speed_text(speed: &ReportedSpeed) -> String {
    format!(
        "the drive reports {} rpm, measured are {:.2} rpm: {}",
        speed.reported_rpm,
        speed.measured_rpm,
        deviation(speed.measured_rpm, f64::from(speed.reported_rpm))
    )
}

/// Deviation from a reference in percent with three decimals, such as `-0.012 %`; zero has no minus
/// sign.
fn deviation(measured: f64, reference: f64) -> String {
    let percent = 100.0 * (measured / reference - 1.0);
    format!("{:+.3} %", (percent * 1e3).round() / 1e3 + 0.0)
}

pub(super) fn rotation_as_reported(speed: &ReportedSpeed) -> CheckText {
    CheckText::new(reported_speed_text(speed), "no action needed")
}

pub(super) fn rotation_differs(speed: &ReportedSpeed) -> CheckText {
    CheckText::new(
        reported_speed_text(speed),
        "some drives report only the speed of their class; otherwise the spindle may be failing: check \
         the SMART attributes",
    )
}

pub(super) fn rotational_flag_wrong(flag: &RotationalFlag) -> CheckText {
    CheckText::new(
        format!(
            "the kernel's flag is rotational={}, but the drive {}",
            u8::from(flag.flag),
            if flag.flag {
                "does not rotate"
            } else {
                "rotates"
            }
        ),
        "correct it in /sys/block/NAME/queue/rotational: schedulers and file systems use it",
    )
}

pub(super) fn command_overhead_unknown() -> CheckText {
    CheckText::new(
        "the second of two reads of the same block took a whole revolution: no cache served it, and the \
         command overhead could not be measured",
        "seek times include the command overhead, usually 0.1 to 0.3 ms",
    )
}

pub(super) fn seek_doubtful(doubt: &SeekDoubt) -> CheckText {
    match *doubt {
        SeekDoubt::FewResponses { responses, needed } => CheckText::new(
            format!("the revolution is estimated from {responses} reads"),
            format!("an estimate without a known revolution needs {needed} reads"),
        ),
        SeekDoubt::Distribution {
            fraction_inside,
            edge_seconds,
            anderson_darling,
            critical_value,
        } => CheckText::new(
            format!(
                "{:.0} % of the reads are within one revolution above {:.3} ms; the Anderson-Darling \
                 statistic of their distribution is {anderson_darling:.1} (critical value \
                 {critical_value})",
                100.0 * fraction_inside,
                1e3 * edge_seconds,
            ),
            "the rotational delays are not those of a disk: stop other users of the drive, and check \
             that every jump leaves the cylinder",
        ),
        SeekDoubt::OffTrack {
            fraction_on_line,
            fraction_inside,
        } => CheckText::new(
            format!(
                "{} of the jumps end at the angle of the next cylinder, and {} of these within one \
                 revolution",
                units::format_percent(fraction_on_line),
                units::format_percent(fraction_inside)
            ),
            "the rotational delays are not those of a disk: stop other users of the drive and repeat \
             the run",
        ),
        SeekDoubt::CurveRanges { ranges } => CheckText::new(
            format!(
                "in {ranges} ranges of the curve the rotational delays are not those of a disk"
            ),
            "stop other users of the drive and repeat the run",
        ),
    }
}

pub(super) fn seek_uncertain(margin: &SeekMargin) -> CheckText {
    CheckText::new(
        format!(
            "the margin of the seek time is {}: single seeks, commands and this computer vary by as much",
            units::format_percent(margin.relative_margin)
        ),
        "stop other programs and other users of the drive, and repeat the run",
    )
}

pub(super) fn span_below_cylinder(span: &ShortSpan) -> CheckText {
    CheckText::new(
        format!(
            "some jumps of {} stay within a cylinder of {}",
            units::format_block_size(span.span_bytes),
            units::format_block_size(span.cylinder_bytes)
        ),
        "omit --span, or make it larger than a cylinder",
    )
}

pub(super) fn tracks_undetermined() -> CheckText {
    CheckText::new(
        "the drive rotates, but the angles of adjacent sectors show no tracks",
        "stop other users of the drive and repeat the run; a RAID or a drive with a large cache may hide \
         its tracks",
    )
}

pub(super) fn cylinder_undetermined(scan: &CylinderScan) -> CheckText {
    match scan.skews {
        SkewPattern::Uniform => CheckText::new(
            "all tracks have the same skew: a head switch takes as long as a seek to the next cylinder, \
             or there is one surface only",
            "the jumps are one track long",
        ),
        SkewPattern::Irregular => CheckText::new(
            format!("the skews of {} tracks show no pattern", scan.tracks),
            "stop other users of the drive and repeat the run",
        ),
    }
}

pub(super) fn surfaces_undetermined(scan: &SurfaceScan) -> CheckText {
    let evidence = match scan {
        SurfaceScan::NoTracks => "the angles of the scanned sectors show no tracks".to_owned(),
        SurfaceScan::Skews(scan) => match scan.skews {
            SkewPattern::Uniform => format!("the skews of {} tracks are all equal", scan.tracks),
            SkewPattern::Irregular => {
                format!("the skews of {} tracks show no pattern", scan.tracks)
            }
        },
    };
    CheckText::new(
        evidence,
        "the drive has one surface, its head switch takes as long as a seek, or it switches heads only \
         after many tracks; if it had other users, repeat the run without them",
    )
}

pub(super) fn zones_undetermined(found: &FoundZones) -> CheckText {
    CheckText::new(
        format!(
            "at least {} zones: the benchmark ended before all their boundaries were found",
            found.zones
        ),
        "use a longer --duration",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_of_less_than_its_last_digit_has_no_minus_sign() {
        assert_eq!(deviation(7199.999, 7200.0), "+0.000 %");
        assert_eq!(deviation(7199.0, 7200.0), "-0.014 %");
    }
}
