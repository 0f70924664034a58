//! The interface in a terminal, and a benchmark that is run with its keys.

use std::path::{Path, PathBuf};

use diskscope::bench;

use crate::pty::PtyTerminal;

/// A directory of the build, on whose file system direct I/O is likely.
pub fn state_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn start_diskscope(arguments: &[&str], directory: &Path) -> PtyTerminal {
    let program = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    PtyTerminal::start(program, arguments, directory)
}

/// From the Live screen: random reads in a scratch file of 64 MiB for that long.
pub fn start_benchmark(terminal: &mut PtyTerminal, duration: &str) {
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("b");
    terminal.wait_for_text("scratch-size");
    terminal.send_keys("\t\t\r\x1564MiB\r");
    terminal.wait_for_text("64MiB");
    // The first row is the size of the scratch file.
    let down = "j".repeat(1 + benchmark_position("random-read", "duration"));
    terminal.send_keys(&format!("{down}\r\x15{duration}\r"));
    terminal.wait_for_text("fills a scratch file of 64 MiB first");
    terminal.send_keys("s");
}

/// The place of a parameter among those of its benchmark that the form shows.
pub fn benchmark_position(test: &str, name: &str) -> usize {
    let parameters = bench::find_benchmark(test)
        .unwrap()
        .description()
        .parameters;
    // Shown with the zipf pattern only.
    let is_hidden = |name: &str| name == "zipf";
    parameters
        .iter()
        .filter(|parameter| !is_hidden(parameter.name()))
        .position(|parameter| parameter.name() == name)
        .unwrap()
}

/// The one document that was exported; nothing else is left in the directory but the state.
pub fn exported_file(directory: &Path) -> PathBuf {
    let names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("state"))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names[0].clone()
}
