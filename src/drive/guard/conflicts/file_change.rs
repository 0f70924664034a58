//! What happens to a file whose uses are searched.

use std::fs::File;

/// What happens to a file whose uses as a medium are searched. It decides which unresolved uses count.
#[derive(Debug, Clone, Copy)]
pub enum FileChange<'a> {
    /// Another file gets its name. No unresolved use counts: few outputs are a medium.
    Replaced,
    /// It is written in place; the file, open for writing.
    InPlace(&'a File),
    /// It was deleted, and is emptied. All unresolved uses count.
    Emptied,
}

impl<'a> FileChange<'a> {
    /// The file, if it is open here.
    pub(super) fn descriptor(self) -> Option<&'a File> {
        match self {
            Self::InPlace(file) => Some(file),
            Self::Replaced | Self::Emptied => None,
        }
    }
}
