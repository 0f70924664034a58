//! What is saved: the document, its journal, goals, verdicts and comparison. Does not know where
//! figures come from.

pub mod chart;
pub mod checks;
pub mod compare;
pub mod document;
pub mod slo;
pub mod stability;
pub mod store;

/// The document's JSON schema, generated from its types: what `assets/session.schema.json` holds.
#[must_use]
pub fn session_schema() -> serde_json::Value {
    schemars::schema_for!(document::Session).to_value()
}
