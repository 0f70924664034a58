//! Small files that stand for much, and large ones: looked at in bounded memory.
//!
//! The program runs with a limit of its address space. Where more is needed it fails, so that the
//! limit is the assertion.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::hostile::corpus::{hostile_member, hostile_request, hostile_session, hostile_view};
use crate::hostile::{assert_clean, diskscope, temporary_directory};

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

/// A recording of so many members with this content, between two views.
fn write_compression_bomb(path: &Path, members: usize, content: &[u8]) -> u64 {
    let view = hostile_member(format!("{}\n", hostile_view("")).as_bytes());
    let member = hostile_member(content);
    let all = [&view[..], &member.repeat(members), &view].concat();
    fs::write(path, &all).unwrap();
    all.len() as u64
}

/// Lines of requests, so many MiB.
fn request_lines(mib: usize) -> Vec<u8> {
    let line = hostile_request("") + "\n";
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
    assert_eq!(errors, "", "{errors}");
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
fn content_beyond_the_limit_is_left_out_and_told() {
    let directory = temporary_directory();
    let path = directory.path().join("bomb");
    for content in [request_lines(66), vec![b' '; 60 * MIB]] {
        write_compression_bomb(&path, 1, &content);
        let words = ["replay", "--json", "bomb"];
        let output = run_with_address_space(directory.path(), 200, &words);
        let message = stderr_text(&output);
        assert!(message.contains("it is too large"), "{message}");
        assert_eq!(
            output.stdout.iter().filter(|byte| **byte == b'\n').count(),
            2
        );
    }
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
        let bytes = hostile_member(format!("{text}\n").as_bytes());
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
