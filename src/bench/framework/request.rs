//! A request to run a benchmark: benchmark, target and explicit parameters.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::metric_families;
use super::options::{ENGINE, SCRATCH_SIZE};
use crate::bench::{
    AnyParameter, BenchError, Benchmark, Forecast, Keyword, ParameterSet, ParameterType,
    ParameterValue,
};
use crate::drive::medium::is_simulated_name;
use crate::drive::{Consent, Target, TargetKind};
use crate::engine::EngineChoice;
use crate::files::file_id::FileId;
use crate::files::printable::printable_bytes;
use crate::files::shell;
use crate::session::slo::SloSpec;
use crate::text;

/// A requested benchmark run, identical for the command line and the launcher.
#[derive(Clone)]
pub struct RunRequest {
    /// The benchmark.
    pub benchmark: &'static dyn Benchmark,
    /// At least one. Only the first is measured: targets side by side have no command yet.
    targets: Vec<RequestedTarget>,
    /// Explicitly set parameters; all others take their defaults for the target.
    pub set: Vec<(&'static str, ParameterValue)>,
    /// The engine that submits the requests.
    pub engine: EngineChoice,
    /// Size of the scratch file in bytes if the target is a directory; if unset, the size follows
    /// from the free space.
    pub scratch_file_bytes: Option<u64>,
    /// Service level objectives to check the metrics against.
    pub goals: Vec<SloSpec>,
    /// Number of runs, one after the other.
    pub repeat_count: u32,
    /// Directory of journal and session file; `None` keeps nothing on disk.
    pub session_directory: Option<PathBuf>,
    /// Files that the result is written to at the end; none of them may be the target.
    pub output_files: Vec<FileId>,
}

/// A target as given by the user.
#[derive(Debug, Clone)]
pub struct RequestedTarget {
    /// Device, file, directory or `sim:...`. Safe to print.
    pub name: String,
    /// The same, byte for byte.
    pub path: PathBuf,
    /// Consent to overwrite it.
    pub consent: Option<Consent>,
}

impl std::fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunRequest")
            .field("benchmark", &self.benchmark.description().name)
            .field("targets", &self.targets)
            .field("set", &self.set)
            .finish_non_exhaustive()
    }
}

impl RunRequest {
    /// One run of a benchmark on a target with default parameters, which is not saved.
    #[must_use]
    pub fn new(benchmark: &'static dyn Benchmark, target: &(impl AsRef<OsStr> + ?Sized)) -> Self {
        let target = target.as_ref();
        Self {
            benchmark,
            targets: vec![RequestedTarget {
                name: printable_bytes(target.as_bytes()),
                path: PathBuf::from(target),
                consent: None,
            }],
            set: Vec::new(),
            engine: EngineChoice::default(),
            scratch_file_bytes: None,
            goals: Vec::new(),
            repeat_count: 1,
            session_directory: None,
            output_files: Vec::new(),
        }
    }

    /// The target that is measured.
    #[must_use]
    pub fn target(&self) -> &RequestedTarget {
        &self.targets[0]
    }

    /// Consents to overwriting the target.
    pub fn set_consent(&mut self, consent: Consent) {
        self.targets[0].consent = Some(consent);
    }

