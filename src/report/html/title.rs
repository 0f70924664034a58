//! Titles of the page and its sessions; with several sessions, labels that distinguish them.

use std::path::Path;

use crate::session::compare::ComparisonInput;

/// Maximum number of sessions that the title names; more are counted.
const MAX_NAMED_SESSIONS: usize = 3;

/// The page's title.
pub(super) fn page_title(inputs: &[ComparisonInput<'_>]) -> String {
    let hosts = host_labels(inputs);
    let [_, _, ..] = inputs else {
        return match hosts.first() {
            Some(host) => format!("Drive report of {host}"),
            None => "Drive report".to_owned(),
        };
    };
    let labels = session_labels(inputs);
    let mut names: Vec<&str> = labels
        .iter()
        .take(MAX_NAMED_SESSIONS)
        .map(String::as_str)
        .collect();
    let more = labels.len().saturating_sub(MAX_NAMED_SESSIONS);
    let counted = format!("{more} more");
    if more > 0 {
        names.push(&counted);
    }
    let on = match hosts.as_slice() {
        // Different hosts are the labels already, or the labels are more specific file names.
        [host] => format!(" on {host}"),
        _ => String::new(),
    };
    format!("Comparison of {}{on}", names.join(", "))
}

/// Labels that distinguish the sessions, one for each: their hosts, or else the names of the files.
pub(super) fn session_labels(inputs: &[ComparisonInput<'_>]) -> Vec<String> {
    let hosts: Option<Vec<String>> = inputs.iter().map(host_name).collect();
    let hosts = hosts.filter(|hosts| are_distinct(hosts));
    hosts.unwrap_or_else(|| file_names(inputs))
}

fn are_distinct(labels: &[String]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    labels.iter().all(|label| seen.insert(label))
}

fn host_labels(inputs: &[ComparisonInput<'_>]) -> Vec<String> {
    let mut hosts: Vec<String> = inputs.iter().filter_map(host_name).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn host_name(input: &ComparisonInput<'_>) -> Option<String> {
    input.session.host.name.clone().map(String::from)
}

/// The names of the files without their directories, unless they are not unique.
fn file_names(inputs: &[ComparisonInput<'_>]) -> Vec<String> {
    let name = |input: &ComparisonInput<'_>| {
        let name = Path::new(input.name).file_name();
        name.map_or_else(
            || input.name.to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    };
    let short: Vec<String> = inputs.iter().map(name).collect();
    if are_distinct(&short) {
        return short;
    }
    inputs.iter().map(|input| input.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::{sample_run, sample_session};

    #[test]
    fn title_names_what_distinguishes_the_sessions() {
        for (sessions, title) in [
            (&[("a.json", "web-07")][..], "Drive report of web-07"),
            (
                &[("a.json", "web-07"), ("b.json", "web-08")],
                "Comparison of web-07, web-08",
            ),
            (
                &[
                    ("runs/before.json", "web-07"),
                    ("runs/after.json", "web-07"),
                ],
                "Comparison of before.json, after.json on web-07",
            ),
            (
                &[("x/a", "web-1"), ("y/a", "web-1")],
                "Comparison of x/a, y/a on web-1",
            ),
            (
                &[
                    ("a", "h1"),
                    ("b", "h2"),
                    ("c", "h3"),
                    ("d", "h4"),
                    ("e", "h5"),
                ],
                "Comparison of h1, h2, h3, 2 more",
            ),
        ] {
            let session = |host| sample_session(host, vec![sample_run("iops", 1.0, 0.1)]);
            let sessions: Vec<_> = sessions
                .iter()
                .map(|(name, host)| (*name, session(host)))
                .collect();
            let inputs: Vec<ComparisonInput<'_>> = sessions
                .iter()
                .map(|(name, session)| ComparisonInput { name, session })
                .collect();
            assert_eq!(page_title(&inputs), title);
        }
    }
}
