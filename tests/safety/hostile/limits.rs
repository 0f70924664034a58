//! Small files that stand for much, and large ones: looked at in bounded memory.
//!
//! The program runs with a limit of its address space. Where more is needed it fails, so that the
//! limit is the assertion.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::hostile::corpus::{hostile_member, hostile_request, hostile_session, hostile_view};
use crate::hostile::{assert_clean, diskscope, temporary_directory};

const MIB: usize = 1 << 20;

/// The same program with an address space of so many MiB.
fn with_address_space(program: &Command, mib: usize) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c");
    command.arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", mib * 1024));
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(program.get_current_dir().unwrap());
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
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

#[test]
fn replayed_requests_are_printed_in_bounded_memory() {
    let directory = temporary_directory();
    let content = request_lines(8);
    let size = write_compression_bomb(&directory.path().join("bomb"), 12, &content);
    assert!(size < MIB as u64, "{size}");
    let program = diskscope(directory.path(), &["replay", "--requests", "bomb"]);
    let mut command = with_address_space(&program, 100);
    let mut child = command.spawn().unwrap();
    let count = std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink());
    assert_eq!(count.unwrap(), 12 * content.len() as u64);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// A view of a recording with a list of 150,000 elements.
fn view_with_long_list(field: &str, element: &str) -> Vec<u8> {
    let list = format!("[{element}{}]", format!(",{element}").repeat(150_000));
    let mut view = hostile_view("");
    view[field] = "LIST".into();
    let text = view.to_string().replace("\"LIST\"", &list);
    hostile_member(format!("{text}\n").as_bytes())
}

/// A session with these tables.
fn session_with_tables(tables: serde_json::Value) -> serde_json::Value {
    let mut document = hostile_session("");
    document["runs"][0]["tables"] = tables;
    document
}

#[test]
fn recordings_and_sessions_beyond_any_real_one_are_refused() {
    let directory = temporary_directory();
    let file = directory.path().join("file");
    let refuse = |mib: usize, words: &str, reason: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let program = diskscope(directory.path(), &words);
        let output = with_address_space(&program, mib).output().unwrap();
        assert_clean(reason, &output);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{message}");
        assert!(message.contains(reason), "{reason}: {message}");
    };
    for content in [request_lines(66), vec![b' '; 60 * MIB]] {
        write_compression_bomb(&file, 1, &content);
        let program = diskscope(directory.path(), &["replay", "--json", "file"]);
        let output = with_address_space(&program, 200).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("it is too large"), "{message}");
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines, 1, "the view before it");
    }
    for (field, element) in [
        ("processes", "{}"),
        ("notices", "\"\""),
        (
            "transfers",
            "{\"state\":\"moving\",\"pid\":1,\"command\":\"\"}",
        ),
    ] {
        fs::write(&file, view_with_long_list(field, element)).unwrap();
        refuse(400, "replay file", "a list has more than");
    }
    let deep = "[".repeat(1_000_000);
    let rows = vec![serde_json::json!({ "name": "", "cells": [] }); 9_000];
    let table = serde_json::json!([{ "name": "t", "columns": vec![""; 1000], "rows": rows }]);
    for (content, reason) in [
        (format!("{{\"session\":{{\"x\":{deep}"), ""),
        (deep, ""),
        (
            session_with_tables(table).to_string(),
            "500000 metrics and cells",
        ),
    ] {
        fs::write(&file, content).unwrap();
        refuse(200, "show file", reason);
    }
    fs::File::create(&file).unwrap().set_len(8 << 30).unwrap();
    refuse(300, "show file", "longer than 64 MiB");
}

#[test]
fn long_names_do_not_widen_every_row_of_a_table() {
    let directory = temporary_directory();
    let rows = vec![serde_json::json!({ "name": "r", "cells": [""] }); 3_000];
    let table = serde_json::json!({ "name": "t", "columns": ["C".repeat(65_000)], "rows": rows });
    let mut document = session_with_tables(serde_json::json!([table]));
    let figures = &mut document["runs"][0]["figures"];
    let mut named = vec![figures[0].clone(); 3_000];
    named[0]["name"] = "N".repeat(65_000).into();
    *figures = named.into();
    fs::write(directory.path().join("a.json"), document.to_string()).unwrap();
    for words in [
        &["show", "a.json"][..],
        &["compare", "a.json", "a.json"],
        &["report", "a.json", "-o", "-"],
    ] {
        let program = diskscope(directory.path(), words);
        let output = with_address_space(&program, 250).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        // Rows of 65,000 columns were 195 MB.
        assert!(output.stdout.len() < 8 * MIB, "{}", output.stdout.len());
    }
}
