//! The structure of the sources: who may use whom, and which interfaces are used where.

mod imports;
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use self::imports::ImportGraph;
use self::sources::{ModulePath, rust_files, source_files};

/// The top-level modules from the lowest layer to the highest. A module uses modules of lower layers
/// only: those of its own layer do not know each other.
const LAYERS: &[&[&str]] = &[
    &["stats", "text", "units"],
    &["files"],
    &["roots"],
    &["time"],
    &["session"],
    &["drive"],
    &["engine", "probe"],
    &["bench", "trace", "transfers"],
    &["snapshot"],
    &["columns", "why"],
    &["alerts"],
    &["recording", "report"],
    &["run"],
    &["tui"],
    &["cli"],
];

/// Uses that the layers would permit and the design does not: module, and what it must not know.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("drive", &["session"]),
    ("engine", &["session"]),
    ("probe", &["session"]),
    ("trace", &["session"]),
    ("snapshot", &["bench", "engine", "session"]),
    ("transfers", &["engine", "session"]),
    ("bench", &["probe"]),
    ("alerts", &["bench", "engine"]),
    ("why", &["bench", "engine", "session"]),
    ("recording", &["bench", "engine", "session"]),
    ("report", &["engine"]),
    ("app", &["probe", "report"]),
    ("ui", &["run", "engine", "probe", "recording"]),
];

/// The layer of a file: `app` and `ui` are parts of the interface, and only their files are kept from
/// importing each other in cycles.
fn layered_module(file: &ModulePath) -> Option<String> {
    match file.first()?.as_str() {
        "app" | "ui" => Some("tui".to_owned()),
        module => Some(module.to_owned()),
    }
}

fn layer(module: &str) -> usize {
    let at = LAYERS.iter().position(|layer| layer.contains(&module));
    at.unwrap_or_else(|| panic!("module {module} is in no layer"))
}

fn name(module: &ModulePath) -> String {
    module.join("::")
}

#[test]
fn files_do_not_import_each_other_in_cycles() {
    let graph = ImportGraph::new(&source_files());
    let cycles: Vec<String> = graph
        .cycles()
        .iter()
        .map(|files| {
            let uses = files.iter().map(|file| {
                let used = graph.uses[file]
                    .iter()
                    .filter(|(used, _)| files.contains(used));
                let used: Vec<String> = used
                    .map(|(used, names)| format!("{} {names:?}", name(used)))
                    .collect();
                format!("{} uses {}", name(file), used.join(", "))
            });
            uses.collect::<Vec<_>>().join("\n    ")
        })
        .collect();
    assert!(cycles.is_empty(), "cycles:\n{}", cycles.join("\n"));
}

#[test]
fn modules_use_lower_layers_only() {
    let graph = ImportGraph::new(&source_files());
    let mut known = BTreeSet::new();
    for (file, uses) in &graph.uses {
        let Some(module) = layered_module(file) else {
            continue;
        };
        known.insert(module.clone());
        let top = name(&file[..1].to_vec());
        known.insert(top.clone());
        for (used, names) in uses {
            let Some(below) = layered_module(used).filter(|below| *below != module) else {
                continue;
            };
            let forbidden = FORBIDDEN
                .iter()
                .any(|(from, to)| *from == top && to.contains(&below.as_str()));
            assert!(
                layer(&below) < layer(&module) && !forbidden,
                "{} uses {} {names:?}",
                name(file),
                name(used)
            );
        }
    }
    // A module that no longer exists must not stay in the lists.
    let listed = LAYERS
        .iter()
        .copied()
        .flatten()
        .chain(FORBIDDEN.iter().map(|(from, _)| from));
    for module in listed {
        assert!(known.contains(*module), "there is no module {module}");
    }
}

#[test]
fn import_graph_sees_uses_of_all_kinds() {
    let graph = ImportGraph::new(&source_files());
    let uses = |from: &str, to: &str, used: &str| {
        let path = |text: &str| text.split("::").map(str::to_owned).collect::<ModulePath>();
        let names = graph.uses[&path(from)].get(&path(to));
        names.is_some_and(|names| names.contains(used))
    };
    // An import through a re-export, and a use by path without an import.
    assert!(uses(
        "run::recorded_run",
        "bench::framework::run",
        "run_benchmark"
    ));
    assert!(uses(
        "bench::suites::survey",
        "bench::framework::metric_families",
        "MetricFamily"
    ));
    assert!(uses(
        "drive::guard::watch",
        "drive::guard::permit",
        "WritePermit"
    ));
}

/// Lines of a module that hold one of these words.
fn forbidden_lines(module: &str, words: &[&str]) -> Vec<String> {
    let sources = source_files();
    let inside = sources
        .iter()
        .filter(|(path, _)| path.first().is_some_and(|first| first == module));
    let mut found = Vec::new();
    let mut files = 0;
    for (_, source) in inside {
        files += 1;
        let bad = |line: &&String| words.iter().any(|word| line.contains(word));
        let lines = source.lines.iter().filter(bad);
        found.extend(lines.map(|line| format!("{}: {}", source.path, line.trim())));
    }
    assert!(files > 0, "there is no module {module}");
    found
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
fn terminal_libraries_are_used_by_the_interface_only() {
    let below = [
        "probe",
        "snapshot",
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
    for module in ["snapshot", "app", "stats", "units"] {
        assert_not_used(module, &outside);
    }
}

#[test]
fn unsafe_code_is_confined_to_allowed_modules() {
    let files = [
        // Between fork and exec of a command.
        "alerts/command.rs",
        "drive/extents.rs",
        "drive/ioctl.rs",
        "drive/fcntl.rs",
        "probe/process/io_priority.rs",
        "probe/process/file_pages.rs",
        // File handles and calls of single file systems, each with a structure of its own.
        "probe/btrfs.rs",
        "probe/file_handle.rs",
        // Fork and signals, for which there are no safe calls.
        "files/supervisor/system.rs",
    ];
    let allowed = |path: &str| path.starts_with("engine/") || files.contains(&path);
    for source in source_files()
        .values()
        .filter(|source| !allowed(&source.path))
    {
        let found = source.lines.iter().find(|line| line.contains("unsafe "));
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

#[test]
fn unwrap_and_expect_are_used_in_tests_only() {
    for source in source_files().values() {
        let bad = |line: &&String| line.contains(".unwrap()") || line.contains(".expect(");
        let found = source.lines.iter().find(bad);
        assert!(found.is_none(), "{}: {found:?}", source.path);
    }
}

#[test]
fn tests_that_cannot_run_call_skip() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = rust_files(&root.join("src"));
    files.extend(rust_files(&root.join("tests")));
    let prints = |line: &str| {
        let line = line.trim_start();
        let message = line.starts_with("println!(\"") || line.starts_with("eprintln!(\"");
        message
            && ["not tried", "not tested", "skipped"]
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
fn root_advice_comes_from_one_function_only() {
    for source in source_files()
        .values()
        .filter(|source| source.path != "text.rs")
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
