//! Small files that stand for much, and large ones: looked at in bounded memory.
//!
//! The program runs with a limit of its address space. Where more is needed it fails, so that the
//! limit is the assertion.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use diskscope::recording::frame::{
    FRAME_HEADER_BYTES, FrameKind, encode_file_header, encode_frame,
};

use crate::hostile::corpus::{
    encode_recording, hostile_frame, hostile_request, hostile_session, hostile_view,
};
use crate::hostile::{assert_clean, diskscope, temporary_directory};
use crate::requirement::{Requirement, skip};

const MIB: usize = 1 << 20;

/// Runs the program with an address space of so many MiB.
fn run_with_address_space(directory: &Path, mib: usize, arguments: &[&str]) -> Output {
    let program = diskscope(directory, arguments);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", mib * 1024))
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(directory)
        .env("XDG_STATE_HOME", directory.join("state"))
        .env("RUST_BACKTRACE", "0");
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("memory allocation"), "{errors}");
    output
}

fn stderr_text(output: &Output) -> String {
    assert_clean("the errors", output);
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// As another user, who has a process for each of the threads that it may have.
#[test]
fn missing_threads_are_an_error_and_no_panic() {
    if !rustix::process::geteuid().is_root() {
        return skip(Requirement::Root, "starts the program as another user");
    }
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("diskscope");
    fs::copy(env!("CARGO_BIN_EXE_diskscope"), &program).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for arguments in [["watch", "--count", "1"].as_slice(), &["list"]] {
        let output = Command::new("setpriv")
            .args(["--reuid", "64999", "--regid", "64999", "--clear-groups"])
            .args(["prlimit", "--nproc=1"])
            .arg(&program)
            .args(arguments)
            .current_dir("/")
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let errors = stderr_text(&output);
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
        assert!(
            output.status.code().is_some_and(|code| code < 3),
            "{arguments:?}: {output:?}"
        );
    }
}

/// A recording of so many frames of requests, `each` bytes long, after one view.
fn write_compression_bomb(path: &Path, frames: usize, content: &[u8]) -> u64 {
    let view = hostile_frame(FrameKind::View, hostile_view("").to_string().as_bytes());
    let requests = hostile_frame(FrameKind::Requests, content);
    let mut file = fs::File::create(path).unwrap();
    file.write_all(&encode_file_header()).unwrap();
    file.write_all(&view).unwrap();
    for _ in 0..frames {
        file.write_all(&requests).unwrap();
    }
    file.write_all(&view).unwrap();
    file.metadata().unwrap().len()
}

/// Lines of requests, so many MiB.
fn request_lines(mib: usize) -> Vec<u8> {
    let line = hostile_request("").to_string() + "\n";
    line.repeat(mib * MIB / line.len()).into_bytes()
}

/// Counts what the program prints, with an address space of so many MiB.
fn printed_bytes(directory: &Path, mib: usize, arguments: &str) -> u64 {
    let program = env!("CARGO_BIN_EXE_diskscope");
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {}; {program} {arguments} | wc -c",
            mib * 1024
        ))
        .current_dir(directory)
        .env("XDG_STATE_HOME", directory.join("state"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let note = "note: bomb has no regular end: the recorder was killed\n";
    assert_eq!(errors, note, "{errors}");
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn replayed_requests_are_printed_in_bounded_memory() {
    let directory = temporary_directory();
    let content = request_lines(8);
    let size = write_compression_bomb(&directory.path().join("bomb"), 12, &content);
    assert!(size < MIB as u64, "{size}");
    let count = printed_bytes(directory.path(), 100, "replay --requests bomb");
    assert_eq!(count, 12 * content.len() as u64);
}

#[test]
#[ignore = "prints seven gigabytes: takes a minute"]
fn compression_bomb_of_7_gb_is_printed_in_bounded_memory() {
    let directory = temporary_directory();
    let content = request_lines(60);
    write_compression_bomb(&directory.path().join("bomb"), 115, &content);
    let count = printed_bytes(directory.path(), 200, "replay --requests bomb");
    assert_eq!(count, 115 * content.len() as u64);
}

#[test]
fn frame_content_beyond_limit_is_refused() {
    let directory = temporary_directory();
    let path = directory.path().join("bomb");
    write_compression_bomb(&path, 1, &request_lines(66));
    let output = run_with_address_space(directory.path(), 200, &["replay", "--requests", "bomb"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr_text(&output);
    assert!(message.contains("contains more than 64 MiB"), "{message}");

    write_compression_bomb(&path, 1, &vec![b' '; 60 * MIB]);
    let output = run_with_address_space(directory.path(), 200, &["replay", "--requests", "bomb"]);
    let message = stderr_text(&output);
    assert!(message.contains("a line is longer than"), "{message}");
}

#[test]
fn view_with_too_many_elements_is_refused() {
    let directory = temporary_directory();
    for field in ["processes", "devices", "transfers", "notices"] {
        let element = match field {
            "notices" => "\"\"",
            "transfers" => "{\"state\":\"moving\",\"pid\":1,\"command\":\"\"}",
            _ => "{}",
        };
        let list = format!("[{element}{}]", format!(",{element}").repeat(150_000));
        let mut view = hostile_view("");
        view[field] = "LIST".into();
        let text = view.to_string().replace("\"LIST\"", &list);
        let bytes = encode_recording(&[(FrameKind::View, text.into_bytes())]);
        fs::write(directory.path().join("day"), bytes).unwrap();
        let output = run_with_address_space(directory.path(), 400, &["replay", "day"]);
        assert_eq!(output.status.code(), Some(1), "{field}");
        let message = stderr_text(&output);
        assert!(
            message.contains("a list has more than"),
            "{field}: {message}"
        );
    }
}

#[test]
fn frames_without_restart_are_reported_as_damage() {
    let directory = temporary_directory();
    let path = directory.path().join("chain");
    let mut bytes = encode_file_header().to_vec();
    bytes.extend(hostile_frame(
        FrameKind::View,
        hostile_view("").to_string().as_bytes(),
    ));
    let head = hostile_frame(FrameKind::View, b"")[..FRAME_HEADER_BYTES].to_vec();
    let mark = diskscope::recording::FrameMark {
        time_ms: 1,
        bytes_per_s: None,
    };
    assert_eq!(head.len(), FRAME_HEADER_BYTES);
    for _ in 0..5000 {
        bytes.extend(encode_frame(
            FrameKind::View,
            false,
            mark,
            &[0, 0, 0, 0xff, 0xff],
            None,
        ));
    }
    fs::write(&path, bytes).unwrap();
    let recording = diskscope::recording::Recording::open(&path).unwrap();
    let damage = recording.damage().unwrap().to_string();
    assert!(damage.contains("never restarted"), "{damage}");
}

/// A journal of so many lines about one run, each the whole of it.
fn write_journal(path: &Path, bytes: usize) {
    let session = hostile_session("");
    let run = serde_json::json!({ "run": session["runs"][0] }).to_string() + "\n";
    let mut head = session.clone();
    head["runs"] = serde_json::json!([]);
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    writeln!(file, "{}", serde_json::json!({ "session": head })).unwrap();
    let running = run.replace("\"state\":\"finished\"", "\"state\":\"running\"");
    for _ in 0..bytes / running.len() {
        file.write_all(running.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

#[test]
fn journal_with_many_lines_is_shown_in_bounded_memory() {
    let directory = temporary_directory();
    write_journal(&directory.path().join("a.journal"), 24 * MIB);
    let output = run_with_address_space(directory.path(), 150, &["show", "a.journal"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("INTERRUPTED"), "{text}");
}

#[test]
#[ignore = "makes a file of 536 MB"]
fn journal_of_536_mb_is_shown_in_bounded_memory_and_time() {
    let directory = temporary_directory();
    write_journal(&directory.path().join("a.journal"), 536_000_000);
    let began = Instant::now();
    let output = run_with_address_space(directory.path(), 150, &["show", "a.journal"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn journal_is_read_up_to_oversized_line() {
    let directory = temporary_directory();
    let path = directory.path().join("a.journal");
    let mut head = hostile_session("");
    head["runs"] = serde_json::json!([]);
    fs::write(
        &path,
        serde_json::json!({ "session": head }).to_string() + "\n",
    )
    .unwrap();
    // Lines that say nothing end a journal: a hole is one such line, and too long for it.
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(2 << 30).unwrap();
    let output = run_with_address_space(directory.path(), 300, &["show", "a.journal"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
}

#[test]
fn session_with_too_many_points_is_refused() {
    let directory = temporary_directory();
    let mut document = hostile_session("");
    document["runs"][0]["series"] = serde_json::json!([{
        "name": "iops-over-time", "x": { "name": "time", "unit": "ns" },
        "y": { "name": "IOPS", "unit": "1/s" }, "points": "LIST"
    }]);
    let many = format!("[[0,0]{}]", ",[0,0]".repeat(2_500_000));
    let text = document.to_string().replace("\"LIST\"", &many);
    fs::write(directory.path().join("a.json"), text).unwrap();
    let output = run_with_address_space(directory.path(), 300, &["show", "a.json"]);
    assert_ne!(output.status.code(), Some(0));
    let message = stderr_text(&output);
    assert!(
        message.contains("a list has more than 2000000"),
        "{message}"
    );

    // As many as are allowed are shown, in a few times the memory that the file takes.
    let fewer = format!("[[0,1]{}]", ",[1,2]".repeat(1_900_000));
    let text = document.to_string().replace("\"LIST\"", &fewer);
    fs::write(directory.path().join("a.json"), &text).unwrap();
    let output = run_with_address_space(
        directory.path(),
        60 + 15 * text.len() / MIB,
        &["show", "a.json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
}

#[test]
fn oversized_session_file_is_refused_unread() {
    let directory = temporary_directory();
    let file = fs::File::create(directory.path().join("a.json")).unwrap();
    file.set_len(8 << 30).unwrap();
    let output = run_with_address_space(directory.path(), 300, &["show", "a.json"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(
        stderr_text(&output).contains("longer than 64 MiB"),
        "{}",
        stderr_text(&output)
    );
}

#[test]
fn thousand_sessions_are_compared_by_metric_in_bounded_memory() {
    let directory = temporary_directory();
    let text = hostile_session("").to_string();
    let names: Vec<String> = (0..1000).map(|number| format!("{number}.json")).collect();
    for name in &names {
        fs::write(directory.path().join(name), &text).unwrap();
    }
    let mut arguments = vec!["compare", "--by", "iops"];
    arguments.extend(names.iter().map(String::as_str));
    let output = run_with_address_space(directory.path(), 300, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(output.stdout.len() < 4 * MIB);
}

#[test]
fn sessions_exceeding_total_size_are_refused_unread() {
    let directory = temporary_directory();
    for name in ["a", "b", "c", "d", "e"] {
        let file = fs::File::create(directory.path().join(name)).unwrap();
        file.set_len(60 << 20).unwrap();
    }
    for command in [
        &["compare", "a", "b", "c", "d", "e"][..],
        &["report", "a", "b", "c", "d", "e", "-o", "x.html"],
    ] {
        let output = run_with_address_space(directory.path(), 200, command);
        assert_eq!(output.status.code(), Some(2));
        let message = stderr_text(&output);
        assert!(
            message.contains("300 MiB together, more than 256 MiB"),
            "{message}"
        );
    }
}

#[test]
fn deeply_nested_session_is_refused() {
    let directory = temporary_directory();
    let deep = "[".repeat(1_000_000);
    for text in [
        deep.clone(),
        format!("{{\"x\":{deep}"),
        format!("{{\"session\":{{\"x\":{deep}"),
    ] {
        fs::write(directory.path().join("a.json"), text).unwrap();
        let output = run_with_address_space(directory.path(), 200, &["show", "a.json"]);
        assert!(
            matches!(output.status.code(), Some(1 | 2)),
            "{:?}",
            output.status
        );
    }
}

#[test]
fn open_file_limit_gives_error_without_panic() {
    let mut refused = 0;
    for limit in 4..40 {
        let output = Command::new("bash")
            .arg("-c")
            .arg(format!("ulimit -n {limit}; exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", "random-read", "sim:constant,latency=100us,size=1GB"])
            .args(["--requests", "5", "--json", "-"])
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!message.contains("panicked"), "{limit}: {message}");
        assert_ne!(output.status.code(), Some(101), "{limit}: {message}");
        refused += usize::from(message.contains("limit of open files"));
    }
    assert!(refused > 0);
}

#[test]
fn long_names_do_not_widen_every_row_of_a_table() {
    let directory = temporary_directory();
    let mut document = hostile_session("");
    let metric = document["runs"][0]["figures"][0].clone();
    let named = |name: String| {
        let mut metric = metric.clone();
        metric["name"] = name.into();
        metric
    };
    let mut metrics = vec![named("N".repeat(65_000))];
    metrics.extend((0..3_000).map(|number| named(format!("f{number}"))));
    document["runs"][0]["figures"] = metrics.into();
    let rows = vec![serde_json::json!({ "name": "r", "cells": [""] }); 3_000];
    document["runs"][0]["tables"] = serde_json::json!([
        { "name": "t", "columns": ["C".repeat(65_000)], "rows": rows }
    ]);
    fs::write(directory.path().join("a.json"), document.to_string()).unwrap();
    for command in [
        &["show", "a.json"][..],
        &["compare", "a.json", "a.json"],
        &["report", "a.json", "-o", "-"],
    ] {
        let output = run_with_address_space(directory.path(), 250, command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
        // The sentences that compare metrics are some lines for each; rows of 65,000 columns were 195 MB.
        assert!(output.stdout.len() < 8 * MIB, "{}", output.stdout.len());
    }
}

#[test]
fn metrics_and_cells_by_the_ten_thousand_are_shown_in_seconds() {
    let directory = temporary_directory();
    let mut document = hostile_session("");
    let metric = document["runs"][0]["figures"][0].clone();
    let named = |number: usize| {
        let mut metric = metric.clone();
        metric["name"] = format!("f{number:06}").into();
        metric
    };
    document["runs"][0]["figures"] = (0..50_000).map(named).collect();
    let rows = vec![serde_json::json!({ "name": "r", "cells": vec!["zzzzzzz"; 100] }); 900];
    document["runs"][0]["tables"] =
        serde_json::json!([{ "name": "t", "columns": vec!["c"; 100], "rows": rows }]);
    fs::write(directory.path().join("a.json"), document.to_string()).unwrap();
    let began = Instant::now();
    for command in [
        &["show", "a.json"][..],
        &["compare", "a.json", "a.json"],
        &["report", "a.json", "-o", "-"],
    ] {
        let output = run_with_address_space(directory.path(), 1000, command);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    }
    // By linear searches 50,000 * 90,000 names would be compared: minutes in a build with checks.
    let taken = began.elapsed();
    assert!(taken < Duration::from_secs(90), "{taken:?}");
}

#[test]
fn tables_of_more_cells_than_any_real_one_are_refused() {
    let directory = temporary_directory();
    let mut document = hostile_session("");
    let rows = vec![serde_json::json!({ "name": "", "cells": [] }); 9_000];
    document["runs"][0]["tables"] =
        serde_json::json!([{ "name": "t", "columns": vec![""; 1000], "rows": rows }]);
    fs::write(directory.path().join("a.json"), document.to_string()).unwrap();
    let output = run_with_address_space(directory.path(), 150, &["show", "a.json"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr_text(&output);
    assert!(message.contains("100000 cells"), "{message}");
}

#[test]
fn journal_of_many_runs_is_limited_by_all_of_them_together() {
    let directory = temporary_directory();
    let mut head = hostile_session("");
    let mut run = head["runs"][0].take();
    head["runs"] = serde_json::json!([]);
    run["state"] = "finished".into();
    run["tables"] = serde_json::json!([
        { "name": "", "columns": [], "rows": vec![serde_json::json!({ "name": "", "cells": vec![""; 900] }); 100] }
    ]);
    let line = serde_json::json!({ "run": run }).to_string() + "\n";
    let text = serde_json::json!({ "session": head }).to_string() + "\n" + &line.repeat(60);
    fs::write(directory.path().join("a.journal"), text).unwrap();
    let output = run_with_address_space(directory.path(), 200, &["show", "a.journal"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr_text(&output);
    assert!(message.contains("metrics and cells"), "{message}");
}

#[test]
fn sessions_from_pipes_are_refused_when_they_are_too_large_together() {
    let directory = temporary_directory();
    fs::write(
        directory.path().join("a.json"),
        hostile_session("").to_string(),
    )
    .unwrap();
    let program = env!("CARGO_BIN_EXE_diskscope");
    let pad = "<(cat a.json; head -c 60000000 /dev/zero | tr '\\0' ' ')";
    for command in ["compare", "report -o r.html"] {
        let output = Command::new("bash")
            .arg("-c")
            .arg(format!(
                "ulimit -v 400000; exec {program} {command} {pad} {pad} {pad} {pad} {pad}"
            ))
            .current_dir(directory.path())
            .env("XDG_STATE_HOME", directory.path().join("state"))
            .output()
            .unwrap();
        let message = stderr_text(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("more than 256 MiB together"), "{message}");
    }
}
