//! Every key of the session document is in `docs/fields.md`, with what the schema says of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::BLESS_VARIABLE;

/// What stands around the part that is written from the schema.
const FIELDS_BEGIN: &str =
    "<!-- session document: written from the schema by the tests with DISKSCOPE_BLESS=1 -->\n";
const FIELDS_END: &str = "<!-- end of the session document -->\n";

/// The schema as it is shipped; a test of the library compares it with the types.
fn session_schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Path and description of every key, in the order of the document.
fn document_keys(schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect_keys(schema, schema, "", &mut found);
    found
}

fn collect_keys(root: &Value, at: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let at = resolve_reference(root, at);
    for (name, property) in at["properties"].as_object().into_iter().flatten() {
        let key = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let of_type = resolve_reference(root, property);
        let message = property["description"]
            .as_str()
            .or(of_type["description"].as_str());
        found.push((key.clone(), message.unwrap_or_default().replace('\n', " ")));
        match of_type.get("items") {
            Some(items) => collect_keys(root, items, &format!("{key}[]"), found),
            None => collect_keys(root, of_type, &key, found),
        }
    }
}

/// The type behind a reference, also behind one that may be null.
fn resolve_reference<'s>(root: &'s Value, at: &'s Value) -> &'s Value {
    if let Some(name) = at["$ref"].as_str() {
        return resolve_reference(root, &root["$defs"][name.rsplit('/').next().unwrap()]);
    }
    let mut choices = at["anyOf"].as_array().into_iter().flatten();
    match choices.find(|choice| choice.get("$ref").is_some()) {
        Some(choice) => resolve_reference(root, choice),
        None => at,
    }
}

/// Keys that stand for fixed words, with what each word means.
fn fixed_words(schema: &Value) -> BTreeMap<String, String> {
    let definitions: &Map<String, Value> = schema["$defs"].as_object().unwrap();
    let codes = definitions.iter().filter_map(|(name, definition)| {
        let choices = definition["oneOf"].as_array()?;
        let one = |choice: &Value| {
            let word = choice["const"].as_str().or(choice["enum"][0].as_str())?;
            Some(format!("`{word}`"))
        };
        let list: Vec<String> = choices.iter().filter_map(one).collect();
        Some((name.clone(), list.join(", ")))
    });
    codes.collect()
}

fn fields_page(schema: &Value) -> String {
    let mut text = String::from(
        "\n# The session document\n\nWhat `run --json` writes, and what is saved. Schema: \
         [session.schema.json](../assets/session.schema.json).\n\n| key | meaning |\n|---|---|\n",
    );
    for (key, meaning) in document_keys(schema) {
        writeln!(text, "| `{key}` | {} |", meaning.replace('|', "\\|")).unwrap();
    }
    text.push_str("\nFixed words:\n\n");
    for (name, list) in fixed_words(schema)
        .iter()
        .filter(|(_, list)| !list.is_empty())
    {
        writeln!(text, "* {name}: {list}").unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn every_key_of_the_session_document_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fields.md");
    let schema = session_schema();
    let generated = fields_page(&schema);
    let kept = std::fs::read_to_string(&path).unwrap();
    if std::env::var_os(BLESS_VARIABLE).is_some() {
        let (before, after) = match kept.split_once(FIELDS_BEGIN) {
            Some((before, rest)) => (before, rest.split_once(FIELDS_END).unwrap().1),
            None => (kept.as_str(), ""),
        };
        let whole = format!(
            "{}\n\n{FIELDS_BEGIN}{generated}{FIELDS_END}{after}",
            before.trim_end()
        );
        std::fs::write(&path, whole).unwrap();
        return;
    }
    for (key, meaning) in document_keys(&schema) {
        assert!(!meaning.is_empty(), "{key} has no doc comment");
        assert!(
            kept.contains(&format!("| `{key}` |")),
            "docs/fields.md lacks {key}"
        );
    }
    assert!(
        kept.contains(&generated),
        "docs/fields.md is not current: run the tests with {BLESS_VARIABLE}=1"
    );
}

#[test]
fn schema_keys_behind_references_and_lists_are_found() {
    let schema = session_schema();
    let keys: Vec<String> = document_keys(&schema)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    for key in [
        "schema",
        "runs[].reproduce.fio_gap",
        "runs[].figures[].value",
        "runs[].goals[].met",
    ] {
        assert!(
            keys.iter().any(|known| known == key),
            "{key} is not among {keys:?}"
        );
    }
}
