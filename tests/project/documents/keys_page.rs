//! Generates `docs/keys.md` from the key table.

use diskscope::tui::keys::key_names;
use diskscope::tui::screens::key_lists::KEY_LISTS;

/// The whole table as a Markdown document: `docs/keys.md`.
fn to_markdown() -> String {
    let mut text = String::from(
        "# Keys\n\n`?` shows this list on the screen. It is generated from the lists in \
         `src/tui/screens/*/keys.rs`;\na test compares the two.\n\nIn a text field all \
         other characters are inserted. A form field opens with its value selected: the\nfirst \
         character replaces it, Backspace or Delete clears it, an arrow key, Home or End edits it.\n",
    );
    for list in KEY_LISTS {
        text.push_str(&format!(
            "\n## {}\n\n| key | does |\n|---|---|\n",
            list.title
        ));
        for binding in list.bindings {
            text.push_str(&format!(
                "| `{}` | {} |\n",
                key_names(binding),
                binding.help
            ));
        }
    }
    text
}

/// `DISKSCOPE_BLESS=1 cargo test` rewrites the document.
#[test]
fn keys_document_matches_the_key_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
    if std::env::var_os(crate::documents::BLESS_VARIABLE).is_some() {
        std::fs::write(path, to_markdown()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        to_markdown(),
        "docs/keys.md is out of date: run DISKSCOPE_BLESS=1 cargo test keys_document_matches_the_key_table"
    );
}
