//! What a condition that begins to hold starts.

pub mod command;
