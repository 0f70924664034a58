//! Memory is swapped out and needed again.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined, Party};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::snapshot::view::HostView;

/// Bytes per second read from swap from which somebody notices,
const MIN_SWAP_IN: f64 = 1e6;
/// in this fraction of the snapshots.
const MIN_FRACTION: f64 = 0.4;
/// Fraction of the time in which tasks have to wait for memory.
const MIN_PRESSURE: f64 = 0.1;
/// Bytes per second written to swap, where the kernel reports no pressure.
const MIN_SWAP_OUT: f64 = 1e6;
/// Bytes per second in each direction from which pages go round: with fast swap, or busy processors,
/// a task waits a small part of the time for each page,
const ROUND_TRIP: f64 = 5e6;
/// but not a smaller one than this. Compressed swap in memory makes nobody wait.
const ROUND_TRIP_PRESSURE: f64 = 0.015;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let swap_in = |host: &HostView| host.swap_in_bytes_per_s;
    let Some(read) = analysis.mean(swap_in) else {
        return Examination::NotExamined(NotExamined::NotReported);
    };
    let written = analysis
        .mean(|host| host.swap_out_bytes_per_s)
        .unwrap_or(0.0);
    let often = analysis
        .fraction_at_least(swap_in, MIN_SWAP_IN)
        .unwrap_or(0.0);
    let pressure = analysis.mean(|host| host.memory_pressure_some);
    let goes_round = read >= ROUND_TRIP
        && written >= ROUND_TRIP
        && pressure.is_some_and(|pressure| pressure >= ROUND_TRIP_PRESSURE);
    let waits =
        pressure.map_or(written >= MIN_SWAP_OUT, |pressure| pressure >= MIN_PRESSURE) || goes_round;
    let mut evidence = vec![
        Measurement::of_machine(Quantity::SwapIn, read),
        Measurement::of_machine(Quantity::SwapOut, written),
    ];
    evidence.extend(pressure.map(|it| Measurement::of_machine(Quantity::MemoryPressure, it)));
    if often < MIN_FRACTION || !waits {
        return Examination::RuledOut(evidence);
    }
    let mut cause = Cause::new(
        CauseDetail::SwapThrashing,
        Severity::Critical,
        analysis.begin(),
    );
    cause.certainty = Certainty::Confirmed;
    cause.evidence = evidence;
    cause.victims = suffering(analysis);
    cause.remedies = vec![Remedy::ShowMemoryUsers];
    Examination::Problem(vec![cause])
}

/// The processes that wait for swap-in, as far as they are blocked in it.
fn suffering(analysis: &Analysis<'_>) -> Vec<Party> {
    use crate::diagnosis::blame::{SUFFERING, parties};
    let waiting: Vec<_> = analysis
        .waiters
        .iter()
        .filter(|waiter| waiter.blocked >= SUFFERING && !waiter.is_kernel_thread)
        .collect();
    parties(&waiting)
}
