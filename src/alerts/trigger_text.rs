//! Triggers of conditions as text and JSON.

use super::{ScopeInstance, ScopeKind, Trigger};

/// Bytes of the list of triggers. The kernel starts no program with a variable of 128 KiB
/// (include/uapi/linux/binfmts.h, `MAX_ARG_STRLEN`).
const MAX_LIST_BYTES: usize = 64 << 10;

/// One line without a newline: when, which condition, what it holds for, the value, since when.
#[must_use]
pub fn trigger_text(trigger: &Trigger) -> String {
    let instance = match trigger.instance.kind {
        ScopeKind::System => String::new(),
        _ => format!("{} ", instance_text(&trigger.instance)),
    };
    let value = trigger.condition.metric.unit.format(trigger.value);
    let mut text = format!(
        "{} {}: {instance}{value}",
        whole_seconds(&trigger.time),
        trigger.condition
    );
    if trigger.held_ns > 0 {
        text += &format!(" since {}", whole_seconds(&trigger.since));
    }
    text
}

/// The name with the label, or with the process id.
fn instance_text(instance: &ScopeInstance) -> String {
    match instance.pid {
        Some(pid) => format!("{pid} {}", instance.name),
        None if instance.label.is_empty() || instance.label == instance.name => {
            instance.name.to_string()
        }
        None => format!("{} ({})", instance.name, instance.label),
    }
}

/// A time of a snapshot without its fraction of a second.
fn whole_seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

/// Environment variables of a command that is told of triggers: the first is described in detail; there were
/// `count`. `docs/alerts.md` describes them.
#[must_use]
pub fn trigger_variables(triggers: &[Trigger], count: u64) -> Vec<(&'static str, String)> {
    let Some(first) = triggers.first() else {
        return Vec::new();
    };
    let (condition, instance) = (&first.condition, &first.instance);
    let metric = condition.metric;
    let mut list = String::new();
    for line in triggers.iter().filter_map(|it| trigger_json(it).ok()) {
        if list.len() + line.len() < MAX_LIST_BYTES {
            list += &(line + "\n");
        }
    }
    let mut facts = vec![
        ("DISKSCOPE_MESSAGE", trigger_text(first)),
        ("DISKSCOPE_CONDITION", condition.to_string()),
        ("DISKSCOPE_METRIC", metric.name.to_owned()),
        ("DISKSCOPE_THRESHOLD", condition.threshold.to_string()),
        ("DISKSCOPE_SCOPE", instance.kind.name().to_owned()),
        ("DISKSCOPE_NAME", instance.name.to_string()),
        ("DISKSCOPE_LABEL", instance.label.to_string()),
        ("DISKSCOPE_VALUE", first.value.to_string()),
        ("DISKSCOPE_VALUE_TEXT", metric.unit.format(first.value)),
        ("DISKSCOPE_UNIT", metric.unit.symbol().to_owned()),
        ("DISKSCOPE_TIME", first.time.to_string()),
        ("DISKSCOPE_SINCE", first.since.to_string()),
        ("DISKSCOPE_TRIGGER_COUNT", count.to_string()),
        ("DISKSCOPE_TRIGGERS", list),
    ];
    facts.extend(instance.pid.map(|pid| ("DISKSCOPE_PID", pid.to_string())));
    facts
}

/// One line of JSON without a newline; `docs/fields.md` describes the fields.
///
/// # Errors
/// Never fails for a trigger of the monitor; the error is serde's.
pub fn trigger_json(trigger: &Trigger) -> serde_json::Result<String> {
    crate::files::json::to_string(trigger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::Condition;

    fn trigger(condition: &str, name: &str, label: &str, pid: Option<u32>) -> Trigger {
        let condition = Condition::parse(condition).unwrap();
        Trigger {
            time: "2026-01-01T00:00:12.123456789Z".into(),
            instance: ScopeInstance {
                kind: condition.scope.kind,
                name: name.into(),
                label: label.into(),
                pid,
            },
            condition,
            value: 0.612,
            since: "2026-01-01T00:00:09.1Z".into(),
            held_ns: 3_000_000_000,
        }
    }

    #[test]
    fn trigger_line_says_what_holds_since_when() {
        let since = "since 2026-01-01T00:00:09Z";
        for (made, text) in [
            (
                trigger("busy(any)>50%", "dm-0", "vg0-data", None),
                "busy(any)>50%: dm-0 (vg0-data) 61 %",
            ),
            (
                trigger("pressure_full(system)>5%", "", "", None),
                "pressure_full(system)>5%: 61 %",
            ),
            (
                trigger("io_wait(rsync)>5%", "rsync -a", "", Some(7)),
                "io_wait(rsync)>5%: 7 rsync -a 61 %",
            ),
        ] {
            let expected = format!("2026-01-01T00:00:12Z {text} {since}");
            assert_eq!(trigger_text(&made), expected);
        }
        let at_once = Trigger {
            held_ns: 0,
            ..trigger("io_errors(sda)>0", "sda", "sda", None)
        };
        assert!(trigger_text(&at_once).ends_with(": sda 0.61"));
    }

    #[test]
    fn every_fact_is_documented_and_the_list_is_bounded() {
        let page = std::fs::read_to_string("docs/alerts.md").unwrap();
        let long = Trigger {
            value: 72e9,
            ..trigger("dstate(any)>30s", &"x".repeat(16_000), "", Some(7))
        };
        let facts = trigger_variables(&vec![long; 64], 67);
        for (name, _) in &facts {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        }
        assert_eq!(facts.len(), page.matches("| `DISKSCOPE_").count());
        let value = |wanted| &facts.iter().find(|(name, _)| *name == wanted).unwrap().1;
        for (name, expected) in [
            ("DISKSCOPE_UNIT", "ns"),
            ("DISKSCOPE_VALUE", "72000000000"),
            ("DISKSCOPE_VALUE_TEXT", "1m12s"),
            ("DISKSCOPE_THRESHOLD", "30000000000"),
            ("DISKSCOPE_PID", "7"),
            ("DISKSCOPE_TRIGGER_COUNT", "67"),
        ] {
            assert_eq!(value(name), expected);
        }
        let list = value("DISKSCOPE_TRIGGERS");
        assert!(
            list.len() < MAX_LIST_BYTES && list.lines().count() >= 3,
            "{}",
            list.len()
        );
    }
}
