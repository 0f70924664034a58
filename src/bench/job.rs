//! What the user asks for: a test, a target, and what was set.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{BenchError, Parameters, Test, Value};
use crate::drive::{Consent, Target};
use crate::printable::printable;
use crate::session::goal::Wanted;

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
                "{} has no parameter --{name}: it takes --{}",
                description.name,
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

    /// The target as a shell takes it.
    #[must_use]
    pub fn quoted_target(&self) -> String {
        quoted(&self.target)
    }

    /// The command line that does the same.
    #[must_use]
    pub fn command_line(&self) -> String {
        let mut words = vec![format!(
            "diskscope run {} {}",
            self.test.description().name,
            self.quoted_target()
        )];
        for (name, value) in &self.set {
            words.push(format!("--{name} {}", quoted(&value.to_string())));
        }
        if self.engine != "auto" {
            words.push(format!("--engine {}", self.engine));
        }
        if let Some(bytes) = self.scratch_bytes {
            words.push(format!(
                "--scratch-size {}",
                crate::units::exact_size(bytes)
            ));
        }
        for goal in &self.goals {
            words.push(format!("--goal {}", quoted(goal.text())));
        }
        if let Some(consent) = &self.consent {
            let path = consent.path().to_string_lossy();
            words.push(format!("--overwrite {}", quoted(&path)));
            if consent.includes_signatures() {
                words.push("--overwrite-signatures".to_owned());
            }
        }
        words.join(" ")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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
