//! Consent to overwrite a target: what is at stake, and the path that is typed by hand.
//!
//! It belongs to one job and is used up by its start: another target, another test or the same
//! again asks anew.

use std::path::PathBuf;

use super::key::Key;
use super::text::Text;
use crate::bench::{Forecast, Job};

/// What is known of a target that is about to be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stakes {
    /// Model, serial number, size, partitions, signatures, last mount: a line each.
    pub facts: Vec<String>,
    /// Why it may not be written whatever anybody consents to, and what to do about it.
    pub refusal: Option<String>,
}

/// The question whether a job may overwrite its target.
#[derive(Debug, Clone)]
pub struct Consent {
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

impl Consent {
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

    /// What is at stake, once it is known that consent would be heeded.
    fn heeded(&self) -> Option<&Stakes> {
        match &self.stakes {
            Some(Ok(stakes)) if stakes.refusal.is_none() => Some(stakes),
            _ => None,
        }
    }

    /// Whether the path can be typed: the facts are there, and nothing forbids writing.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.heeded().is_some()
    }

    /// Takes a key into the path, once there is something to consent to.
    pub fn typed(&mut self, key: Key) {
        if self.is_asked() {
            self.text.press(key);
            self.mistyped = false;
        }
    }

    /// The job with the consent in it, where what was typed is the path, letter by letter.
    pub fn given(&mut self) -> Option<Job> {
        let shown = self.heeded()?.facts.clone();
        if self.text.is_empty() {
            return None;
        }
        if self.text.as_string() != self.path() {
            self.mistyped = true;
            return None;
        }
        let mut job = self.job.clone();
        job.overwrite = Some(PathBuf::from(&job.target));
        job.shown = Some(shown);
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;

    fn asked(refusal: Option<&str>) -> Consent {
        let job = Job::new(bench::find("random-write").unwrap(), "/dev/sdb");
        let mut consent = Consent::new(job, Forecast::default());
        let stakes = Stakes {
            facts: vec!["holds ext4".to_owned()],
            refusal: refusal.map(str::to_owned),
        };
        consent.learned("/dev/sdb", Ok(stakes));
        consent
    }

    fn answer(consent: &mut Consent, text: &str) -> Option<Job> {
        text.chars()
            .for_each(|letter| consent.typed(Key::char(letter)));
        consent.given()
    }

    #[test]
    fn only_the_very_path_starts_the_job() {
        for wrong in [
            "",
            "/",
            "/dev/sd",
            "/dev/sdb ",
            "/dev/SDB",
            "sdb",
            "/dev/sdb1",
            "y",
        ] {
            let mut consent = asked(None);
            assert!(answer(&mut consent, wrong).is_none(), "{wrong:?}");
            assert_eq!(consent.mistyped, !wrong.is_empty(), "{wrong:?}");
        }
        let job = answer(&mut asked(None), "/dev/sdb").unwrap();
        assert_eq!(job.overwrite, Some(PathBuf::from("/dev/sdb")));
        assert_eq!(job.shown.unwrap(), ["holds ext4"]);
    }

    #[test]
    fn a_mistake_can_be_mended() {
        let mut consent = asked(None);
        assert!(answer(&mut consent, "/dev/sd").is_none());
        assert!(answer(&mut consent, "b").is_some());
        assert!(!consent.mistyped);
    }

    #[test]
    fn what_is_in_use_takes_no_consent() {
        let mut consent = asked(Some("it is mounted"));
        assert!(answer(&mut consent, "/dev/sdb").is_none());
        assert!(consent.text.is_empty());
    }

    #[test]
    fn nothing_is_consented_to_unseen() {
        let job = Job::new(bench::find("random-write").unwrap(), "/dev/sdb");
        let mut consent = Consent::new(job, Forecast::default());
        assert!(answer(&mut consent, "/dev/sdb").is_none());
        let of_another = Stakes {
            facts: Vec::new(),
            refusal: None,
        };
        consent.learned("/dev/sda", Ok(of_another));
        assert!(answer(&mut consent, "/dev/sdb").is_none());
        consent.learned("/dev/sdb", Err("it is gone".to_owned()));
        assert!(answer(&mut consent, "/dev/sdb").is_none());
    }
}
