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

/// What the kernel tells the write guard: a table of device-mapper behind the number of its lines,
/// locks, mappings, an export.
pub fn guard() -> Vec<Vec<u8>> {
    let mut table = vec![2];
    for (next, parameters) in [(56_u32, "8:2 2048"), (112, "8:2 4096")] {
        let begin = table.len();
        table.extend([0; 8]);
        table.extend(100_u64.to_ne_bytes());
        table.extend([0; 4]);
        table.extend(next.to_ne_bytes());
        table.extend(b"linear\0\0\0\0\0\0\0\0\0\0");
        table.extend(parameters.as_bytes());
        table.resize(begin + 56, 0);
    }
    let texts = [
        "1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF\nlock:\t1: OFDLCK ADVISORY  READ -1 fd:0a:2531452 100 201\n",
        "7f0000000000-7f0000001000 rw-s 00000000 fe:00 1234   /srv/image\n",
        "Status: ACTIVATED\n        TCM FILEIO ID: 0        File: /srv/image  Size: 1048576  Mode: O_DSYNC\n",
    ];
    let texts = texts.map(|text| text.as_bytes().to_vec());
    texts.into_iter().chain([table]).collect()
}

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
        recorder.requests(mark, b"{\"sector\":1}\n").unwrap();
    }
    recorder.finish(5, "enough").unwrap();
    fs::read(path).unwrap()
}

fn view(index: u64) -> Live {
    let mut live = Modeler::default().update(Arc::default());
    live.time = format!("2026-01-02T03:04:0{index}Z");
    live.devices = vec![DeviceView {
        name: "sda".to_owned(),
        read_bytes_per_s: Some(index as f64),
        ..DeviceView::default()
    }];
    live
}
