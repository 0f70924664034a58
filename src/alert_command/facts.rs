//! What a command is told: environment variables.

use super::environment::Variable;
use crate::condition::{ScopeKind, Trigger};
use crate::report::triggers::{trigger_json, trigger_text, value_text};

/// All variables, each with its meaning.
pub const VARIABLES: [(&str, &str); 15] = [
    (
        "DISKSCOPE_MESSAGE",
        "one line of text, as `watch --on` prints it",
    ),
    ("DISKSCOPE_CONDITION", "the condition"),
    ("DISKSCOPE_METRIC", "its metric"),
    ("DISKSCOPE_THRESHOLD", "its value, in DISKSCOPE_UNIT"),
    (
        "DISKSCOPE_SCOPE",
        "what it holds for: `device`, `process`, `unit`, `mount` or `system`",
    ),
    (
        "DISKSCOPE_NAME",
        "kernel's name of the device, command line of the process, path of the unit, mount point; empty for `system`",
    ),
    (
        "DISKSCOPE_LABEL",
        "name of the volume or unit, model of the device; empty where it has none",
    ),
    ("DISKSCOPE_PID", "process id; not set for other scopes"),
    ("DISKSCOPE_VALUE", "value of the metric, in DISKSCOPE_UNIT"),
    (
        "DISKSCOPE_VALUE_TEXT",
        "the value for people, such as `61.2 ms`",
    ),
    (
        "DISKSCOPE_UNIT",
        "`ns`, `B`, `B/s`, `1/s`, `ratio` (1 is 100 %) or `1` (a number)",
    ),
    ("DISKSCOPE_TIME", "time of the sample, RFC 3339"),
    (
        "DISKSCOPE_SINCE",
        "time of the first sample since which the condition holds",
    ),
    (
        "DISKSCOPE_TRIGGER_COUNT",
        "triggers since the previous run, this one included; the other variables describe the first",
    ),
    (
        "DISKSCOPE_TRIGGERS",
        "the first of them, at most 64 and 64 KiB, one JSON object per line as `watch --on --json` prints it",
    ),
];

/// Bytes of the list of triggers. The kernel starts no program with a variable of 128 KiB
/// (include/uapi/linux/binfmts.h, `MAX_ARG_STRLEN`).
const MAX_LIST_BYTES: usize = 64 << 10;

/// The facts about the triggers since the previous run, of which the first is described in detail;
/// `omitted` more are not in the list.
pub(super) fn variables(triggers: &[Trigger], omitted: u64) -> Vec<Variable> {
    let Some(first) = triggers.first() else {
        return Vec::new();
    };
    let condition = &first.condition;
    let metric = condition.metric();
    let mut lines = String::new();
    for line in triggers.iter().filter_map(|it| trigger_json(it).ok()) {
        if !lines.is_empty() && lines.len() + line.len() >= MAX_LIST_BYTES {
            break;
        }
        lines.push_str(if lines.is_empty() { "" } else { "\n" });
        lines.push_str(&line);
    }
    let unit = serde_json::to_value(metric.unit()).unwrap_or_default();
    let count = omitted + triggers.len() as u64;
    let mut facts = vec![
        ("DISKSCOPE_MESSAGE", trigger_text(first)),
        ("DISKSCOPE_CONDITION", condition.to_string()),
        ("DISKSCOPE_METRIC", metric.to_string()),
        ("DISKSCOPE_THRESHOLD", condition.threshold().to_string()),
        ("DISKSCOPE_SCOPE", first.instance.kind.to_string()),
        ("DISKSCOPE_NAME", first.instance.name.to_string()),
        ("DISKSCOPE_LABEL", first.instance.label.to_string()),
        ("DISKSCOPE_VALUE", first.value.to_string()),
        ("DISKSCOPE_VALUE_TEXT", value_text(metric, first.value)),
        (
            "DISKSCOPE_UNIT",
            unit.as_str().unwrap_or_default().to_owned(),
        ),
        ("DISKSCOPE_TIME", first.time.to_string()),
        ("DISKSCOPE_SINCE", first.since.to_string()),
        ("DISKSCOPE_TRIGGER_COUNT", count.to_string()),
        ("DISKSCOPE_TRIGGERS", lines),
    ];
    if let (ScopeKind::Process, Some(pid)) = (first.instance.kind, first.instance.pid) {
        facts.push(("DISKSCOPE_PID", pid.to_string()));
    }
    let pair = |(name, value): (&'static str, String)| (name.into(), value.into());
    facts.into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::condition::{Condition, ScopeInstance};

    /// A trigger of a process with that command line.
    fn trigger_of(command: &str) -> Trigger {
        Trigger {
            time: "2026-01-01T00:00:12Z".into(),
            condition: Condition::parse("dstate(any)>30s").unwrap(),
            instance: ScopeInstance {
                kind: ScopeKind::Process,
                name: command.into(),
                label: "".into(),
                pid: Some(7),
            },
            value: 72e9,
            since: "2026-01-01T00:00:12Z".into(),
            held_ns: 0,
        }
    }

    #[test]
    fn list_of_triggers_stays_below_the_limit_of_a_variable() {
        let trigger = trigger_of(&"x".repeat(16_000));
        let facts = variables(&vec![trigger; 64], 0);
        let value = |wanted: &str| {
            let found = facts.iter().find(|(name, _)| name == wanted);
            found.unwrap().1.to_str().unwrap().to_owned()
        };
        let list = value("DISKSCOPE_TRIGGERS");
        assert!(
            list.len() < 64 << 10 && list.lines().count() >= 3,
            "{}",
            list.len()
        );
        assert_eq!(value("DISKSCOPE_TRIGGER_COUNT"), "64");
        for line in list.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).is_ok());
        }
    }

    #[test]
    fn every_variable_is_documented_and_set() {
        let trigger = trigger_of("dd if=x");
        let facts: HashMap<String, String> = variables(&[trigger.clone(), trigger], 3)
            .into_iter()
            .map(|(name, value)| {
                let text = |it: std::ffi::OsString| it.into_string().unwrap();
                (text(name), text(value))
            })
            .collect();
        assert_eq!(facts.len(), VARIABLES.len());
        for (name, _) in VARIABLES {
            assert!(facts.contains_key(name), "{name}");
        }
        assert_eq!(facts["DISKSCOPE_UNIT"], "ns");
        assert_eq!(facts["DISKSCOPE_VALUE"], "72000000000");
        assert_eq!(facts["DISKSCOPE_VALUE_TEXT"], "1m12s");
        assert_eq!(facts["DISKSCOPE_THRESHOLD"], "30000000000");
        assert_eq!(facts["DISKSCOPE_PID"], "7");
        assert_eq!(facts["DISKSCOPE_TRIGGER_COUNT"], "5");
        assert_eq!(facts["DISKSCOPE_TRIGGERS"].lines().count(), 2);
    }
}
