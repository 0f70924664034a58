//! Consent to overwrite a target: what would be lost, and the path that the user types.
//!
//! A consent belongs to one run and is consumed by its start. Another target, another benchmark or
//! a repetition of the same benchmark requires a new consent. The result of the inspection belongs to
//! one question, by its number: what a question shows never changes, and a late result of an earlier
//! question about the same path is not shown.

use std::cell::Cell;
use std::sync::Arc;

use super::text::{EditableText, TextInput};
use super::viewport::Viewport;
use crate::bench::{Forecast, RunRequest};
use crate::drive::{Consent, DriveError, InspectedMedium, OverwriteImpact};

/// Number of a question. Each question of a launcher has another one, also about the same target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuestionNumber(u64);

impl QuestionNumber {
    /// The number of the next question.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The lines of a question in one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnLines {
    /// Columns: another width wraps the text into other lines.
    pub width: u16,
    /// Index of the first line in the frame.
    pub first: usize,
    /// Index behind the last line in the frame.
    pub end: usize,
    /// Number of lines, from the first one, that the typed path consents to.
    pub required: usize,
}

impl DrawnLines {
    /// Index behind the last line of those from the first one on that were shown without a gap, where
    /// `known` is the same before this frame.
    fn shown_end(self, known: Option<ShownLines>) -> usize {
        let before = known
            .filter(|known| (known.width, known.required) == (self.width, self.required))
            .map_or(0, |known| known.end);
        match self.first <= before {
            true => before.max(self.end),
            false => before,
        }
    }
}

/// The lines that the user was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShownLines {
    width: u16,
    required: usize,
    /// Index behind the last line of those that were shown from the first one on without a gap.
    end: usize,
}

/// How much of the facts of a question the user was shown.
///
/// Drawing code records the lines of a frame, as with the extent of a page. They count when the frame
/// was shown.
#[derive(Debug, Clone, Default)]
pub struct FactsView {
    /// Scroll position.
    pub viewport: Viewport,
    drawn: Cell<Option<DrawnLines>>,
    shown: Option<ShownLines>,
}

impl FactsView {
    /// Records the lines of a frame. Returns whether all required lines are shown with it.
    pub fn record_drawn(&self, lines: DrawnLines) -> bool {
        self.drawn.set(Some(lines));
        lines.shown_end(self.shown) >= lines.required
    }

    /// The last frame was shown.
    pub fn confirm_shown(&mut self) {
        if let Some(drawn) = self.drawn.take() {
            self.shown = Some(ShownLines {
                width: drawn.width,
                required: drawn.required,
                end: drawn.shown_end(self.shown),
            });
        }
    }

    /// Whether the user was shown all required lines.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some_and(|shown| shown.end >= shown.required)
    }
}

/// The question whether a benchmark may overwrite its target.
#[derive(Debug, Clone)]
pub struct OverwriteQuestion {
    number: QuestionNumber,
    spec: RunRequest,
    /// What the benchmark will do.
    pub forecast: Forecast,
    /// What would be lost, or why that cannot be determined; `None` until the inspection is done.
    pub impact: Option<Result<OverwriteImpact, Arc<DriveError>>>,
    /// What is shown of it.
    pub facts: FactsView,
    /// The path typed so far.
    pub typed_path: EditableText,
    /// Whether the user typed something other than the path.
    pub is_mistyped: bool,
}

impl OverwriteQuestion {
    /// Creates the question for a benchmark that writes.
    #[must_use]
    pub fn new(number: QuestionNumber, spec: RunRequest, forecast: Forecast) -> Self {
        Self {
            number,
            spec,
            forecast,
            impact: None,
            facts: FactsView::default(),
            typed_path: EditableText::default(),
            is_mistyped: false,
        }
    }

    /// Its number, which the result of its inspection carries.
    #[must_use]
    pub fn number(&self) -> QuestionNumber {
        self.number
    }

