//! Consent to overwrite a target: what is at stake, and the path that is typed by hand.
//!
//! It belongs to one job and is used up by its start: another target, another test or the same
//! again asks anew.

use std::sync::Arc;

use super::text::{Text, TextInput};
use crate::bench::{Forecast, Job};
use crate::drive::{Consent, InspectedMedium};

/// What is known of a target that is about to be overwritten.
#[derive(Debug, Clone)]
pub struct Stakes {
    /// Path, model, serial number, size, last mount, partitions: a line each.
    pub facts: Vec<String>,
    /// Formats that would be lost, and what could not be examined: an item each.
    pub signatures: Vec<String>,
    /// The open medium that was looked at, kept until the run starts; or why it may not be written
    /// whatever anybody consents to, and what to do about it.
    pub medium: Result<Arc<InspectedMedium>, String>,
}

/// The question whether a job may overwrite its target.
#[derive(Debug, Clone)]
pub struct OverwriteQuestion {
    job: Job,
    /// What the job will do.
    pub forecast: Forecast,
    /// What is at stake, or why that cannot be told; `None` until it is known.
    pub stakes: Option<Result<Stakes, String>>,
    /// What was typed so far.
    pub text: Text,
    /// Whether something else than the path was taken for it.
    pub mistyped: bool,
}

impl OverwriteQuestion {
    /// Asks for a job that writes.
    #[must_use]
    pub fn new(job: Job, forecast: Forecast) -> Self {
        Self {
            job,
            forecast,
            stakes: None,
            text: Text::default(),
            mistyped: false,
        }
    }

    /// The path that has to be typed.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.job.target
    }

    /// Name of the test that would write.
    #[must_use]
    pub fn test(&self) -> &'static str {
        self.job.test.description().name
    }

    /// Takes what is at stake, unless it is about another target.
    pub fn learned(&mut self, path: &str, stakes: Result<Stakes, String>) {
        if path == self.path() {
            self.stakes = Some(stakes);
        }
    }

    /// The medium that was shown, once it is known that it may be written.
    fn shown(&self) -> Option<&Arc<InspectedMedium>> {
        self.stakes.as_ref()?.as_ref().ok()?.medium.as_ref().ok()
    }

    /// Whether the path can be typed: the facts are there, and nothing forbids writing.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.shown().is_some()
    }

    /// Takes a key into the path, once there is something to consent to.
    pub fn typed(&mut self, input: TextInput) {
        if self.is_asked() {
            self.text.press(input);
            self.mistyped = false;
        }
    }

    /// The job with the consent in it, where what was typed is the path, letter by letter.
    pub fn given(&mut self) -> Option<Job> {
        let shown = Arc::clone(self.shown()?);
        if self.text.is_empty() {
            return None;
        }
        if self.text.as_string() != self.path() {
            self.mistyped = true;
            return None;
        }
        let mut job = self.job.clone();
        job.consent = Some(Consent::to_inspected(shown));
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::drive::target;
    use crate::roots::Roots;

    /// A file that can be overwritten, and its path.
    fn file() -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 8192]).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        (file, path)
    }

    fn stakes(path: &str) -> Stakes {
        let roots = Roots::default();
        let medium = target::open(&roots, path, None).unwrap();
        Stakes {
            facts: Vec::new(),
            signatures: Vec::new(),
            medium: Ok(Arc::new(InspectedMedium::read(&roots, Arc::new(medium)))),
        }
    }

    fn question(path: &str) -> OverwriteQuestion {
        let job = Job::new(bench::find("random-write").unwrap(), path);
        OverwriteQuestion::new(job, Forecast::default())
    }

    fn asked(path: &str) -> OverwriteQuestion {
        let mut consent = question(path);
        consent.learned(path, Ok(stakes(path)));
        consent
    }

    fn answer(consent: &mut OverwriteQuestion, text: &str) -> Option<Job> {
        text.chars()
            .for_each(|letter| consent.typed(TextInput::Insert(letter)));
        consent.given()
    }

    #[test]
    fn only_the_very_path_starts_the_job() {
        let (_file, path) = file();
        let upper = path.to_uppercase();
        let others = [&path[..path.len() - 1], &path[1..], &upper, "", "/", "y"];
        let longer = [format!("{path} "), format!("{path}1")];
        for wrong in others.into_iter().chain(longer.iter().map(String::as_str)) {
            let mut consent = asked(&path);
            assert!(answer(&mut consent, wrong).is_none(), "{wrong:?}");
            assert_eq!(consent.mistyped, !wrong.is_empty(), "{wrong:?}");
        }
        let given = answer(&mut asked(&path), &path).unwrap().consent.unwrap();
        assert_eq!(given.path(), std::path::Path::new(&path));
        assert!(given.medium().is_some(), "the medium that was shown");
    }

    #[test]
    fn a_mistake_can_be_mended() {
        let (_file, path) = file();
        let mut consent = asked(&path);
        let (begin, last) = path.split_at(path.len() - 1);
        assert!(answer(&mut consent, begin).is_none());
        assert!(answer(&mut consent, last).is_some());
        assert!(!consent.mistyped);
    }

    #[test]
    fn what_is_in_use_takes_no_consent() {
        let mut consent = question("/dev/sdb");
        let refused = Stakes {
            facts: Vec::new(),
            signatures: Vec::new(),
            medium: Err("it is mounted".to_owned()),
        };
        consent.learned("/dev/sdb", Ok(refused));
        assert!(answer(&mut consent, "/dev/sdb").is_none());
        assert!(consent.text.is_empty());
    }

    #[test]
    fn nothing_is_consented_to_unseen() {
        let ((_one, path), (_other, other)) = (file(), file());
        let mut consent = question(&path);
        assert!(answer(&mut consent, &path).is_none());
        consent.learned(&other, Ok(stakes(&other)));
        assert!(answer(&mut consent, &path).is_none());
        consent.learned(&path, Err("it is gone".to_owned()));
        assert!(answer(&mut consent, &path).is_none());
    }
}
