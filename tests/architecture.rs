//! The arrows of the house, held by a scan of the sources: who may name whom.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// One source file: its path below `src/`, and its lines outside of test modules and comments.
struct SourceFile {
    path: String,
    lines: Vec<String>,
}

fn source_files() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect_files(&root, &mut files);
    assert!(files.len() > 50, "only {} sources found", files.len());
    files
        .iter()
        .map(|file| SourceFile {
            path: file
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            lines: program_lines(&fs::read_to_string(file).unwrap()),
        })
        .collect()
}

fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// What is compiled into the program: up to the test module, comments taken off.
fn program_lines(text: &str) -> Vec<String> {
    let program = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    program
        .lines()
        .map(|line| line.split("//").next().unwrap_or("").to_owned())
        .collect()
}

fn is_test(path: &str) -> bool {
    // `fake.rs` holds a module's replacement for the module below it, compiled for tests only.
    let named = path.ends_with("tests.rs") || path.ends_with("/fake.rs");
    named || path.contains("/tests/")
}

/// Lines of a module that hold one of these words.
fn forbidden_lines(module: &str, words: &[&str]) -> Vec<String> {
    let in_module = |source: &&SourceFile| {
        (source.path.starts_with(&format!("{module}/")) || source.path == format!("{module}.rs"))
            && !is_test(&source.path)
    };
    let sources = source_files();
    let inside: Vec<&SourceFile> = sources.iter().filter(in_module).collect();
    assert!(!inside.is_empty(), "there is no module {module}");
    let named = words.iter().filter_map(|it| it.strip_prefix("crate::"));
    for module in named.filter(|it| !it.is_empty()) {
        let is_there = |source: &SourceFile| {
            source.path == format!("{module}.rs") || source.path.starts_with(&format!("{module}/"))
        };
        assert!(sources.iter().any(is_there), "there is no module {module}");
    }
    inside
        .into_iter()
        .flat_map(|source| {
            let bad = |line: &&String| words.iter().any(|word| line.contains(word));
            let lines = source.lines.iter().filter(bad);
            lines.map(|line| format!("{}: {}", source.path, line.trim()))
        })
        .collect()
}

/// Asserts that no line of a module holds one of these words.
fn assert_not_used(module: &str, words: &[&str]) {
    let found = forbidden_lines(module, words);
    assert!(
        found.is_empty(),
        "{module} must not know {words:?}:\n{}",
        found.join("\n")
    );
}

#[test]
fn modules_do_not_depend_on_higher_layers() {
    let above = [
        ("units", &["crate::"][..]),
        ("entropy", &["crate::"]),
        ("shared_directory", &["crate::"]),
        (
            "stats",
            &[
                "crate::probe",
                "crate::model",
                "crate::drive",
                "crate::engine",
                "crate::bench",
            ],
        ),
        (
            "probe",
            &[
                "crate::model",
                "crate::engine",
                "crate::bench",
                "crate::session",
            ],
        ),
        (
            "model",
            &["crate::engine", "crate::bench", "crate::session"],
        ),
        (
            "drive",
            &[
                "crate::bench",
                "crate::engine",
                "crate::model",
                "crate::session",
            ],
        ),
        (
            "engine",
            &[
                "crate::bench",
                "crate::session",
                "crate::probe",
                "crate::model",
            ],
        ),
        ("bench", &["crate::probe", "crate::model", "crate::report"]),
        (
            "session",
            &["crate::engine", "crate::probe", "crate::model"],
        ),
        (
            "recording",
            &[
                "crate::engine",
                "crate::probe",
                "crate::bench",
                "crate::session",
                "crate::report",
            ],
        ),
        ("report", &["crate::engine", "crate::probe"]),
    ];
    for (module, words) in above {
        assert_not_used(module, words);
        assert_not_used(
            module,
            &[
                "crate::app",
                "crate::ui",
                "crate::tui",
                "crate::benchmark_run",
                "crate::cli",
            ],
        );
    }
    let of_directory = forbidden_lines("private_directory", &["crate::"]);
    assert!(
        of_directory.iter().all(|line| {
            line.contains("crate::entropy")
                || line.contains("crate::shared_directory")
                || line.contains("crate::private_directory")
        }),
        "{of_directory:?}"
    );
    assert_not_used(
        "app",
        &[
            "crate::ui",
            "crate::tui",
            "crate::benchmark_run",
            "crate::cli",
            "crate::probe",
        ],
    );
    assert_not_used(
        "ui",
        &[
            "crate::tui",
            "crate::benchmark_run",
            "crate::cli",
            "crate::probe",
        ],
    );
    assert_not_used("tui", &["crate::cli"]);
    assert_not_used(
        "benchmark_run",
        &["crate::cli", "crate::tui", "crate::app", "crate::ui"],
    );
    assert_not_used(
        "request_trace",
        &["crate::cli", "crate::tui", "crate::app", "crate::ui"],
    );
    assert_not_used(
        "supervisor",
        &[
            "crate::cli",
            "crate::tui",
            "crate::benchmark_run",
            "crate::bench",
        ],
    );
}

