//! Files as they should be, to be damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diskscope::model::live::DeviceView;
use diskscope::model::{Live, Modeler};
use diskscope::recording::{Mark, Recorder};
use diskscope::session::document::Session;
use diskscope::session::store::{self, Journal};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The content of all files below a directory of the repository that are wanted.
pub fn below(directory: &str, wanted: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    collect(&root().join(directory), &mut files);
    files.sort();
    let contents: Vec<_> = files
        .iter()
        .filter(|path| wanted(&path.to_string_lossy()))
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(!contents.is_empty(), "{directory}");
    contents
}

/// All files below a directory; links are not followed.
pub fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// A journal with two runs, one of them in two states.
pub fn journal() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let load = |name: &str| store::load(&root().join("tests/sessions").join(name)).unwrap();
    let sessions = ["nvme-random.json", "hdd-sequential.json"].map(load);
    let empty = Session {
        runs: Vec::new(),
        ..sessions[0].clone()
    };
    let mut journal = Journal::create(directory.path(), "seed", &empty).unwrap();
    for session in [&sessions[0], &sessions[0], &sessions[1]] {
        journal.append(&session.runs[0]).unwrap();
    }
    fs::read(directory.path().join("seed.journal")).unwrap()
}

/// A request as `trace --json` prints it.
const REQUEST: &[u8] =
    b"{\"time_ns\":100,\"pid\":4711,\"command\":\"dd\",\"charged\":\"submitter\",\
\"submitter_pid\":9,\"submitter\":\"kworker/u8:1\",\"device\":\"sda\",\"operation\":\"write\",\
\"flags\":\"WS\",\"sector\":2048,\"bytes\":4096,\"q2g_ns\":null,\"g2i_ns\":null,\"i2d_ns\":null,\
\"d2c_ns\":null,\"q2c_ns\":400,\"q2d_ns\":null,\"merged\":1,\"split\":false,\"requeued\":0,\
\"from\":\"8:1 0\",\"error\":0}\n";

/// A recording of four views and some requests.
pub fn recording() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seed.rec");
    let mut recorder = Recorder::create(&path, None).unwrap();
    for index in 0..4 {
        recorder.view(&view(index)).unwrap();
        let mark = Mark {
            time_ms: index,
            bytes_per_s: None,
        };
        recorder.requests(mark, REQUEST).unwrap();
    }
    recorder.finish(5, "enough").unwrap();
    fs::read(path).unwrap()
}

fn view(index: u64) -> Live {
    let mut live = Modeler::default().update(Arc::default());
    live.time = format!("2026-01-02T03:04:0{index}Z").into();
    live.devices = vec![DeviceView {
        name: "sda".into(),
        read_bytes_per_s: Some(index as f64),
        ..DeviceView::default()
    }];
    live
}
