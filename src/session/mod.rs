//! What is saved: the document, its journal, verdicts and comparison. Does not know where
//! figures come from.

pub mod document;
