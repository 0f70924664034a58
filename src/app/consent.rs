//! Consent to overwrite a target: what would be lost, and the path that the user types.
//!
//! A consent belongs to one run and is consumed by its start. Another target, another benchmark or
//! a repetition of the same benchmark requires a new consent.

use std::sync::Arc;

use super::text::{EditableText, TextInput};
use crate::bench::{BenchmarkSpec, Forecast};
use crate::drive::{Consent, DriveError, InspectedMedium, OverwriteImpact};

/// The question whether a benchmark may overwrite its target.
#[derive(Debug, Clone)]
pub struct OverwriteQuestion {
    spec: BenchmarkSpec,
    /// What the benchmark will do.
    pub forecast: Forecast,
    /// What would be lost, or why that cannot be determined; `None` until the inspection is done.
    pub impact: Option<Result<OverwriteImpact, Arc<DriveError>>>,
    /// The path typed so far.
    pub typed_path: EditableText,
    /// Whether the user typed something other than the path.
    pub is_mistyped: bool,
}

impl OverwriteQuestion {
    /// Creates the question for a benchmark that writes.
    #[must_use]
    pub fn new(spec: BenchmarkSpec, forecast: Forecast) -> Self {
        Self {
            spec,
            forecast,
            impact: None,
            typed_path: EditableText::default(),
            is_mistyped: false,
        }
    }

    /// The path that has to be typed.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.spec.target_name
    }

    /// Name of the benchmark that would write.
    #[must_use]
    pub fn benchmark_name(&self) -> &'static str {
        self.spec.benchmark.description().name
    }

    /// Stores the result of the inspection, unless it belongs to another target.
    pub fn set_impact(&mut self, path: &str, impact: Result<OverwriteImpact, Arc<DriveError>>) {
        if path == self.path() {
            self.impact = Some(impact);
        }
    }

    /// The inspected medium, if it may be written.
    fn inspected_medium(&self) -> Option<&Arc<InspectedMedium>> {
        self.impact.as_ref()?.as_ref().ok()?.medium.as_ref().ok()
    }

    /// Whether the path can be typed: the facts are known, and nothing forbids writing.
    #[must_use]
    pub fn accepts_input(&self) -> bool {
        self.inspected_medium().is_some()
    }

    /// Whether it is known that the target cannot be overwritten: there is nothing to confirm.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.impact.is_some() && !self.accepts_input()
    }

    /// Applies text input to the path, once the facts are known.
    pub fn type_input(&mut self, input: TextInput) {
        if self.accepts_input() {
            self.typed_path.apply_input(input);
            self.is_mistyped = false;
        }
    }

    /// The benchmark with the consent added, if the typed text equals the path exactly.
    pub fn confirmed_spec(&mut self) -> Option<BenchmarkSpec> {
        let shown = Arc::clone(self.inspected_medium()?);
        if self.typed_path.is_empty() {
            return None;
        }
        if self.typed_path.as_string() != self.path() {
            self.is_mistyped = true;
            return None;
        }
        let mut spec = self.spec.clone();
        spec.consent = Some(Consent::for_inspected(shown));
        Some(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::drive::guard::{Refusal, UseConflict};
    use crate::drive::medium;
    use crate::roots::SysPaths;

    /// A file that can be overwritten, and its path.
    fn existing_file() -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 8192]).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        (file, path)
    }

    fn impact(path: &str) -> OverwriteImpact {
        let roots = SysPaths::default();
        let medium = medium::open_target(&roots, path, None).unwrap();
        OverwriteImpact {
            target_facts: Vec::new(),
            signatures: Vec::new(),
            medium: Ok(Arc::new(InspectedMedium::read(&roots, Arc::new(medium)))),
        }
    }

    fn question(path: &str) -> OverwriteQuestion {
        let spec = BenchmarkSpec::new(bench::find_benchmark("random-write").unwrap(), path);
        OverwriteQuestion::new(spec, Forecast::default())
    }

    fn question_with_impact(path: &str) -> OverwriteQuestion {
        let mut question = question(path);
        question.set_impact(path, Ok(impact(path)));
        question
    }

    fn type_answer(question: &mut OverwriteQuestion, text: &str) -> Option<BenchmarkSpec> {
        text.chars()
            .for_each(|letter| question.type_input(TextInput::Insert(letter)));
        question.confirmed_spec()
    }

    #[test]
    fn overwrite_question_accepts_only_the_exact_path() {
        let (_file, path) = existing_file();
        let upper = path.to_uppercase();
        let others = [&path[..path.len() - 1], &path[1..], &upper, "", "/", "y"];
        let longer = [format!("{path} "), format!("{path}1")];
        for wrong in others.into_iter().chain(longer.iter().map(String::as_str)) {
            let mut question = question_with_impact(&path);
            assert!(type_answer(&mut question, wrong).is_none(), "{wrong:?}");
            assert_eq!(question.is_mistyped, !wrong.is_empty(), "{wrong:?}");
        }
        let given = type_answer(&mut question_with_impact(&path), &path)
            .unwrap()
            .consent
            .unwrap();
        assert_eq!(given.path(), std::path::Path::new(&path));
        assert!(given.medium().is_some(), "the medium that was shown");
    }

    #[test]
    fn overwrite_question_accepts_corrected_path() {
        let (_file, path) = existing_file();
        let mut question = question_with_impact(&path);
        let (begin, last) = path.split_at(path.len() - 1);
        assert!(type_answer(&mut question, begin).is_none());
        assert!(type_answer(&mut question, last).is_some());
        assert!(!question.is_mistyped);
    }

    #[test]
    fn overwrite_question_for_target_in_use_accepts_no_input() {
        let mut question = question("/dev/sdb");
        let refused = OverwriteImpact {
            target_facts: Vec::new(),
            signatures: Vec::new(),
            medium: Err(Arc::new(Refusal::InUse {
                name: "/dev/sdb".to_owned(),
                conflicts: vec![UseConflict::UsedAsSwap {
                    device: "sdb".to_owned(),
                }],
            })),
        };
        question.set_impact("/dev/sdb", Ok(refused));
        assert!(type_answer(&mut question, "/dev/sdb").is_none());
        assert!(question.typed_path.is_empty());
    }

    #[test]
    fn overwrite_question_without_impact_accepts_no_input() {
        let ((_one, path), (_other, other)) = (existing_file(), existing_file());
        let mut question = question(&path);
        assert!(type_answer(&mut question, &path).is_none());
        question.set_impact(&other, Ok(impact(&other)));
        assert!(type_answer(&mut question, &path).is_none());
        let gone = DriveError::NotFound { name: path.clone() };
        question.set_impact(&path, Err(Arc::new(gone)));
        assert!(type_answer(&mut question, &path).is_none());
    }
}