    /// Parses and sets one parameter.
    ///
    /// # Errors
    /// When the benchmark has no such parameter, or the text is not a valid value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), BenchError> {
        let description = self.benchmark.description();
        let Some(parameter) = description
            .parameters
            .iter()
            .find(|known| known.name() == name)
        else {
            let known = description.parameters.iter().map(|known| known.name());
            let suggestion = text::suggestion(name, known.clone());
            let known: Vec<&str> = known.collect();
            return Err(BenchError::InvalidParameters(format!(
                "{} has no parameter --{name}{suggestion}: it takes --{}",
                description.name,
                known.join(", --")
            )));
        };
        let value = parameter.parse(text)?;
        self.set.retain(|(known, _)| *known != parameter.name());
        self.set.push((parameter.name(), value));
        Ok(())
    }

    /// Sets the engine by its keyword.
    ///
    /// # Errors
    /// When there is no such engine.
    pub fn set_engine(&mut self, text: &str) -> Result<(), BenchError> {
        if let Some(engine) = EngineChoice::from_value(&ENGINE.parse(text)?) {
            self.engine = engine;
        }
        Ok(())
    }

    /// All parameters on this target: the defaults, overridden by explicit values.
    #[must_use]
    pub fn parameters(&self, target: &Target) -> ParameterSet {
        let mut parameters =
            ParameterSet::defaults(self.benchmark.description().parameters, target);
        for (name, value) in &self.set {
            parameters.set_value(name, value.clone());
        }
        parameters
    }

    /// Checks that the benchmark yields the metrics of all goals.
    ///
    /// # Errors
    /// Lists the metrics that the benchmark yields.
    pub fn check_goals(&self) -> Result<(), BenchError> {
        let metrics = self.benchmark.description().metrics;
        let missing = |goal: &&SloSpec| !metric_families::contains(metrics, goal.metric());
        match self.goals.iter().find(missing) {
            None => Ok(()),
            Some(goal) => Err(BenchError::UnknownGoalMetric {
                goal: goal.text().to_owned(),
                test: self.benchmark.description().name,
                suggestion: metric_families::suggest_metric(metrics, goal.metric()),
                metrics: metric_families::describe(metrics),
            }),
        }
    }

    /// Forecast of all runs on this target, including the fill of a scratch file.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    pub fn forecast(&self, target: &Target) -> Result<Forecast, BenchError> {
        self.check_goals()?;
        let each = self.benchmark.forecast(target, &self.parameters(target))?;
        let further = each.run_time * self.repeat_count.saturating_sub(1);
        let mut forecast = match target.kind {
            TargetKind::ScratchFile => each.with_scratch_fill(target, target.size_bytes),
            _ => each,
        };
        forecast.run_time = forecast.run_time + further;
        Ok(forecast)
    }

    /// The command line that means the same in every working directory; `None` where no command on one
    /// line can contain a target's name, or the present directory has no name.
    #[must_use]
    pub fn command_line(&self) -> Option<String> {
        let words = ["diskscope", "run", self.benchmark.description().name];
        let mut words: Vec<OsString> = words.map(OsString::from).to_vec();
        for target in &self.targets {
            words.push(absolute_name(&target.path)?);
        }
        let mut options = self.options();
        let consents = || self.targets.iter().filter_map(|it| it.consent.as_ref());
        for consent in consents() {
            options.push(("overwrite", absolute_name(consent.path())?));
        }
        for (name, value) in options {
            let mut word = OsString::from(format!("--{name}"));
            if value.as_encoded_bytes().starts_with(b"-") {
                word.push("=");
                word.push(&value);
                words.push(word);
            } else {
                words.extend([word, value]);
            }
        }
        if consents().any(Consent::includes_signatures) {
            words.push("--overwrite-signatures".into());
        }
        shell::command_line(words.iter().map(|word| word.as_encoded_bytes()))
    }

    /// Command-line options by name.
    fn options(&self) -> Vec<(&str, OsString)> {
        let set = self.set.iter();
        let mut options: Vec<(&str, OsString)> = set
            .map(|(name, value)| (*name, value.to_string().into()))
            .collect();
        if self.engine != EngineChoice::default() {
            options.push((ENGINE.name, self.engine.word().into()));
        }
        if let Some(bytes) = self.scratch_file_bytes {
            options.push((
                SCRATCH_SIZE.name,
                crate::units::format_exact_size(bytes).into(),
            ));
        }
        let goals = self.goals.iter().map(|goal| ("goal", goal.text().into()));
        options.extend(goals);
        options
    }
}

