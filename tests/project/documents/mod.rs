//! Documents that are generated from the program: the schema, the tables of benchmarks, checks, keys and
//! fields. Each test compares one with the program, or writes it.

use std::path::Path;

mod benchmarks_page;
mod checks_page;
mod fields;
mod keys_page;

/// Set to write the file anew instead of comparing it.
pub const BLESS_VARIABLE: &str = "DISKSCOPE_BLESS";

#[test]
fn session_schema_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    let generated =
        serde_json::to_string_pretty(&diskscope::session::session_schema()).unwrap() + "\n";
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
