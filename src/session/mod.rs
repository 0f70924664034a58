//! Saved data: the session document, its journal, service level goals, validity checks and
//! comparison. Independent of how metrics are measured.

pub mod chart;
pub mod checks;
pub mod compare;
pub mod document;
pub mod slo;
pub mod stability;
pub mod store;

/// The document's JSON schema, generated from its types; `assets/session.schema.json` holds a copy.
#[must_use]
pub fn session_schema() -> serde_json::Value {
    schemars::schema_for!(document::Session).to_value()
}
