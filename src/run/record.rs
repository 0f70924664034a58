//! A run as the session document describes it, before anything is measured.

use std::collections::BTreeMap;

use super::machine;
use crate::bench::framework::fio::FioFile;
use crate::bench::{ParameterSet, ParameterValue, RunRequest};
use crate::drive::{BlockDevice, Target, TargetKind};
use crate::engine::{Engine, OpenedTarget};
use crate::files::safe_text::{SafeLines, SafeText};
use crate::session::document::{
    BenchmarkRun, EngineRecord, Findings, FioGap, Invocation, RunEvidence, RunState, TargetRecord,
};
use crate::time;

/// A run that starts now.
pub(super) fn new_run(
    request: &RunRequest,
    opened: &OpenedTarget,
    parameters: &ParameterSet,
) -> BenchmarkRun {
    let started = machine::rfc3339(&time::local_now());
    BenchmarkRun {
        test: request.benchmark.description().name.into(),
        state: RunState::Running,
        error: None,
        started: started.into(),
        elapsed_ns: 0,
        target: target_record(&opened.target),
        parameters: parameters_by_name(parameters, |value| Some(value.to_json())),
        parameter_units: parameters_by_name(parameters, ParameterValue::unit),
        engine: engine_record(opened.engine()),
        findings: Findings::default(),
        kernel: None,
        stages: None,
        cpu: None,
        evidence: RunEvidence::default(),
        reproduce: invocation(request, opened, parameters),
    }
}

/// The engine and what it uses now: an I/O path that is used later appears later.
pub(super) fn engine_record(engine: &dyn Engine) -> EngineRecord {
    EngineRecord {
        name: engine.name().into(),
        features: engine.features().into_iter().map(Into::into).collect(),
        reason: engine.selection_reason().map(Into::into),
    }
}

/// The values of the parameters that have one of this kind, by name.
fn parameters_by_name<T>(
    parameters: &ParameterSet,
    of: fn(&ParameterValue) -> Option<T>,
) -> BTreeMap<SafeText, T> {
    parameters
        .iter()
        .filter_map(|(name, value)| Some((name.into(), of(value)?)))
        .collect()
}

fn target_record(target: &Target) -> TargetRecord {
    let drive = target.drive.as_ref();
    let text =
        |field: fn(&BlockDevice) -> &Option<String>| drive.and_then(|drive| field(drive).clone());
    TargetRecord {
        path: target.name.clone().into(),
        kind: target.kind.document_name().into(),
        size_bytes: target.size_bytes,
        logical_block_bytes: target.logical_block_bytes,
        physical_block_bytes: target.physical_block_bytes,
        device: drive.map(|drive| drive.name.clone()).map(Into::into),
        model: text(|drive| &drive.model).map(Into::into),
        serial: text(|drive| &drive.serial).map(Into::into),
        firmware: text(|drive| &drive.firmware).map(Into::into),
        transport: text(|drive| &drive.transport).map(Into::into),
        rotational: target.is_rotational(),
        file_system: target.file_system.clone().map(Into::into),
    }
}

/// The command lines that repeat the run.
fn invocation(
    request: &RunRequest,
    opened: &OpenedTarget,
    parameters: &ParameterSet,
) -> Invocation {
    let target = &opened.target;
    let benchmark = request.benchmark;
    let fio = FioFile::from_target(target, &request.target().path).and_then(|file| {
        let fio = benchmark.fio(target, parameters)?;
        let writes = target.kind == TargetKind::ScratchFile || benchmark.writes(parameters);
        if writes && opened.needs_space_below() {
            return Err(FioGap::SpaceBelow);
        }
        fio.command_lines(&file)
    });
    Invocation {
        diskscope: request.command_line().unwrap_or_default().into(),
        fio_gap: fio.as_ref().err().copied(),
        fio: fio.ok().map(SafeLines::from),
    }
}

#[cfg(test)]
mod tests {
    use crate::drive::TargetKind;
    use crate::session::document::TargetRecord;

    #[test]
    fn checks_know_block_device_by_its_name_in_document() {
        assert_eq!(
            TargetKind::BlockDevice.document_name(),
            TargetRecord::BLOCK_DEVICE
        );
    }
}