#[test]
fn terminal_libraries_are_used_by_the_interface_only() {
    let below = [
        "probe",
        "model",
        "drive",
        "engine",
        "bench",
        "stats",
        "session",
        "report",
        "recording",
        "units",
        "cli",
    ];
    for module in below {
        assert_not_used(module, &["ratatui", "crossterm"]);
    }
    assert_not_used("app", &["ratatui", "crossterm", "tokio"]);
    assert_not_used("ui", &["crossterm", "tokio"]);
}

#[test]
fn ui_module_uses_no_system_interfaces() {
    assert_not_used(
        "ui",
        &[
            "io_uring", "procfs", "\"/proc", "\"/sys", "std::fs", "rustix", "libc",
        ],
    );
}

#[test]
fn pure_modules_use_no_system_interfaces() {
    let outside = [
        "std::fs",
        "std::thread",
        "std::process",
        "rustix",
        "libc::",
        "Instant::now",
    ];
    for module in ["model", "app", "stats", "units"] {
        assert_not_used(module, &outside);
    }
}

#[test]
fn unsafe_code_is_confined_to_allowed_modules() {
    // The last: fork and signals, for which there are no safe calls.
    let files = ["drive/ioctl.rs", "drive/fcntl.rs", "supervisor/system.rs"];
    let allowed = |path: &str| path.starts_with("engine/") || files.contains(&path);
    for source in source_files()
        .iter()
        .filter(|source| !allowed(&source.path))
    {
        let found = source.lines.iter().find(|line| line.contains("unsafe "));
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

#[test]
fn unwrap_and_expect_are_used_in_tests_only() {
    for source in source_files()
        .iter()
        .filter(|source| !is_test(&source.path))
    {
        let bad = |line: &&String| line.contains(".unwrap()") || line.contains(".expect(");
        let found = source.lines.iter().find(bad);
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

#[test]
fn tests_that_cannot_run_call_skip() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for directory in ["src", "tests"] {
        collect_files(&root.join(directory), &mut files);
    }
    let prints = |line: &str| {
        let line = line.trim_start();
        let said = line.starts_with("println!(\"") || line.starts_with("eprintln!(\"");
        said && ["not tried", "not tested", "skipped"]
            .iter()
            .any(|word| line.contains(word))
    };
    // What prints the list in the end.
    files.retain(|file| !file.ends_with("tests/support/skipped.rs"));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let found = text.lines().find(|line| prints(line));
        assert!(found.is_none(), "{}: {found:?}", file.display());
    }
}

#[test]
fn root_advice_comes_from_privilege_module_only() {
    for source in source_files()
        .iter()
        .filter(|source| source.path != "privilege.rs")
    {
        let found = source.lines.iter().find(|line| {
            let line = line.to_lowercase();
            ["as root", "become root", "use sudo\"", "run it with sudo"]
                .iter()
                .any(|words| line.contains(words))
                // What a text file about the program says is read by everybody.
                && line.contains('"')
        });
        assert!(
            found.is_none(),
            "{}: {found:?} is said to root too",
            source.path
        );
    }
}
