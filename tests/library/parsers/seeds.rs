//! Files as they should be, to be damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diskscope::recording::{FileRecorder, Recorder, TriggerRecord};
use diskscope::session::document::Session;
use diskscope::session::store::{self, Journal};
use diskscope::snapshot::view::DeviceView;
use diskscope::snapshot::{Snapshot, ViewBuilder, snapshot_line};

pub fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The content of all files below a directory of the repository that are wanted.
pub fn seed_files(directory: &str, wanted: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    collect_files(&repository_root().join(directory), &mut files);
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
pub fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect_files(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// A journal with two runs, one of them in two states.
pub fn journal_seed() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let load = |name: &str| {
        store::load_session(&repository_root().join("tests/sessions").join(name)).unwrap()
    };
    let sessions = ["nvme-random.json", "hdd-sequential.json"].map(load);
    let empty = Session {
        note: None,
        runs: Vec::new(),
        ..sessions[0].clone()
    };
    let mut journal = Journal::create(directory.path(), "seed", &empty).unwrap();
    for session in [&sessions[0], &sessions[0], &sessions[1]] {
        journal.append_progress(&session.runs[0]).unwrap();
    }
    fs::read(directory.path().join("seed.journal")).unwrap()
}

/// A request as `trace --json` prints it.
const REQUEST_LINE: &[u8] =
    b"{\"time_ns\":100,\"pid\":4711,\"command\":\"dd\",\"charged\":\"submitter\",\
\"submitter_pid\":9,\"submitter\":\"kworker/u8:1\",\"device\":\"sda\",\"operation\":\"write\",\
\"flags\":\"WS\",\"sector\":2048,\"bytes\":4096,\"q2g_ns\":null,\"g2i_ns\":null,\"i2d_ns\":null,\
\"d2c_ns\":null,\"q2c_ns\":400,\"q2d_ns\":null,\"merged\":1,\"split\":false,\"requeued\":0,\
\"from\":\"8:1 0\",\"error\":0}\n";

/// The family of taskstats in [`netlink_seeds`]; the kernel numbers its families when it starts.
pub const FAMILY: u16 = 0x1c;

/// A datagram of taskstats with the reply for a process, and one with the records of two threads
/// that have ended (linux/netlink.h, linux/genetlink.h, linux/taskstats.h of Linux 6.6).
pub fn netlink_seeds() -> Vec<Vec<u8>> {
    const TGID: u16 = 2;
    const STATS: u16 = 3;
    const AGGREGATE_OF_THREAD: u16 = 4;
    const AGGREGATE_OF_PROCESS: u16 = 5;
    let mut stats = vec![0; 432];
    stats[..2].copy_from_slice(&14_u16.to_ne_bytes());
    stats[32..40].copy_from_slice(&7_u64.to_ne_bytes());
    stats[80..82].copy_from_slice(b"dd");
    let process = |pid: u32| {
        let id = netlink_attribute(TGID, &pid.to_ne_bytes());
        [id, netlink_attribute(STATS, &stats)].concat()
    };
    let thread = |pid: u32| {
        let mut stats = stats.clone();
        stats[368..372].copy_from_slice(&pid.to_ne_bytes());
        netlink_attribute(STATS, &stats)
    };
    let reply = netlink_attribute(AGGREGATE_OF_PROCESS, &process(4711));
    let ended = [4711, 4712].map(|pid| netlink_attribute(AGGREGATE_OF_THREAD, &thread(pid)));
    let ended = ended.map(|payload| netlink_message(&payload)).concat();
    vec![netlink_message(&reply), ended]
}

fn netlink_attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (4 + value.len()) as u16;
    let mut attribute = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    attribute.extend(value);
    attribute
}

fn netlink_message(payload: &[u8]) -> Vec<u8> {
    let length = 20 + payload.len() as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(FAMILY.to_ne_bytes());
    message.extend([0; 14]);
    message.extend(payload);
    message
}

/// Command lines of programs that copy.
pub fn command_line_seeds() -> Vec<Vec<u8>> {
    [
        "cp -rt /srv/backup --preserve=all /home/a /home/b",
        "rsync -a --exclude=*.o -e ssh /srv/www/ host:/srv/www",
        "tar -C /srv -czf /mnt/www.tar.gz www",
        "install -m 644 -t /usr/lib a.so",
        "dd if=/dev/sda of=/srv/sda.raw bs=1M count=4k skip=8B iflag=count_bytes,skip_bytes",
        "cp -- .vm7.raw.Ab3xYz vm7.raw",
    ]
    .map(|line| (line.replace(' ', "\0") + "\0").into_bytes())
    .into()
}

