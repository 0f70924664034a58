//! fio's line of a run, made anew from its document.

use std::path::Path;

use crate::bench::framework::fio::FioFile;
use crate::bench::{Benchmark, ParameterSet};
use crate::drive::{BlockDevice, Target, TargetKind};
use crate::session::document::BenchmarkRun;

/// The lines of fio's command for the benchmark, the parameters and the target of the document; `None`
/// where there is none, or its parameters are not those of the benchmark.
pub(super) fn made_anew(benchmark: &dyn Benchmark, run: &BenchmarkRun) -> Option<String> {
    let named = Path::new(run.target.path.original()?);
    let target = target_of(run)?;
    let known = benchmark.description().parameters;
    let mut parameters = ParameterSet::defaults(known, &target);
    for parameter in known {
        if let Some(stored) = run.parameters.get(parameter.name()) {
            let value = parameter.kind().of_json(stored)?;
            parameters.set_value(parameter.name(), value);
        }
    }
    let file = FioFile::from_target(&target, named).ok()?;
    let job = benchmark.fio(&target, &parameters).ok()?;
    job.command_lines(&file).ok()
}

/// What fio's line depends on of the target.
fn target_of(run: &BenchmarkRun) -> Option<Target> {
    let record = &run.target;
    let kinds = [
        TargetKind::BlockDevice,
        TargetKind::File,
        TargetKind::ScratchFile,
    ];
    let mut kinds = kinds.into_iter();
    Some(Target {
        name: record.path.to_string(),
        kind: kinds.find(|kind| *kind.document_name() == *record.kind)?,
        size_bytes: record.size_bytes,
        logical_block_bytes: record.logical_block_bytes,
        physical_block_bytes: record.physical_block_bytes,
        drive: record.rotational.map(|rotational| BlockDevice {
            rotational: Some(rotational),
            ..BlockDevice::default()
        }),
        ..Target::example_drive()
    })
}
