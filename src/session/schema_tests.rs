//! `assets/session.schema.json` is generated from the types of the session document.

use std::path::Path;

use super::document::Session;

/// Set to write the file anew instead of comparing it.
const BLESS_VARIABLE: &str = "DISKSCOPE_BLESS";

#[test]
fn session_schema_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    let schema = schemars::schema_for!(Session).to_value();
    let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os(BLESS_VARIABLE).is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "{} is not current: run the tests with {BLESS_VARIABLE}=1",
        path.display()
    );
}
