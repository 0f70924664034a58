//! The last test program of a run: one line with the tests that were skipped, and why.

#[path = "requirement.rs"]
mod requirement;

use std::collections::BTreeMap;

fn main() {
    let Some(path) = requirement::list() else {
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    // The next run begins a list of its own; without a list there is nothing to remove.
    let _ = std::fs::remove_file(&path);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        if let Some((test, reason)) = line.split_once('\t') {
            let tests = reasons.entry(reason).or_default();
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
    }
    let tests: usize = reasons.values().map(Vec::len).sum();
    let list: Vec<String> = reasons
        .iter()
        .map(|(reason, tests)| format!("{} ({})", tests.join(", "), reason.replace('\t', ": ")))
        .collect();
    println!("skipped tests: {tests} {}", list.join("; "));
}
