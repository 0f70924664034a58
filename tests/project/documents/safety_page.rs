//! `docs/safety.md` is written by hand: it stays short, and every test that it names is there.

use std::fs;
use std::path::Path;

/// More than that nobody reads before a run.
const MAXIMUM_LINES: usize = 120;

fn sources_below(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_below(&path, text);
        } else if path.extension().is_some_and(|it| it == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

fn is_there(name: &str, root: &Path, sources: &str) -> bool {
    if name.starts_with("tests/") {
        return root.join(name).exists();
    }
    if name.ends_with(".sh") {
        return root.join("tests/guest").join(name).exists();
    }
    // The name of a test, which is a sentence.
    let is_test = name.matches('_').count() >= 3 && !name.contains([' ', '/', '=']);
    !is_test || sources.contains(&format!("fn {name}()"))
}

#[test]
fn safety_page_is_short_and_names_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/safety.md")).unwrap();
    assert!(page.lines().count() <= MAXIMUM_LINES);
    let mut sources = String::new();
    sources_below(&root.join("tests/safety"), &mut sources);
    let names = page.split('`').skip(1).step_by(2);
    let missing: Vec<&str> = names
        .filter(|name| !is_there(name, root, &sources))
        .collect();
    assert!(missing.is_empty(), "not there: {missing:#?}");
}
