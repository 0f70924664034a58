//! What a sample costs among 2,000 sleeping processes. Run by hand:
//! `cargo test --release --test cost -- --ignored --nocapture`.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diskscope::model::Modeler;
use diskscope::probe::Collector;
use diskscope::roots::Roots;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

const SLEEPERS: usize = 2000;
const DESCRIPTORS: usize = 5000;
const SAMPLES: u32 = 20;

/// Children that do not outlive the test.
struct Herd(Vec<Child>);

impl Drop for Herd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
#[ignore = "starts 2,000 processes; a measurement, not a check of every build"]
fn of_a_sample() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let sleepers = (0..SLEEPERS).map(|_| {
        Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    });
    let mut herd = Herd(sleepers.collect());
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    std::fs::write(&source, vec![7; 64 << 20]).unwrap();
    // This process has many descriptors and moves bytes all the time; a copy runs beside it.
    let open: Vec<File> = (0..DESCRIPTORS)
        .map(|_| File::open(&source).unwrap())
        .collect();
    let copy = Command::new("dd")
        .arg(format!("if={}", source.display()))
        .args(["of=/dev/null", "bs=16", "status=none"])
        .spawn()
        .unwrap();
    herd.0.push(copy);

    let mut collector = Collector::new(Roots::default());
    let mut modeler = Modeler::default();
    modeler.update(Arc::new(collector.collect()));
    modeler.update(Arc::new(collector.collect()));
    let (mut collecting, mut modelling, mut worst) =
        (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let began = Instant::now();
    let mut last = None;
    for index in 0..SAMPLES {
        std::thread::sleep(
            (began + Duration::from_millis(200) * index).saturating_duration_since(Instant::now()),
        );
        std::fs::read(&source).unwrap();
        let before = cpu();
        let sample = Arc::new(collector.collect());
        let between = cpu();
        last = Some(modeler.update(sample));
        let after = cpu();
        collecting += between - before;
        modelling += after - between;
        worst = worst.max(after - before);
    }
    let live = last.unwrap();
    println!(
        "{} processes, {} transfers: collect {:?}, model {:?}, worst {worst:?} a sample",
        live.process_count,
        live.transfers.len(),
        collecting / SAMPLES,
        modelling / SAMPLES,
    );
    drop(open);
    assert!(live.process_count >= SLEEPERS);
}
