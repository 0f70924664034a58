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

/// A key of the document.
struct Key {
    /// Path of the object that has it; empty for the document.
    object: String,
    name: String,
    meaning: String,
}

/// Every key in the order of the document. A type that several keys have is described at the first.
fn document_keys(schema: &Value) -> Vec<Key> {
    let mut found = Vec::new();
    collect_keys(schema, schema, "", (&mut found, &mut BTreeMap::new()));
    found
}

fn collect_keys(
    root: &Value,
    at: &Value,
    object: &str,
    (found, known): (&mut Vec<Key>, &mut BTreeMap<*const Value, String>),
) {
    let mut objects = Vec::new();
    let at = resolve_reference(root, at);
    for (name, property) in at["properties"].as_object().into_iter().flatten() {
        let path = format!("{object}.{name}")
            .trim_start_matches('.')
            .to_owned();
        let of_type = resolve_reference(root, property);
        let meaning = property["description"].as_str();
        let meaning = meaning.or(of_type["description"].as_str());
        let mut meaning = meaning.unwrap_or_default().replace('\n', " ");
        let items = of_type.get("items");
        let content = resolve_reference(root, items.unwrap_or(of_type));
        if content.get("properties").is_some() {
            let path = path + if items.is_some() { "[]" } else { "" };
            match known.get(&std::ptr::from_ref(content)) {
                Some(same) => meaning = format!("{meaning} As `{same}`."),
                None => {
                    known.insert(content, path.clone());
                    objects.push((path, content));
                }
            }
        }
        found.push(Key {
            object: object.to_owned(),
            name: name.clone(),
            meaning,
        });
    }
    for (path, content) in objects {
        collect_keys(root, content, &path, (found, known));
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
         [session.schema.json](../assets/session.schema.json).\n\n| object | keys |\n|---|---|\n",
    );
    for object in document_keys(schema).chunk_by(|a, b| a.object == b.object) {
        let keys = object.iter().map(|Key { name, meaning, .. }| {
            let meaning = meaning.trim_end_matches('.').replace('|', "\\|");
            format!("`{name}`: {meaning}")
        });
        let path = &object[0].object;
        let path = if path.is_empty() {
            "the document".to_owned()
        } else {
            format!("`{path}`")
        };
        let keys: Vec<String> = keys.collect();
        writeln!(text, "| {path} | {} |", keys.join("<br>")).unwrap();
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
    for Key { name, meaning, .. } in document_keys(&schema) {
        assert!(!meaning.is_empty(), "{name} has no doc comment");
    }
    assert!(
        kept.contains(&generated),
        "docs/fields.md is not current: run the tests with {BLESS_VARIABLE}=1"
    );
}

#[test]
fn schema_keys_behind_references_and_lists_are_found() {
    let schema = session_schema();
    let keys = document_keys(&schema);
    let keys = keys
        .iter()
        .map(|key| format!("{}.{}", key.object, key.name));
    let keys: Vec<String> = keys.collect();
    for key in [
        ".schema",
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
