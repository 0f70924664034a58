//! Charts and headline metrics of a benchmark, from whoever knows its description.

use crate::session::chart::ResultPresentation;

/// Returns how the result of the benchmark with that name is presented; `None` for a benchmark that
/// this program does not know.
pub type PresentationLookup<'a> = dyn Fn(&str) -> Option<ResultPresentation> + 'a;