/// A name of the target that leads to it from every working directory; `None` where the present
/// directory has none.
fn absolute_name(path: &Path) -> Option<OsString> {
    if path.to_str().is_some_and(is_simulated_name) {
        return Some(path.into());
    }
    std::path::absolute(path).ok().map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;

    fn random_read_request() -> RunRequest {
        RunRequest::new(bench::find_benchmark("rndread").unwrap(), "/srv/a disk")
    }

    #[test]
    fn request_command_line_contains_set_parameters() {
        let mut job = random_read_request();
        job.set("depth", "4").unwrap();
        job.set("block-size", "8KiB").unwrap();
        job.set("depth", "16").unwrap();
        job.goals = SloSpec::parse_all("p95<=5ms").unwrap();
        assert_eq!(
            job.command_line().unwrap(),
            "diskscope run random-read '/srv/a disk' --block-size 8KiB --depth 16 \
             --goal 'p95<=5ms'"
        );
    }

    #[test]
    fn request_command_line_contains_consent_verbatim() {
        let mut job = RunRequest::new(bench::find_benchmark("rndwrite").unwrap(), "/dev/sdb");
        let consent = Consent::for_path("/dev/sdb");
        job.set_consent(consent.clone());
        let plain = "diskscope run random-write /dev/sdb --overwrite /dev/sdb";
        assert_eq!(job.command_line().unwrap(), plain);
        job.set_consent(consent.including_signatures());
        assert_eq!(
            job.command_line().unwrap(),
            format!("{plain} --overwrite-signatures")
        );
    }

    #[test]
    fn request_command_line_names_relative_target_by_absolute_path() {
        let benchmark = bench::find_benchmark("rndwrite").unwrap();
        let directory = std::env::current_dir().unwrap();
        let directory = directory.to_str().unwrap();
        for (name, path) in [
            ("test.img", format!("{directory}/test.img")),
            ("./sim:hdd", format!("{directory}/sim:hdd")),
            ("-dash", format!("{directory}/-dash")),
            (".", directory.to_owned()),
            ("..", format!("{directory}/..")),
        ] {
            let mut spec = RunRequest::new(benchmark, name);
            spec.set_consent(Consent::for_path(name));
            let words = [
                "diskscope",
                "run",
                "random-write",
                &path,
                "--overwrite",
                &path,
            ];
            assert_eq!(spec.command_line(), shell::command_line(words), "{name}");
        }
        let simulated = RunRequest::new(benchmark, "sim:hdd,rpm=5400");
        let line = simulated.command_line().unwrap();
        assert!(line.ends_with(" sim:hdd,rpm=5400"), "{line}");
    }

    #[test]
    fn request_with_unknown_parameter_names_known_parameters() {
        let message = random_read_request()
            .set("colour", "red")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("--colour") && message.contains("--depth"),
            "{message}"
        );
    }

    #[test]
    fn request_with_unknown_engine_names_nearest() {
        let mut spec = random_read_request();
        let message = spec.set_engine("urnig").unwrap_err().to_string();
        assert!(message.contains("did you mean uring?"), "{message}");
        spec.set_engine("uring").unwrap();
        assert_eq!(spec.engine, EngineChoice::Uring);
        let line = spec.command_line().unwrap();
        assert!(line.ends_with("--engine uring"), "{line}");
    }

    #[test]
    fn request_with_bad_value_explains_syntax() {
        for (name, text, hint) in [
            ("depth", "0", "from 1 to 4096"),
            ("block-size", "4K", "4KiB (binary, 4096 bytes)"),
            ("slower-than", "10", "10ms"),
            ("duration", "0s", "longer than 0s"),
            ("window-end", "120%", "100%"),
            ("cache", "kepe", "bypass, drop, keep, did you mean keep?"),
        ] {
            let message = random_read_request()
                .set(name, text)
                .unwrap_err()
                .to_string();
            assert!(
                message.contains(hint) && message.contains(name),
                "{message}"
            );
        }
    }
}
