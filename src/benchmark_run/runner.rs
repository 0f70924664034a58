//! Runs a benchmark from its specification to the saved session, on the calling thread.

use super::open_session::OpenSession;
use super::overwrite_consent;
use super::run_record::{self, RunSubject};
use super::run_recorder::RunRecorder;
use super::run_spec::{RunReport, RunSpec};
use super::shared_session::SharedSession;
use super::start_error::{StartError, StartStep};
use crate::bench::framework::context::{FinishedRun, RunEnvironment};
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::framework::run;
use crate::bench::framework::{SEED, plan_window};
use crate::bench::{BenchError, Forecast, ParameterSet, RunEvent, RunSink, RunStart, RunTime};
use crate::drive::{DriveError, Inspection, SettingsManager, TargetKind};
use crate::engine::{CancellationToken, EngineError, OpenedTarget};
use crate::roots::SysPaths;
use crate::session::document::RunState;

/// A run: what is requested, what it runs on, what stops it, and its session, which another thread
/// may close at any time.
#[derive(Clone, Copy)]
pub(super) struct RunJob<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) roots: &'a SysPaths,
    pub(super) cancellation: &'a CancellationToken,
    pub(super) session: &'a SharedSession,
}

/// Runs a benchmark to its end on the calling thread. The metrics measured are saved and returned,
/// however it ended.
///
/// # Errors
///
/// When it could not start: nothing was measured.
pub fn run_benchmark(
    spec: &RunSpec,
    roots: &SysPaths,
    cancellation: &CancellationToken,
    sink: &mut RunSink<'_>,
) -> Result<RunReport, StartError> {
    let job = RunJob {
        spec,
        roots,
        cancellation,
        session: &SharedSession::default(),
    };
    let result = run_job(job, &mut None, sink);
    sink(RunEvent::Ended);
    result
}

/// Runs a job. `slot` keeps the target open beyond the end, because closing it may take as long as
/// any request.
pub(super) fn run_job(
    job: RunJob<'_>,
    slot: &mut Option<OpenedTarget>,
    sink: &mut RunSink<'_>,
) -> Result<RunReport, StartError> {
    job.session.set_start_step(StartStep::Open);
    let spec = &job.spec.spec;
    let opened = slot.insert(overwrite_consent::open_target(job.roots, spec)?);
    let parameters = prepare(job, opened, sink)?;
    if !job.session.start(OpenSession::create(job.spec, job.roots)) {
        return Err(job.abandoned());
    }
    let write_refused = measure_repeats(job, opened, &parameters, sink)?;
    let report = job.session.close().ok_or_else(|| job.abandoned())?;
    Ok(RunReport {
        write_refused,
        ..report
    })
}

impl RunJob<'_> {
    /// The result of a thread whose session was closed by the one that waits, which has returned
    /// its own.
    fn abandoned(&self) -> StartError {
        StartError::TargetHangs {
            step: StartStep::FillScratchFile,
            target: self.spec.spec.target_name.clone(),
        }
    }
}

/// Prepares an opened target for the first request, and returns the parameters on it. Invalid
/// parameters are reported before a permission is requested or a scratch file is written.
fn prepare(
    job: RunJob<'_>,
    opened: &mut OpenedTarget,
    sink: &mut RunSink<'_>,
) -> Result<ParameterSet, StartError> {
    let spec = &job.spec.spec;
    let outputs = &job.spec.output_files;
    if outputs.iter().any(|output| opened.is_stored_in(*output)) {
        return Err(StartError::OutputIsTarget {
            target: spec.target_name.clone(),
        });
    }
    let target = opened.target.clone();
    let parameters = spec.parameters(&target);
    let mut forecast = spec.forecast(&target)?;
    let overwritten_target = permit_writing(job, opened, &parameters, &forecast)?;
    forecast.run_time = total_run_time(
        &forecast,
        spec.benchmark.forecast(&target, &parameters)?,
        job.spec.repeat_count,
    );
    sink(RunEvent::Forecast {
        benchmark: spec.benchmark.description().name,
        forecast: forecast.clone(),
    });
    job.session.set_start_step(StartStep::FillScratchFile);
    let writes = spec.benchmark.writes(&parameters) || target.kind == TargetKind::ScratchFile;
    let unknown_space = writes.then(|| opened.unknown_space()).flatten();
    let filled = opened.fill_scratch_file(job.cancellation, &mut |written_bytes, total_bytes| {
        sink(RunEvent::ScratchFill {
            written_bytes,
            total_bytes,
        });
    });
    filled?;
    sink(RunEvent::Started(Box::new(RunStart {
        target,
        forecast,
        engine: run_record::engine_record(opened.engine()),
        overwritten_target,
        unknown_space,
    })));
    Ok(parameters)
}

/// Permits writing if the benchmark writes. Returns what is about to be overwritten.
fn permit_writing(
    job: RunJob<'_>,
    opened: &mut OpenedTarget,
    parameters: &ParameterSet,
    forecast: &Forecast,
) -> Result<Option<Inspection>, StartError> {
    if !job.spec.spec.benchmark.writes(parameters) {
        return Ok(None);
    }
    job.session.set_start_step(StartStep::Inspect);
    let overwritten = overwrite_consent::permit_writing(opened, &job.spec.spec)?;
    let window = plan_window(&opened.target, parameters);
    opened.check_free_space(window, forecast.max_written_bytes)?;
    Ok(overwritten)
}

