//! Generates `docs/keys.md` from the key table.

use diskscope::tui::keys::{KeyContext, bindings_of, key_names};

/// The whole table as a Markdown document: `docs/keys.md`.
fn to_markdown() -> String {
    let mut text = String::from(
        "# Keys\n\n`?` shows this list on the screen. It is generated from the key table in \
         `src/app/keymap/table.rs`;\na test compares the two.\n\nIn a text field all \
         other characters are inserted. A form field opens with its value selected: the\nfirst \
         character replaces it, Backspace or Delete clears it, an arrow key, Home or End edits it.\n",
    );
    for context in KeyContext::ALL {
        text.push_str(&format!(
            "\n## {}\n\n| key | does |\n|---|---|\n",
            context.title()
        ));
        for binding in bindings_of(context) {
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
