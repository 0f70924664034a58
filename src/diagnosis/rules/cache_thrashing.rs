//! Files are dropped from the page cache and read again shortly afterwards.

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, ProcessSummary};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined, Party};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::model::snapshot::HostView;
use crate::sorting::SortList as _;

/// Bytes per second that are read again,
const MIN_REFAULTS: f64 = 10e6;
/// in this fraction of the snapshots,
const MIN_FRACTION: f64 = 0.4;
/// while tasks wait for memory for this fraction of the time. Reading large files once makes no
/// refaults, and refaults without waiting tasks do no harm.
const MIN_PRESSURE: f64 = 0.05;
/// Bytes per second from which files go round whatever the memory pressure is: the kernel counts a
/// wait as memory pressure only for pages that were in active use when they were dropped, and
/// read-ahead brings most pages of a file that is read in order; what remains is a wait for I/O
/// (mm/filemap.c, `folio_wait_bit_common`),
const HEAVY_REFAULTS: f64 = 50e6;
/// for which tasks wait this fraction of the time.
const HEAVY_IO_PRESSURE: f64 = 0.05;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let refaults = |host: &HostView| host.refault_bytes_per_s;
    let Some(mean) = analysis.mean(refaults) else {
        return Examination::NotExamined(NotExamined::NotReported);
    };
    let mut evidence = vec![Measurement::of_machine(Quantity::Refaults, mean)];
    let pressure = analysis.mean(|host| host.memory_pressure_some);
    evidence.extend(pressure.map(|it| Measurement::of_machine(Quantity::MemoryPressure, it)));
    let often = analysis
        .fraction_at_least(refaults, MIN_REFAULTS)
        .unwrap_or(0.0);
    let waits_for_memory = pressure.is_some_and(|it| it >= MIN_PRESSURE);
    let waits_for_files = mean >= HEAVY_REFAULTS
        && analysis
            .mean(|host| host.pressure_some)
            .is_some_and(|it| it >= HEAVY_IO_PRESSURE);
    if often < MIN_FRACTION || !(waits_for_memory || waits_for_files) {
        return Examination::RuledOut(evidence);
    }
    let mut cause = Cause::new(
        CauseDetail::CacheThrashing,
        Severity::Warning,
        analysis.begin(),
    );
    cause.certainty = Certainty::Confirmed;
    cause.evidence = evidence;
    cause.victims = readers(analysis);
    cause.remedies = vec![Remedy::ShowMemoryUsers];
    Examination::Problem(vec![cause])
}

/// Who reads most: it reads what it had before.
fn readers(analysis: &Analysis<'_>) -> Vec<Party> {
    let mut readers: Vec<&ProcessSummary> = analysis
        .processes
        .iter()
        .filter(|it| it.read_bytes > 0.0)
        .collect();
    readers.sort_list_by(|a, b| b.read_bytes.total_cmp(&a.read_bytes));
    readers
        .iter()
        .take(2)
        .map(|reader| Party {
            pid: reader.pid,
            command: reader.command.clone(),
            unit: reader.unit.clone(),
            share: Some(reader.blocked),
        })
        .collect()
}