/// Runs and records the benchmark as often as requested, until one run does not finish. Returns
/// whether writing to the target was refused on the way.
fn measure_repeats(
    job: RunJob<'_>,
    opened: &OpenedTarget,
    parameters: &ParameterSet,
    sink: &mut RunSink<'_>,
) -> Result<bool, StartError> {
    let spec = &job.spec.spec;
    let count = job.spec.repeat_count.max(1);
    let writes = opened.target.kind == TargetKind::ScratchFile || spec.benchmark.writes(parameters);
    let needs_space_below = writes && opened.needs_space_below();
    let all_repeats = ProgressSpan::whole_run();
    let mut write_refused = false;
    let file = opened.file();
    for index in 0..count {
        let subject = RunSubject {
            spec,
            target: &opened.target,
            file: file.as_deref(),
            parameters: &parameters_of_repeat(parameters, index),
            engine: opened.engine(),
            needs_space_below,
        };
        let mut recorder = RunRecorder::start(job.session, job.roots, &subject, &mut *sink);
        let span = all_repeats.repeat(index, count);
        let mut finished = measure(job, subject, span, &mut |event| {
            recorder.handle_event(event);
        });
        if job.cancellation.is_cancelled() {
            // The thread that waits for this one gives it up soon, and then the process may end.
            opened.start_write_back();
        }
        if let Some(refusal) = opened.take_refusal() {
            finished.state = RunState::Failed;
            finished.error = Some(EngineError::from(refusal).into());
        }
        write_refused |= finished.error.as_ref().is_some_and(is_refusal);
        if job.session.is_empty()
            && let Some(error) = take_start_error(&mut finished)
        {
            job.session.discard();
            return Err(error.into());
        }
        let is_last = finished.state != RunState::Finished;
        recorder.finish(finished, &subject);
        if is_last {
            break;
        }
    }
    Ok(write_refused)
}

fn measure(
    job: RunJob<'_>,
    subject: RunSubject<'_>,
    span: ProgressSpan,
    sink: &mut RunSink<'_>,
) -> FinishedRun {
    let environment = RunEnvironment {
        target: subject.target,
        parameters: subject.parameters,
        settings: &SettingsManager::default(),
        engine: subject.engine,
        cancellation: job.cancellation,
    };
    run::run_benchmark(subject.spec.benchmark, environment, span, sink)
}

/// The error of a run that sent no request, because the plan is invalid or a setting is in use:
/// there is nothing to keep.
fn take_start_error(finished: &mut FinishedRun) -> Option<BenchError> {
    let sent_nothing = |error: &mut BenchError| {
        matches!(
            error,
            BenchError::Engine(EngineError::InvalidPlan(_)) | BenchError::SettingInUse(_)
        )
    };
    let is_empty = finished.findings.is_empty();
    finished
        .error
        .take_if(|error| is_empty && sent_nothing(error))
}

/// The time of repeated runs: the scratch file is written once.
fn total_run_time(first: &Forecast, each: Forecast, times: u32) -> RunTime {
    first.run_time + each.run_time * times.saturating_sub(1)
}

/// Whether a run ended because writing to its target is no longer permitted.
fn is_refusal(error: &BenchError) -> bool {
    matches!(
        error,
        BenchError::Engine(EngineError::OpenMedium(
            DriveError::Refused(_) | DriveError::TargetChanged { .. }
        ))
    )
}

/// The parameters of a repeated run: each has its own seed, because a drive's cache might otherwise
/// hold all addresses of the previous run.
fn parameters_of_repeat(parameters: &ParameterSet, index: u32) -> ParameterSet {
    let mut own = parameters.clone();
    if let Some(seed) = parameters.find(SEED) {
        own.set(SEED, seed.wrapping_add(u64::from(index)));
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{self, BenchmarkSpec};
    use crate::session::document::MetricId;

    /// The events of a run on a simulated drive.
    fn events_of(benchmark: &str, set: &[(&str, &str)], repeat_count: u32) -> Vec<RunEvent> {
        let benchmark = bench::find_benchmark(benchmark).unwrap();
        let mut spec = BenchmarkSpec::new(benchmark, "sim:constant,clock=real");
        for (name, value) in set {
            spec.set(name, value).unwrap();
        }
        let spec = RunSpec {
            spec,
            repeat_count,
            session_directory: None,
            output_files: Vec::new(),
        };
        let cancellation = CancellationToken::default();
        let mut events = Vec::new();
        let mut sink = |event| events.push(event);
        run_benchmark(&spec, &SysPaths::default(), &cancellation, &mut sink).unwrap();
        events
    }

    #[test]
    fn events_of_a_run_arrive_in_order() {
        let events = events_of("random-read", &[("requests", "1000"), ("ramp", "0s")], 1);
        let [
            RunEvent::Forecast { benchmark, .. },
            RunEvent::Started(_),
            middle @ ..,
            RunEvent::PhaseFinished(findings),
            RunEvent::Ended,
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(*benchmark, "random-read");
        assert!(findings.metric(&MetricId::IOPS).is_some());
        let is_progress = |event: &RunEvent| matches!(event, RunEvent::Progress(_));
        assert!(middle.iter().all(is_progress), "{middle:?}");
    }

    #[test]
    fn progress_of_repeats_never_goes_back() {
        let set = [("duration", "600ms"), ("ramp", "0s")];
        let progress: Vec<_> = events_of("random-read", &set, 3)
            .into_iter()
            .filter_map(|event| match event {
                RunEvent::Progress(progress) => Some(*progress),
                _ => None,
            })
            .collect();
        let first = &progress.first().unwrap().phase;
        assert!(first.starts_with("run 1 of 3: "), "{first}");
        let last = progress.last().unwrap();
        assert!(last.phase.starts_with("run 3 of 3: "), "{}", last.phase);
        assert!(progress.is_sorted_by_key(|it| it.elapsed));
        let fractions = progress.iter().map(|it| it.fraction.unwrap());
        assert!(fractions.is_sorted());
        assert!(last.fraction.unwrap() > 2.0 / 3.0 && last.fraction.unwrap() <= 1.0);
    }
}
