//! An exposition in the OpenMetrics text format.
//!
//! What the older format of the textfile collector lacks is left out: only counters and gauges, and
//! no quotes in help texts.

use std::fmt::Write as _;

/// Prefix of all names.
const PREFIX: &str = "diskscope_";

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyKind {
    /// Rises until the machine or the program is started again; its samples end in `_total`.
    Counter,
    /// Any value.
    Gauge,
}

/// A metric with all its samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family<'a> {
    /// Name without the prefix; ends in its unit.
    pub(super) name: &'a str,
    pub(super) kind: FamilyKind,
    /// Base unit; empty for numbers.
    pub(super) unit: &'a str,
    /// Empty where there is nothing to say.
    pub(super) help: &'a str,
}

/// A label with its value.
pub(super) type Label<'a> = (&'a str, &'a str);

/// An exposition under construction: families in the order in which they were first named.
#[derive(Default)]
pub(super) struct Exposition {
    families: Vec<WrittenFamily>,
}

struct WrittenFamily {
    name: String,
    head: String,
    samples: String,
}

impl Exposition {
    /// Names a family, which may have no sample: its name is then known to whoever asks for it.
    pub(super) fn declare(&mut self, family: &Family<'_>) -> usize {
        let name = format!("{PREFIX}{}", family.name);
        if let Some(index) = self.families.iter().position(|it| it.name == name) {
            return index;
        }
        let kind = match family.kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
        };
        let mut head = format!("# TYPE {name} {kind}\n");
        if !family.unit.is_empty() {
            let _ = writeln!(head, "# UNIT {name} {}", family.unit);
        }
        if !family.help.is_empty() {
            let _ = writeln!(head, "# HELP {name} {}", escaped(family.help));
        }
        self.families.push(WrittenFamily {
            name,
            head,
            samples: String::new(),
        });
        self.families.len() - 1
    }

    /// Adds a sample; an unknown value has none.
    pub(super) fn add(&mut self, family: &Family<'_>, labels: &[Label<'_>], value: Option<f64>) {
        let index = self.declare(family);
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
            .collect();
        let braced = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let written = &mut self.families[index];
        let suffix = match family.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Gauge => "",
        };
        let _ = writeln!(written.samples, "{}{suffix}{braced} {value}", written.name);
    }

    pub(super) fn render(self) -> String {
        let mut text = String::new();
        for family in self.families {
            text.push_str(&family.head);
            text.push_str(&family.samples);
        }
        text + "# EOF\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposition_groups_samples_by_family_and_skips_unknown_values() {
        let gauge = |name, unit, help| Family {
            name,
            kind: FamilyKind::Gauge,
            unit,
            help,
        };
        let mut exposition = Exposition::default();
        let ratio = gauge("a_ratio", "ratio", "the a");
        exposition.add(&ratio, &[("device", "x\"y\\z")], Some(0.5));
        let counter = Family {
            kind: FamilyKind::Counter,
            ..gauge("b_bytes", "bytes", "")
        };
        exposition.add(&counter, &[], Some(3.0));
        exposition.add(&ratio, &[("device", "z")], Some(1.0));
        exposition.add(&gauge("c", "", ""), &[], None);
        assert_eq!(
            exposition.render(),
            "# TYPE diskscope_a_ratio gauge\n# UNIT diskscope_a_ratio ratio\n\
             # HELP diskscope_a_ratio the a\ndiskscope_a_ratio{device=\"x\\\"y\\\\z\"} 0.5\n\
             diskscope_a_ratio{device=\"z\"} 1\n# TYPE diskscope_b_bytes counter\n\
             # UNIT diskscope_b_bytes bytes\ndiskscope_b_bytes_total 3\n\
             # TYPE diskscope_c gauge\n# EOF\n"
        );
    }
}
