//! Executes a request, from the opened target to the saved session, on the calling thread.

use super::consent;
use super::record;
use super::recorded_run::{Execution, Run};
use super::session::{RunReport, SharedSession};
use super::start_error::{StartError, StartStep};
use crate::bench::framework::SEED;
use crate::bench::framework::context::FinishedRun;
use crate::bench::framework::plan_window;
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::{BenchError, Forecast, ParameterSet, RunEvent, RunRequest, RunSink, RunStart};
use crate::drive::{DriveError, Inspection, TargetKind};
use crate::engine::{CancellationToken, EngineError, OpenedTarget};
use crate::roots::SysPaths;
use crate::session::document::RunState;

/// Runs a benchmark to its end on the calling thread. The metrics measured are saved and returned,
/// however it ended.
///
/// # Errors
///
/// When it could not start: nothing was measured.
pub fn run_benchmark(
    request: &RunRequest,
    roots: &SysPaths,
    cancellation: &CancellationToken,
    sink: &mut RunSink<'_>,
) -> Result<RunReport, StartError> {
    let execution = Execution {
        request,
        roots,
        cancellation,
        session: &SharedSession::default(),
    };
    let result = execution.run(&mut None, sink);
    sink(RunEvent::Ended);
    result
}

impl Execution<'_> {
    /// Runs everything that is requested. `slot` keeps the target open beyond the end, because closing
    /// it may take as long as any request.
    pub(super) fn run(
        self,
        slot: &mut Option<OpenedTarget>,
        sink: &mut RunSink<'_>,
    ) -> Result<RunReport, StartError> {
        self.session.set_start_step(StartStep::Open);
        let opened = slot.insert(consent::open_target(self.roots, self.request)?);
        let parameters = self.prepare(opened, sink)?;
        if !self.session.start(self.request, self.roots) {
            return Err(self.abandoned());
        }
        let write_refused = self.measure_repeats(opened, &parameters, sink)?;
        let report = self.session.close().ok_or_else(|| self.abandoned())?;
        Ok(RunReport {
            write_refused,
            ..report
        })
    }

    /// The result of a thread whose session was closed by the one that waits, which has returned its
    /// own.
    fn abandoned(self) -> StartError {
        StartError::TargetHangs {
            step: StartStep::FillScratchFile,
            target: self.request.target().name.clone(),
        }
    }

    /// Prepares an opened target for the first request, and returns the parameters on it. Invalid
    /// parameters are reported before a permission is requested or a scratch file is written.
    fn prepare(
        self,
        opened: &mut OpenedTarget,
        sink: &mut RunSink<'_>,
    ) -> Result<ParameterSet, StartError> {
        let request = self.request;
        let mut outputs = request.output_files.iter();
        if outputs.any(|output| opened.is_stored_in(*output)) {
            return Err(StartError::OutputIsTarget {
                target: request.target().name.clone(),
            });
        }
        let target = opened.target.clone();
        let parameters = request.parameters(&target);
        let forecast = request.forecast(&target)?;
        let overwritten_target = self.permit_writing(opened, &parameters, &forecast)?;
        sink(RunEvent::Forecast {
            benchmark: request.benchmark.description().name,
            forecast: forecast.clone(),
        });
        self.session.set_start_step(StartStep::FillScratchFile);
        let unknown_space = self
            .writes(opened, &parameters)
            .then(|| opened.unknown_space());
        opened.fill_scratch_file(self.cancellation, &mut |written_bytes, total_bytes| {
            sink(RunEvent::ScratchFill {
                written_bytes,
                total_bytes,
            });
        })?;
        sink(RunEvent::Started(Box::new(RunStart {
            target,
            forecast,
            engine: record::engine_record(opened.engine()),
            overwritten_target,
            unknown_space: unknown_space.flatten(),
        })));
        Ok(parameters)
    }

    /// Whether the run writes to the file system or the device, a scratch file included.
    fn writes(self, opened: &OpenedTarget, parameters: &ParameterSet) -> bool {
        opened.target.kind == TargetKind::ScratchFile || self.request.benchmark.writes(parameters)
    }

    /// Permits writing if the benchmark writes. Returns what is about to be overwritten.
    fn permit_writing(
        self,
        opened: &mut OpenedTarget,
        parameters: &ParameterSet,
        forecast: &Forecast,
    ) -> Result<Option<Inspection>, StartError> {
        if !self.request.benchmark.writes(parameters) {
            return Ok(None);
        }
        self.session.set_start_step(StartStep::Inspect);
        let overwritten = consent::permit_writing(opened, self.request)?;
        let window = plan_window(&opened.target, parameters);
        opened.check_free_space(window, forecast.max_written_bytes)?;
        Ok(overwritten)
    }

    /// Runs and records the benchmark as often as requested, until one run does not finish. Returns
    /// whether writing to the target was refused on the way.
    fn measure_repeats(
        self,
        opened: &OpenedTarget,
        parameters: &ParameterSet,
        sink: &mut RunSink<'_>,
    ) -> Result<bool, StartError> {
        let count = self.request.repeat_count.max(1);
        let all_repeats = ProgressSpan::whole_run();
        for index in 0..count {
            let parameters = parameters_of_repeat(parameters, index);
            let mut run = Run::start(self, opened, &parameters);
            let span = all_repeats.repeat(index, count);
            let mut finished = run.measure(span, sink);
            if self.cancellation.is_cancelled() {
                // The thread that waits for this one gives it up soon, and then the process may end.
                opened.start_write_back();
            }
            if let Some(refusal) = opened.take_refusal() {
                finished.state = RunState::Failed;
                finished.error = Some(EngineError::from(refusal).into());
            }
            if index == 0
                && let Some(error) = take_start_error(&mut finished)
            {
                self.session.discard();
                return Err(error.into());
            }
            let is_refused = finished.error.as_ref().is_some_and(is_refusal);
            let is_last = finished.state != RunState::Finished;
            run.finish(finished);
            if is_last {
                return Ok(is_refused);
            }
        }
        Ok(false)
    }
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
    use crate::bench;
    use crate::session::document::MetricId;

    /// The events of a run on a simulated drive.
    fn events_of(benchmark: &str, set: &[(&str, &str)], repeat_count: u32) -> Vec<RunEvent> {
        let benchmark = bench::find_benchmark(benchmark).unwrap();
        let mut request = RunRequest::new(benchmark, "sim:constant,clock=real");
        request.repeat_count = repeat_count;
        for (name, value) in set {
            request.set(name, value).unwrap();
        }
        let cancellation = CancellationToken::default();
        let mut events = Vec::new();
        let mut sink = |event| events.push(event);
        run_benchmark(&request, &SysPaths::default(), &cancellation, &mut sink).unwrap();
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
