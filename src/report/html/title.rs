//! What the page and its sessions are called: of several sessions, what tells them apart.

use std::path::Path;

use crate::safe_text::SafeText;
use crate::session::compare::Input;

/// Sessions that the title names; more are counted.
const NAMED: usize = 3;

/// The page's title.
pub(super) fn title(inputs: &[Input<'_>]) -> String {
    let hosts = hosts(inputs);
    let [_, _, ..] = inputs else {
        return match hosts.first() {
            Some(host) => format!("Drive report of {host}"),
            None => "Drive report".to_owned(),
        };
    };
    let labels = labels(inputs);
    let mut names: Vec<&str> = labels.iter().take(NAMED).map(String::as_str).collect();
    let more = labels.len().saturating_sub(NAMED);
    let counted = format!("{more} more");
    if more > 0 {
        names.push(&counted);
    }
    let on = match hosts.as_slice() {
        // Where the hosts differ, they are the labels or the files say more.
        [host] => format!(" on {host}"),
        _ => String::new(),
    };
    format!("Comparison of {}{on}", names.join(", "))
}

/// What tells the sessions apart, one label for each: their hosts, or else the drives' models, the
/// targets, the serial numbers, or else the names of the files.
pub(super) fn labels(inputs: &[Input<'_>]) -> Vec<String> {
    let candidates: [fn(&Input<'_>) -> Option<String>; 4] = [host, models, targets, serials];
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

fn hosts(inputs: &[Input<'_>]) -> Vec<String> {
    let mut hosts: Vec<String> = inputs.iter().filter_map(host).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn host(input: &Input<'_>) -> Option<String> {
    input.session.host.name.clone().map(String::from)
}

fn models(input: &Input<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    each_once(runs.map(|run| run.target.model.as_ref()))
}

fn targets(input: &Input<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    each_once(runs.map(|run| Some(&run.target.path)))
}

fn serials(input: &Input<'_>) -> Option<String> {
    let runs = input.session.runs.iter();
    each_once(runs.map(|run| run.target.serial.as_ref()))
}

/// The texts, each once; `None` where one is unknown or there are none.
fn each_once<'t>(texts: impl Iterator<Item = Option<&'t SafeText>>) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for text in texts {
        let text = text?;
        if !known.contains(&text.as_str()) {
            known.push(text);
        }
    }
    (!known.is_empty()).then(|| known.join(" and "))
}

/// The names of the files without their directories, unless these alone tell them apart.
fn file_names(inputs: &[Input<'_>]) -> Vec<String> {
    let name = |input: &Input<'_>| {
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
    use crate::session::compare::sample::{run, session};
    use crate::session::document::Session;

    fn on(host: &str, model: Option<&str>, path: &str) -> Session {
        let mut run = run("iops", 1.0, 0.1);
        run.target.model = model.map(Into::into);
        run.target.path = path.into();
        session(host, vec![run])
    }

    fn titled(sessions: &[(&str, Session)]) -> String {
        let inputs: Vec<Input<'_>> = sessions
            .iter()
            .map(|(name, session)| Input { name, session })
            .collect();
        title(&inputs)
    }

    #[test]
    fn title_of_one_session_names_its_host() {
        let one = [("a.json", on("web-07", None, "/dev/sda"))];
        assert_eq!(titled(&one), "Drive report of web-07");
    }

    #[test]
    fn title_of_several_hosts_names_the_hosts() {
        let two = [
            ("a.json", on("web-07", Some("PM9A3"), "/dev/sda")),
            ("b.json", on("web-08", Some("PM9A3"), "/dev/sda")),
        ];
        assert_eq!(titled(&two), "Comparison of web-07, web-08");
    }

    #[test]
    fn title_of_one_host_names_what_differs_there() {
        let two = |models: [Option<&str>; 2], paths: [&str; 2]| {
            titled(&[
                ("runs/before.json", on("web-07", models[0], paths[0])),
                ("runs/after.json", on("web-07", models[1], paths[1])),
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
        let host = |index: usize| on(&format!("web-{index}"), None, "/dev/sda");
        let names = ["a", "b", "c", "d", "e"];
        let five: Vec<(&str, Session)> = (0..5).map(|index| (names[index], host(index))).collect();
        assert_eq!(titled(&five), "Comparison of web-0, web-1, web-2, 2 more");
        let same: Vec<(&str, Session)> = vec![("x/a", host(1)), ("y/a", host(1))];
        assert_eq!(titled(&same), "Comparison of x/a, y/a on web-1");
    }
}
