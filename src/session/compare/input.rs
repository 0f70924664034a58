//! What is compared.

use crate::session::document::{BenchmarkRun, Session};

/// A session to compare, and its name.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonInput<'a> {
    /// Name, such as the file's.
    pub name: &'a str,
    /// The session.
    pub session: &'a Session,
}

/// Repeated runs of one side.
pub(super) type RepeatedRuns<'a> = Vec<&'a BenchmarkRun>;