    /// The path that has to be typed.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.spec.target().name
    }

    /// Name of the benchmark that would write.
    #[must_use]
    pub fn benchmark_name(&self) -> &'static str {
        self.spec.benchmark.description().name
    }

    /// Stores the result of the inspection: the first one of this question.
    pub fn set_impact(
        &mut self,
        question: QuestionNumber,
        impact: Result<OverwriteImpact, Arc<DriveError>>,
    ) {
        if question == self.number && self.impact.is_none() {
            self.impact = Some(impact);
            self.facts = FactsView::default();
        }
    }

    /// The inspected medium, if it may be written.
    fn inspected_medium(&self) -> Option<&Arc<InspectedMedium>> {
        self.impact.as_ref()?.as_ref().ok()?.medium.as_ref().ok()
    }

    /// Whether the path can be typed: nothing forbids writing, and the user was shown all lines that
    /// the path consents to.
    #[must_use]
    pub fn accepts_input(&self) -> bool {
        self.inspected_medium().is_some() && self.facts.is_shown()
    }

    /// Whether it is known that the target cannot be overwritten: there is nothing to confirm.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.impact.is_some() && self.inspected_medium().is_none()
    }

    /// Applies text input to the path, once the facts are known.
    pub fn type_input(&mut self, input: TextInput) {
        if self.accepts_input() {
            self.typed_path.apply_input(input);
            self.is_mistyped = false;
        }
    }

    /// The benchmark with the consent added, if the typed text equals the path exactly.
    pub fn confirmed_spec(&mut self) -> Option<RunRequest> {
        let shown = Arc::clone(self.inspected_medium()?);
        if !self.accepts_input() || self.typed_path.is_empty() {
            return None;
        }
        if self.typed_path.as_string() != self.path() {
            self.is_mistyped = true;
            return None;
        }
        let mut spec = self.spec.clone();
        spec.set_consent(Consent::for_inspected(shown));
        Some(spec)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::bench;
    use crate::drive::guard::{Reason, Refusal, Usage, User};
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
        let spec = RunRequest::new(bench::find_benchmark("random-write").unwrap(), path);
        OverwriteQuestion::new(QuestionNumber::default(), spec, Forecast::default())
    }

    fn question_with_impact(path: &str) -> OverwriteQuestion {
        let mut question = question(path);
        question.set_impact(question.number(), Ok(impact(path)));
        show_lines(&mut question, 0..9);
        question
    }

    /// Shows these of ten lines, of which nine are required.
    fn show_lines(question: &mut OverwriteQuestion, lines: Range<usize>) {
        question.facts.record_drawn(DrawnLines {
            width: 80,
            first: lines.start,
            end: lines.end,
            required: 9,
        });
        question.facts.confirm_shown();
    }

    fn type_answer(question: &mut OverwriteQuestion, text: &str) -> Option<RunRequest> {
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
            .target()
            .consent
            .clone()
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
            medium: Err(Arc::new(Refusal {
                name: "/dev/sdb".to_owned(),
                reason: Reason::InUse(vec![User::new("sdb", Usage::Swap)]),
            })),
        };
        question.set_impact(question.number(), Ok(refused));
        assert!(type_answer(&mut question, "/dev/sdb").is_none());
        assert!(question.typed_path.is_empty());
    }

    #[test]
    fn overwrite_question_without_impact_accepts_no_input() {
        let (_file, path) = existing_file();
        let mut question = question(&path);
        assert!(type_answer(&mut question, &path).is_none());
        let gone = DriveError::NotFound { name: path.clone() };
        question.set_impact(question.number(), Err(Arc::new(gone)));
        assert!(type_answer(&mut question, &path).is_none());
    }

    #[test]
    fn overwrite_question_keeps_the_first_result_of_its_own_inspection() {
        let ((_one, path), (_other, other)) = (existing_file(), existing_file());
        let mut question = question(&path);
        question.set_impact(question.number().next(), Ok(impact(&other)));
        assert!(question.impact.is_none(), "a result of another question");
        question.set_impact(question.number(), Ok(impact(&path)));
        show_lines(&mut question, 0..9);
        let shown = Arc::clone(question.inspected_medium().unwrap());
        question.set_impact(question.number(), Ok(impact(&other)));
        let given = type_answer(&mut question, &path)
            .unwrap()
            .target()
            .consent
            .clone()
            .unwrap();
        assert!(Arc::ptr_eq(given.medium().unwrap(), shown.medium()));
    }

    #[test]
    fn path_is_accepted_after_all_required_lines_were_shown() {
        let (_file, path) = existing_file();
        let mut question = question(&path);
        question.set_impact(question.number(), Ok(impact(&path)));
        assert!(type_answer(&mut question, &path).is_none(), "nothing shown");
        for (lines, is_accepted) in [(0..4, false), (8..10, false), (3..8, false), (7..9, true)] {
            show_lines(&mut question, lines.clone());
            let answer = type_answer(&mut question, &path);
            assert_eq!(answer.is_some(), is_accepted, "{lines:?}");
        }
        // In another width the same text has other lines.
        question.facts.record_drawn(DrawnLines {
            width: 60,
            first: 0,
            end: 9,
            required: 12,
        });
        assert!(question.accepts_input(), "this frame was not shown yet");
        question.facts.confirm_shown();
        assert!(question.confirmed_spec().is_none());
    }
}
