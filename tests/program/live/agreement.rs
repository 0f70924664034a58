//! `watch` beside iostat, pidstat and iotop-c over the same seconds; and what `watch` itself reads.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::fio::has_fio;
use crate::live::live_sampler::{RunningChild, program_exists};
use crate::loop_device::LoopDevice;
use crate::process::worker_id;

/// Bytes per second of the load.
const RATE: f64 = (16 << 20) as f64;
/// Bytes of each of its requests.
const REQUEST: f64 = (16 << 10) as f64;
/// The programs begin and end their intervals up to 50 ms apart. As the load is steady, what is left is the
/// resolution of their clocks, 10 ms of 5 s.
const TOLERANCE: f64 = 0.005;
/// Pairs of intervals of which one has to agree: beside other tests the load can be held up between two ends.
const ATTEMPTS: usize = 3;

fn start(program: &str, arguments: &[&str]) -> RunningChild {
    let child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    RunningChild(child.unwrap_or_else(|error| panic!("{program}: {error}")))
}

fn output(child: &mut Child) -> String {
    let mut text = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    text
}

/// The number behind a word in the last line that has this word.
fn number_after(text: &str, word: &str) -> f64 {
    let lines = text.lines().rev();
    let mut found = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        words.find(|it| *it == word)?;
        words.find_map(|it| it.parse::<f64>().ok())
    });
    found.next().unwrap_or_else(|| panic!("{word}: {text}"))
}

/// The process of fio that reads: it would outlive the other one.
struct Job(
    i32,
    #[allow(dead_code, reason = "ended when it is dropped")] RunningChild,
);

impl Drop for Job {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_raw(self.0).unwrap(), Signal::KILL);
    }
}

/// One number as `watch` and another program say it.
#[derive(Debug)]
struct Pair {
    what: &'static str,
    own: f64,
    other: f64,
}

impl Pair {
    fn difference(&self) -> f64 {
        (self.own / self.other - 1.0).abs()
    }
}

/// Rates of the load, by all programs over the same 5 s.
fn measure(device: &str, pid: u32) -> Vec<Pair> {
    let process = pid.to_string();
    let own = env!("CARGO_BIN_EXE_diskscope");
    let watch = ["watch", "--json", "--interval", "5s", "--count", "1"];
    let mut watch = start(own, &watch);
    let mut iostat = start("iostat", &["-o", "JSON", "-x", "-y", device, "5", "1"]);
    let mut pidstat = start("pidstat", &["-d", "-p", &process, "5", "1"]);
    let iotop = [
        "-b", "-n", "2", "-d", "5", "-p", &process, "-P", "-k", "-qqq",
    ];
    let mut iotop = program_exists("iotop-c").then(|| start("iotop-c", &iotop));
    let sample: Value = serde_json::from_str(&output(&mut watch.0)).unwrap();
    let iostat: Value = serde_json::from_str(&output(&mut iostat.0)).unwrap();
    let pidstat = output(&mut pidstat.0);
    let row = |list: &str, key: &str, value: &Value| {
        let mut rows = sample[list].as_array().unwrap().iter();
        rows.find(|row| row[key] == *value).unwrap().clone()
    };
    let disk = row("devices", "name", &device.into());
    let load = row("processes", "pid", &pid.into());
    let theirs = &iostat["sysstat"]["hosts"][0]["statistics"][0]["disk"][0];
    let pair = |what, own: &Value, other: f64| Pair {
        what,
        own: own.as_f64().unwrap(),
        other,
    };
    let kib = 1024.0;
    let number = |key: &str| theirs[key].as_f64().unwrap();
    let mut pairs = vec![
        pair("iostat r/s", &disk["read_ios_per_s"], number("r/s")),
        pair(
            "iostat rkB/s",
            &disk["read_bytes_per_s"],
            number("rkB/s") * kib,
        ),
        pair(
            "iostat rareq-sz",
            &disk["read_request_bytes"],
            number("rareq-sz") * kib,
        ),
        pair(
            "pidstat kB_rd/s",
            &load["read_bytes_per_s"],
            number_after(&pidstat, &process) * kib,
        ),
    ];
    if let Some(iotop) = &mut iotop {
        let said = output(&mut iotop.0);
        let rate = number_after(&said, &process) * kib;
        pairs.push(pair("iotop-c DISK READ", &load["read_bytes_per_s"], rate));
    }
    pairs
}

#[test]
fn rates_are_those_of_iostat_pidstat_and_iotop() {
    if !has_fio() || !program_exists("iostat") || !program_exists("pidstat") {
        return;
    }
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let data = memory.path().join("data");
    std::fs::write(&data, vec![7; 64 << 20]).unwrap();
    let Some(device) = LoopDevice::attach(&data, &["--read-only", "--direct-io=on"]) else {
        return;
    };
    let fio = start(
        "fio",
        &[
            "--name=load",
            "--rw=randread",
            "--bs=16k",
            "--direct=1",
            "--ioengine=psync",
            "--rate=16m",
            "--time_based",
            "--runtime=120",
            "--readonly",
            "--allow_file_create=0",
            &format!("--filename={}", device.path()),
        ],
    );
    // Until it is steady.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let load = Job(worker_id(&fio.0).unwrap(), fio);
    let mut last = Vec::new();
    for _ in 0..ATTEMPTS {
        last = measure(device.name(), load.0.unsigned_abs());
        println!("{last:#?}");
        let all = last.iter().all(|pair| pair.difference() <= TOLERANCE);
        // All of them could agree about nothing.
        let is_load = |pair: &Pair| {
            let expected = match pair.what {
                "iostat r/s" => RATE / REQUEST,
                "iostat rareq-sz" => REQUEST,
                _ => RATE,
            };
            (pair.own / expected - 1.0).abs() < 0.1
        };
        if all && last.iter().all(is_load) {
            return;
        }
    }
    panic!("{last:#?}");
}

/// Everything that it reads is in memory. What it writes goes to a pipe.
#[test]
fn watch_itself_reads_nothing_from_a_device() {
    let watch = |count| {
        let own = env!("CARGO_BIN_EXE_diskscope");
        let mut child = start(
            own,
            &["watch", "--json", "--interval", "300ms", "--count", count],
        );
        let pid = child.0.id();
        (pid, output(&mut child.0))
    };
    // The pages of its program are in memory then.
    watch("1");
    let (pid, samples) = watch("10");
    let mut seen = 0;
    for line in samples.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let rows = sample["processes"].as_array().unwrap().iter();
        for row in rows.filter(|row| row["pid"] == pid || row["parent"] == pid) {
            seen += 1;
            assert!(row["asked_read_bytes_per_s"].as_f64() > Some(0.0), "{row}");
            for key in ["read_bytes_per_s", "write_bytes_per_s", "read_total_bytes"] {
                assert_eq!(row[key], 0, "{key}: {row}");
            }
            assert_eq!(row["devices"], Value::Array(Vec::new()), "{row}");
        }
    }
    assert!(seen >= 5, "its own row is in {seen} of 10 samples");
}
