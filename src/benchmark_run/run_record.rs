//! A run as the session document describes it, before anything is measured.

use std::collections::BTreeMap;
use std::fs::File;

use super::machine;
use crate::bench::framework::fio::FioFile;
use crate::bench::{BenchmarkSpec, ParameterSet, ParameterValue};
use crate::drive::{BlockDevice, Target};
use crate::engine::Engine;
use crate::files::safe_text::{SafeLines, SafeText};
use crate::session::document::{
    BenchmarkRun, EngineRecord, Findings, FioGap, Invocation, RunEvidence, RunState, TargetRecord,
};
use crate::time;

/// What one benchmark run measures, and how.
#[derive(Clone, Copy)]
pub(super) struct RunSubject<'a> {
    /// The benchmark as requested.
    pub(super) spec: &'a BenchmarkSpec,
    /// The opened target.
    pub(super) target: &'a Target,
    /// Its open file description; `None` for a simulated drive.
    pub(super) file: Option<&'a File>,
    /// All parameters.
    pub(super) parameters: &'a ParameterSet,
    /// The engine that executes the requests.
    pub(super) engine: &'a dyn Engine,
    /// Whether it writes, and that can need space of something below the target.
    pub(super) needs_space_below: bool,
}

/// A run that starts now.
pub(super) fn new_run(subject: &RunSubject<'_>) -> BenchmarkRun {
    let started = machine::rfc3339(&time::local_now());
    let parameters = subject.parameters;
    BenchmarkRun {
        test: subject.spec.benchmark.description().name.into(),
        state: RunState::Running,
        error: None,
        started: started.into(),
        elapsed_ns: 0,
        target: target_record(subject.target),
        parameters: parameters_by_name(parameters, |value| Some(value.to_json())),
        parameter_units: parameters_by_name(parameters, ParameterValue::unit),
        engine: engine_record(subject.engine),
        findings: Findings::default(),
        kernel: None,
        stages: None,
        cpu: None,
        evidence: RunEvidence::default(),
        reproduce: invocation(subject),
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

fn invocation(subject: &RunSubject<'_>) -> Invocation {
    let RunSubject { spec, target, .. } = subject;
    let fio = FioFile::from_target(target, &spec.target_path).and_then(|file| {
        let fio = spec.benchmark.fio(target, subject.parameters)?;
        match subject.needs_space_below {
            true => Err(FioGap::SpaceBelow),
            false => fio.command_lines(&file),
        }
    });
    Invocation {
        diskscope: spec.command_line().unwrap_or_default().into(),
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
