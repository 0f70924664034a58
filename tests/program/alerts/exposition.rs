//! `watch --format openmetrics`: the exposition and the dashboard that uses it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ALWAYS, printed, watch};

/// The families of an exposition by name, with their types. Checks the syntax of every line, that
/// samples follow their family, that counters end in `_total`, and that no series is there twice.
fn parse_families(exposition: &str) -> BTreeMap<String, String> {
    let body = exposition.strip_suffix("# EOF\n").unwrap();
    let mut families = BTreeMap::new();
    let mut series = BTreeSet::new();
    let mut current = (String::new(), String::new());
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name) = (words.next().unwrap(), words.next().unwrap());
            let text = words.next().unwrap();
            match keyword {
                "TYPE" => {
                    assert!(["counter", "gauge"].contains(&text), "{line}");
                    let before = families.insert(name.to_owned(), text.to_owned());
                    assert_eq!(before, None, "{name} is there twice");
                    current = (name.to_owned(), text.to_owned());
                }
                "UNIT" => assert!(
                    name == current.0 && name.ends_with(&format!("_{text}")),
                    "{line}"
                ),
                "HELP" => assert!(name == current.0 && !text.contains('"'), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap();
        let name = key.split('{').next().unwrap();
        let suffix = if current.1 == "counter" { "_total" } else { "" };
        assert_eq!(name, format!("{}{suffix}", current.0), "{line}");
        let labels = key.strip_prefix(name).unwrap();
        assert!(
            labels.is_empty() || labels.starts_with('{') && labels.ends_with("\"}"),
            "{line}"
        );
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(series.insert(key.to_owned()), "{key} is there twice");
    }
    families
}

/// One exposition of this machine.
fn exposition() -> String {
    let output = watch(&["--count", "1", "--format", "openmetrics", "--on", ALWAYS]).output();
    printed(&output.unwrap()).0
}

#[test]
fn exposition_is_well_formed_and_has_the_conditions() {
    let text = exposition();
    let families = parse_families(&text);
    assert_eq!(families["diskscope_device_reads"], "counter");
    assert_eq!(families["diskscope_pressure_some_ratio"], "gauge");
    let firing = "diskscope_condition_firing{condition=\"cpu_busy(system)>=0%\"} 1";
    assert!(text.lines().any(|line| line == firing), "{text}");
}

#[test]
fn file_of_an_exposition_is_replaced_at_every_sample() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("diskscope.prom");
    std::fs::write(&file, "old\n").unwrap();
    let path = file.to_str().unwrap();
    let output = watch(&["--count", "3", "--format", "openmetrics", "-o", path])
        .output()
        .unwrap();
    let (stdout, _) = printed(&output);
    assert_eq!(stdout, "");
    parse_families(&std::fs::read_to_string(&file).unwrap());
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 1, "no temporary file is left");
    let endless = watch(&["--format", "openmetrics"]).output().unwrap();
    assert_eq!(endless.status.code(), Some(2));
}

#[test]
fn dashboard_names_only_metrics_of_the_exposition() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let families = parse_families(&exposition());
    let mut used = BTreeSet::new();
    collect_expressions(&dashboard, &mut used);
    assert!(used.len() > 15, "{used:?}");
    for name in used {
        let is_known = match name.strip_suffix("_total") {
            Some(counter) => families.get(counter).is_some_and(|kind| kind == "counter"),
            None => families.get(&name).is_some_and(|kind| kind == "gauge"),
        };
        assert!(is_known, "{name} is not in the exposition");
    }
}

/// The metrics in expressions and queries, wherever they are.
fn collect_expressions(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if key == "expr" || key == "query" => {
                        let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
                        let own = words.filter(|word| word.starts_with("diskscope_"));
                        used.extend(own.map(str::to_owned));
                    }
                    member => collect_expressions(member, used),
                }
            }
        }
        Value::Array(members) => members.iter().for_each(|it| collect_expressions(it, used)),
        _ => {}
    }
}
