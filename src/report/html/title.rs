//! Titles of the page and its sessions; with several sessions, labels that distinguish them.

use std::path::Path;

use crate::files::safe_text::SafeText;
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

/// Labels that distinguish the sessions, one for each: their hosts, or else the drives' models, the
/// targets, the serial numbers, or else the names of the files.
pub(super) fn session_labels(inputs: &[ComparisonInput<'_>]) -> Vec<String> {
    let candidates: [fn(&ComparisonInput<'_>) -> Option<String>; 4] =
        [host_name, model_names, target_names, serial_numbers];
    let labels = candidates
        .into_iter()
        .filter_map(|candidate| {
            inputs
                .iter()
                .map(candidate)
                .collect::<Option<Vec<String>>>()
        })
        .find(|labels| are_distinct(labels));
    labels.unwrap_or_else(|| file_names(inputs))
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

fn model_names(input: &ComparisonInput<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    join_distinct(runs.map(|run| run.target.model.as_ref()))
}

fn target_names(input: &ComparisonInput<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    join_distinct(runs.map(|run| Some(&run.target.path)))
}

fn serial_numbers(input: &ComparisonInput<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    join_distinct(runs.map(|run| run.target.serial.as_ref()))
}

/// Joins the distinct texts; `None` if one is unknown or there are none.
fn join_distinct<'t>(texts: impl Iterator<Item = Option<&'t SafeText>>) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for text in texts {
        let text = text?;
        if !known.contains(&text.as_str()) {
            known.push(text);
        }
    }
    (!known.is_empty()).then(|| known.join(" and "))
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
    use crate::session::document::Session;

    fn session_on_host(host: &str, model: Option<&str>, path: &str) -> Session {
        let mut run = sample_run("iops", 1.0, 0.1);
        run.target.model = model.map(Into::into);
        run.target.path = path.into();
        sample_session(host, vec![run])
    }

    fn title_of_sessions(sessions: &[(&str, Session)]) -> String {
        let inputs: Vec<ComparisonInput<'_>> = sessions
            .iter()
            .map(|(name, session)| ComparisonInput { name, session })
            .collect();
        page_title(&inputs)
    }

    #[test]
    fn title_of_one_session_names_its_host() {
        let one = [("a.json", session_on_host("web-07", None, "/dev/sda"))];
        assert_eq!(title_of_sessions(&one), "Drive report of web-07");
    }

    #[test]
    fn title_of_several_hosts_names_the_hosts() {
        let two = [
            (
                "a.json",
                session_on_host("web-07", Some("PM9A3"), "/dev/sda"),
            ),
            (
                "b.json",
                session_on_host("web-08", Some("PM9A3"), "/dev/sda"),
            ),
        ];
        assert_eq!(title_of_sessions(&two), "Comparison of web-07, web-08");
    }

    #[test]
    fn title_of_one_host_names_what_differs_there() {
        let two = |models: [Option<&str>; 2], paths: [&str; 2]| {
            title_of_sessions(&[
                (
                    "runs/before.json",
                    session_on_host("web-07", models[0], paths[0]),
                ),
                (
                    "runs/after.json",
                    session_on_host("web-07", models[1], paths[1]),
                ),
            ])
        };
        let (known, paths) = ([Some("PM9A3"), Some("ST8000")], ["/dev/sda", "/dev/sdb"]);
        assert_eq!(two(known, paths), "Comparison of PM9A3, ST8000 on web-07");
        let targets = "Comparison of /dev/sda, /dev/sdb on web-07";
        assert_eq!(two([None, Some("ST8000")], paths), targets);
        assert_eq!(two([Some("PM9A3"), Some("PM9A3")], paths), targets);
        assert_eq!(
            two([None, None], ["/dev/sda", "/dev/sda"]),
            "Comparison of before.json, after.json on web-07"
        );
    }

    #[test]
    fn title_of_many_sessions_counts_those_beyond_three() {
        let host = |index: usize| session_on_host(&format!("web-{index}"), None, "/dev/sda");
        let names = ["a", "b", "c", "d", "e"];
        let five: Vec<(&str, Session)> = (0..5).map(|index| (names[index], host(index))).collect();
        assert_eq!(
            title_of_sessions(&five),
            "Comparison of web-0, web-1, web-2, 2 more"
        );
        let same: Vec<(&str, Session)> = vec![("x/a", host(1)), ("y/a", host(1))];
        assert_eq!(title_of_sessions(&same), "Comparison of x/a, y/a on web-1");
    }
}
