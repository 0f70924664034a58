//! Versions of the file formats that this program writes: sessions and recordings.

use std::path::PathBuf;

use crate::files::safe_text::SafeText;

/// The error for a file whose format has another version than the one that this program reads. A
/// version has no compatibility with others: the same key may mean something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is a diskscope {content} of format version {found}, and this diskscope reads version \
     {supported} only: {}",
    path.display(), self.advice()
)]
pub struct UnsupportedVersion {
    /// Path of the file.
    pub path: PathBuf,
    /// What the file contains: `session` or `recording`.
    pub content: &'static str,
    /// Version of the file.
    pub found: u64,
    /// Version that this program reads.
    pub supported: u32,
    /// Program that wrote the file, such as `diskscope 0.1.0`, if the file says so.
    pub program: Option<SafeText>,
}

impl UnsupportedVersion {
    /// Which program reads the file.
    fn advice(&self) -> String {
        let is_newer = self.found > u64::from(self.supported);
        match (&self.program, is_newer) {
            (Some(program), _) => format!("use {program}, which wrote it"),
            (None, true) => "use a later diskscope".to_owned(),
            (None, false) => "use the earlier diskscope that wrote it".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_error_names_file_versions_and_remedy() {
        let mut error = UnsupportedVersion {
            path: "day.rec".into(),
            content: "recording",
            found: 2,
            supported: 1,
            program: None,
        };
        assert_eq!(
            error.to_string(),
            "day.rec is a diskscope recording of format version 2, and this diskscope reads \
             version 1 only: use a later diskscope"
        );
        for (program, remedy) in [
            (None, "use the earlier diskscope that wrote it"),
            (
                Some("diskscope 0.0.9"),
                "use diskscope 0.0.9, which wrote it",
            ),
        ] {
            error.found = 0;
            error.program = program.map(Into::into);
            assert!(error.to_string().ends_with(remedy), "{error}");
        }
    }
}
