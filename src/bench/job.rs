//! What the user asks for: a test, a target, and what was set.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{BenchError, Forecast, Parameters, Test, Value, metrics};
use crate::drive::{Consent, Target, TargetKind};
use crate::nearest;
use crate::printable::printable;
use crate::session::goal::Wanted;
use crate::shell;

/// A test that somebody wants to have run: the same from the command line and from the launcher.
#[derive(Clone)]
pub struct Job {
    /// Which test.
    pub test: &'static dyn Test,
    /// On what, as the user named it: a device, a file, a directory, or `sim:...`. Safe to show.
    pub target: String,
    /// The same, byte for byte.
    pub path: PathBuf,
    /// Parameters that the user set; the others keep their defaults for the target.
    pub set: Vec<(&'static str, Value)>,
    /// Engine: `auto`, `uring` or `pread`.
    pub engine: String,
    /// Size of the scratch file in bytes where the target is a directory; unset: the program
    /// decides by the free space.
    pub scratch_bytes: Option<u64>,
    /// Service goals that its figures are held against.
    pub goals: Vec<Wanted>,
    /// Consent to overwrite the target.
    pub consent: Option<Consent>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("test", &self.test.description().name)
            .field("target", &self.target)
            .field("set", &self.set)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// A test on a target with its defaults.
    #[must_use]
    pub fn new(test: &'static dyn Test, target: &(impl AsRef<OsStr> + ?Sized)) -> Self {
        let target = target.as_ref();
        Self {
            test,
            target: printable(target.as_bytes()),
            path: PathBuf::from(target),
            set: Vec::new(),
            engine: "auto".to_owned(),
            scratch_bytes: None,
            goals: Vec::new(),
            consent: None,
        }
    }

    /// Reads one parameter as the user wrote it.
    ///
    /// # Errors
    /// When the test has no such parameter, or the text is no value of it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), BenchError> {
        let description = self.test.description();
        let Some(parameter) = description
            .parameters
            .iter()
            .find(|known| known.name == name)
        else {
            let known: Vec<_> = description
                .parameters
                .iter()
                .map(|known| known.name)
                .collect();
            return Err(BenchError::Parameters(format!(
                "{} has no parameter --{name}{}: it takes --{}",
                description.name,
                nearest::suggestion(name, known.iter().copied()),
                known.join(", --")
            )));
        };
        let value = parameter.parse(text)?;
        self.set.retain(|(known, _)| *known != parameter.name);
        self.set.push((parameter.name, value));
        Ok(())
    }

    /// All parameters on this target: the defaults, and what was set.
    #[must_use]
    pub fn parameters(&self, target: &Target) -> Parameters {
        let mut parameters = Parameters::defaults(self.test.description().parameters, target);
        for (name, value) in &self.set {
            parameters.set(name, value.clone());
        }
        parameters
    }

    /// Checks that the benchmark yields the metrics that the goals are set for.
    ///
    /// # Errors
    /// With the metrics that it yields.
    pub fn check_goals(&self) -> Result<(), BenchError> {
        let metrics = self.test.description().metrics;
        let missing = |goal: &&Wanted| !metrics::includes(metrics, goal.figure());
        match self.goals.iter().find(missing) {
            None => Ok(()),
            Some(goal) => Err(BenchError::Goal {
                goal: goal.text().to_owned(),
                test: self.test.description().name,
                suggestion: metrics::suggestion(metrics, goal.figure()),
                metrics: metrics::list(metrics),
            }),
        }
    }

    /// What it will do on this target, the filling of a scratch file included.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    pub fn forecast(&self, target: &Target) -> Result<Forecast, BenchError> {
        self.check_goals()?;
        let forecast = self.test.forecast(target, &self.parameters(target))?;
        Ok(match target.kind {
            TargetKind::Scratch => forecast.with_fill(target, target.size),
            _ => forecast,
        })
    }

    /// The command line that does the same.
    #[must_use]
    pub fn command_line(&self) -> String {
        let words = ["diskscope", "run", self.test.description().name];
        let mut words: Vec<OsString> = words.map(OsString::from).to_vec();
        // What begins with a dash is no option only at the very end.
        let dash = self.path.as_os_str().as_bytes().starts_with(b"-");
        if !dash {
            words.push(self.path.clone().into());
        }
        for (name, value) in self.options() {
            let joined = value.as_encoded_bytes().starts_with(b"-");
            let mut word = OsString::from(format!("--{name}"));
            if joined {
                word.push("=");
                word.push(&value);
                words.push(word);
            } else {
                words.extend([word, value]);
            }
        }
        if self
            .consent
            .as_ref()
            .is_some_and(Consent::includes_signatures)
        {
            words.push("--overwrite-signatures".into());
        }
        if dash {
            words.extend(["--".into(), self.path.clone().into()]);
        }
        shell::command(words.iter().map(|word| word.as_encoded_bytes()))
    }

    /// The options of the command line, by name.
    fn options(&self) -> Vec<(&str, OsString)> {
        let set = self.set.iter();
        let mut options: Vec<(&str, OsString)> = set
            .map(|(name, value)| (*name, value.to_string().into()))
            .collect();
        if self.engine != "auto" {
            options.push(("engine", self.engine.clone().into()));
        }
        if let Some(bytes) = self.scratch_bytes {
            options.push(("scratch-size", crate::units::exact_size(bytes).into()));
        }
        let goals = self.goals.iter().map(|goal| ("goal", goal.text().into()));
        options.extend(goals);
        if let Some(consent) = &self.consent {
            options.push(("overwrite", consent.path().into()));
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;

    fn job() -> Job {
        Job::new(bench::find("rndread").unwrap(), "/srv/a disk")
    }

    #[test]
    fn what_was_set_is_in_the_command_line() {
        let mut job = job();
        job.set("depth", "4").unwrap();
        job.set("block-size", "8KiB").unwrap();
        job.set("depth", "16").unwrap();
        job.goals = Wanted::parse_all("p95<=5ms").unwrap();
        assert_eq!(
            job.command_line(),
            "diskscope run random-read '/srv/a disk' --block-size 8KiB --depth 16 \
             --goal 'p95<=5ms'"
        );
    }

    #[test]
    fn consent_is_in_the_command_line_as_it_was_given() {
        let mut job = Job::new(bench::find("rndwrite").unwrap(), "/dev/sdb");
        let consent = Consent::to_path("/dev/sdb");
        job.consent = Some(consent.clone());
        let plain = "diskscope run random-write /dev/sdb --overwrite /dev/sdb";
        assert_eq!(job.command_line(), plain);
        job.consent = Some(consent.with_signatures());
        assert_eq!(
            job.command_line(),
            format!("{plain} --overwrite-signatures")
        );
    }

    #[test]
    fn an_unknown_parameter_names_the_known_ones() {
        let message = job().set("colour", "red").unwrap_err().to_string();
        assert!(
            message.contains("--colour") && message.contains("--depth"),
            "{message}"
        );
    }

    #[test]
    fn bad_values_say_how_to_write_them() {
        for (name, text, hint) in [
            ("depth", "0", "from 1 to 4096"),
            ("block-size", "4K", "4KiB"),
            ("duration", "10", "10s"),
            ("duration", "0s", "longer than 0s"),
            ("window-end", "120%", "100%"),
            ("cache", "maybe", "bypass, drop, keep"),
        ] {
            let message = job().set(name, text).unwrap_err().to_string();
            assert!(
                message.contains(hint) && message.contains(name),
                "{message}"
            );
        }
    }
}
