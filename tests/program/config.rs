//! `diskscope config`, and the configuration file in other commands.

use std::path::Path;
use std::process::{Command, Output};

fn run(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(arguments)
        .env("XDG_CONFIG_HOME", directory)
        .env("XDG_STATE_HOME", directory.join("state"))
        .env_remove("NO_COLOR")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn configured(text: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("diskscope");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("config.toml"), text).unwrap();
    directory
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn settings(output: &Output) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["settings"].clone()
}

#[test]
fn every_value_has_its_source() {
    let directory = configured("interval = 2\nhidden_devices = [\"loop*\"]\n");
    let no_color = [("NO_COLOR", "1")];
    let words = ["config", "--json", "--interval", "500ms"];
    let output = run(directory.path(), &words, &no_color);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = settings(&output);
    for (key, value, source) in [
        ("interval", serde_json::json!("500ms"), "option"),
        ("hidden_devices", serde_json::json!(["loop*"]), "file"),
        ("theme", serde_json::json!("plain"), "environment"),
        ("sort", serde_json::Value::Null, "default"),
    ] {
        assert_eq!(found[key]["value"], value, "{key}");
        assert_eq!(found[key]["source"], source, "{key}");
    }
    let output = run(
        directory.path(),
        &["config", "--format", "json", "--theme", "dark"],
        &no_color,
    );
    assert_eq!(settings(&output)["theme"]["source"], "option");
}

#[test]
fn printed_configuration_is_a_configuration_file() {
    let words = "interval = \"500ms\"\ntheme = \"light\"\nsort = \"IO%\"\n\
                 columns = [\"w/s\", \"%util\"]\nhidden_devices = [\"loop*\"]\n\
                 default_target = \"/srv\"\n";
    let first = configured(words);
    let printed = run(first.path(), &["config"], &[]);
    let second = configured(&text(&printed.stdout));
    let json = |directory: &Path| settings(&run(directory, &["config", "--json"], &[]));
    assert_eq!(json(first.path()), json(second.path()));
}

#[test]
fn configuration_is_not_written_over_its_file() {
    let words = "# a comment\ninterval = 2\n";
    let directory = configured(words);
    let file = directory.path().join("diskscope/config.toml");
    let link = directory.path().join("link");
    std::fs::hard_link(&file, &link).unwrap();
    for path in [&file, &link] {
        let output = run(
            directory.path(),
            &["config", "-o", path.to_str().unwrap()],
            &[],
        );
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), words);
    }
}

#[test]
fn unusable_line_is_named_by_every_command_that_reads_the_file() {
    let directory = configured("interval = 2\n\nthem = \"dark\"\n");
    for words in [&["config"][..], &["watch", "--count", "1"]] {
        let output = run(directory.path(), words, &[]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        let expected = "diskscope/config.toml:3: unknown key them, did you mean theme?";
        assert!(message.contains(expected), "{words:?}: {message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn interval_of_the_file_is_that_of_watch() {
    let directory = configured("interval = \"200ms\"\n");
    let interval = |words: &[&str]| {
        let output = run(directory.path(), words, &[]);
        let line = text(&output.stdout).lines().next_back().unwrap().to_owned();
        let sample: serde_json::Value = serde_json::from_str(&line).unwrap();
        sample["interval_ns"].as_f64().unwrap() / 1e9
    };
    let of_file = interval(&["watch", "--json", "--count", "2"]);
    assert!((0.15..0.9).contains(&of_file), "{of_file}");
    let of_option = interval(&["watch", "--json", "--count", "2", "--interval", "1"]);
    assert!(of_option > 0.9, "{of_option}");
}

#[test]
fn pipe_in_place_of_the_file_is_ignored_with_a_note() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("diskscope");
    std::fs::create_dir(&place).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.join("config.toml"), mode).unwrap();
    let output = run(directory.path(), &["config"], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("is ignored: it is not a regular file"));
    assert!(text(&output.stdout).contains("interval = \"1s\""));
}