/// A table of device-mapper behind the number of its lines.
pub fn guard_seeds() -> Vec<Vec<u8>> {
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
    vec![table]
}

/// Counters and limits of control groups, state files of containers, status of volumes.
pub fn unit_and_volume_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n7:0 \n",
        "254:0 Read 410\n254:0 Write 541\nTotal 951\n254:0 Read 4\n7:1 Write 5\nTotal 9\n",
        "8:16 rbps=2097152 wbps=max riops=max wiops=120\n",
        "{\"Name\":\"/shop-db\"}",
        "{\"annotations\":{\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.pod.name\":\"db\"}}",
        "[{\"id\":\"0123456789ab\",\"names\":[\"web\"]}]",
    ];
    let status = |target_type: &str, parameters: &str| {
        let mut answer = vec![1];
        answer.extend([0; 8]);
        answer.extend(81_920_u64.to_ne_bytes());
        answer.extend([0; 4]);
        answer.extend(96_u32.to_ne_bytes());
        let mut name = target_type.as_bytes().to_vec();
        name.resize(16, 0);
        answer.extend(name);
        answer.extend(parameters.as_bytes());
        answer.resize(97, 0);
        answer
    };
    let volumes = [status("mirror", "2 253:3 253:4 20/80 1 AA 1 core")];
    let texts = texts.map(|text| text.as_bytes().to_vec());
    texts.into_iter().chain(volumes).collect()
}

/// A recording of four views and some requests.
pub fn recording_seed() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seed.rec");
    let mut recorder = FileRecorder::create(&path, None).unwrap();
    for index in 0..4 {
        recorder.append_snapshot(&seed_snapshot(index)).unwrap();
        recorder.append(REQUEST_LINE).unwrap();
    }
    recorder.end().unwrap();
    fs::read(path).unwrap()
}

/// Lines of a recording: a trigger, requests and views.
pub fn recorded_lines_seed() -> Vec<u8> {
    let mut trigger = TriggerRecord::default();
    trigger.first.time = "2026-01-01T00:00:00Z".into();
    trigger.first.condition = "await(sda)>50ms".into();
    let mut lines = serde_json::to_vec(&trigger).unwrap();
    lines.push(b'\n');
    for index in 0..2 {
        lines.extend(REQUEST_LINE);
        lines.extend(snapshot_line(&seed_snapshot(index)).unwrap().as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn seed_snapshot(index: u64) -> Snapshot {
    let mut live = ViewBuilder::default().update(Arc::default());
    live.time = format!("2026-01-02T03:04:0{index}Z").into();
    live.devices = vec![DeviceView {
        name: "sda".into(),
        read_bytes_per_s: Some(index as f64),
        ..DeviceView::default()
    }];
    live
}

/// The first sector of an MBR with a logical partition, and a GPT; each with a file system.
pub fn media_seeds() -> Vec<Vec<u8>> {
    let size = 512 << 10;
    let number = |bytes: &mut [u8], at: usize, value: u32| {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    let mut dos = vec![0; size];
    for (sector, entries) in [
        (0, [(0x83, 64, 128), (0x05, 256, 512)]),
        (256, [(0x83, 8, 100), (0, 0, 0)]),
    ] {
        let record = sector * 512;
        dos[record + 510..record + 512].copy_from_slice(&[0x55, 0xaa]);
        for (index, (kind, start, count)) in entries.into_iter().enumerate() {
            let entry = record + 446 + index * 16;
            dos[entry + 4] = kind;
            number(&mut dos, entry + 8, start);
            number(&mut dos, entry + 12, count);
        }
    }
    dos[64 * 512 + 0x438..][..2].copy_from_slice(&[0x53, 0xef]);
    dos[264 * 512 + 512..][..8].copy_from_slice(b"LABELONE");
    let mut gpt = vec![0; size];
    gpt[512..520].copy_from_slice(b"EFI PART");
    number(&mut gpt, 512 + 72, 2);
    number(&mut gpt, 512 + 80, 128);
    number(&mut gpt, 512 + 84, 128);
    for (index, start) in [64_u32, 512].into_iter().enumerate() {
        let entry = 1024 + index * 128;
        gpt[entry..entry + 16].fill(7);
        number(&mut gpt, entry + 32, start);
        number(&mut gpt, entry + 40, start + 200);
    }
    gpt[64 * 512..][..6].copy_from_slice(b"LUKS\xba\xbe");
    vec![dos, gpt]
}
