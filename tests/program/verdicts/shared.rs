//! Drives and processors that are shared with others.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::verdicts::sandbox::{Run, VerdictSandbox};

/// Threads of this process that do something until they are dropped.
struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start_threads(count: usize, work: impl FnMut() + Send + Clone + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |_| {
            let stop = Arc::clone(&stop);
            let mut work = work.clone();
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    work();
                }
            })
        };
        let threads = (0..count).map(thread).collect();
        Self { stop, threads }
    }

    /// Reads a device again and again, past the page cache.
    fn start_readers(device: &str) -> io::Result<Self> {
        const READ_BYTES: usize = 1 << 18;
        let file = File::options()
            .read(true)
            .custom_flags(rustix::fs::OFlags::DIRECT.bits().cast_signed())
            .open(device)?;
        let file = Arc::new(file);
        Ok(Self::start_threads(1, move || {
            // A buffer on a page of its own: the kernel reads into it directly.
            let mut buffer = vec![0_u8; READ_BYTES + 4096];
            let skip = buffer.as_ptr().align_offset(4096);
            for piece in 0..16 {
                let part = &mut buffer[skip..skip + READ_BYTES];
                file.read_exact_at(part, piece * READ_BYTES as u64).unwrap();
            }
        }))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn competing_process_on_same_device_is_named() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    let busy = Busy::start_readers(disk.path()).unwrap();
    let words = [
        "random-read",
        disk.path(),
        "--depth",
        "1",
        "--duration",
        "1s",
    ];
    let run = sandbox.run_benchmark(&words);
    drop(busy);
    let own = std::process::id().to_string();
    run.assert_check("other-users", &["of reads for other processes", &own]);
    let alone = sandbox.run_benchmark(&words);
    assert!(
        !alone.check_codes().contains(&"other-users"),
        "{:?}",
        alone.check_codes()
    );
}

#[test]
fn saturated_processors_are_flagged() {
    let count = thread::available_parallelism().unwrap().get();
    let busy = Busy::start_threads(count, || {
        std::hint::black_box((0..10_000).fold(0_u64, |sum, number| sum ^ number));
    });
    let sandbox = VerdictSandbox::new();
    let target = sandbox.create_random_file("file", 16 << 20);
    let words = [
        "random-read",
        target.to_str().unwrap(),
        "--depth",
        "1",
        "--duration",
        "1s",
    ];
    let run = sandbox.run_benchmark(&words);
    drop(busy);
    run.assert_check("machine-busy", &["CPUs was"]);
}

#[test]
fn cpu_bound_load_generator_is_flagged() {
    let sandbox = VerdictSandbox::new();
    let path = sandbox.create_random_file("file", 16 << 20);
    // All in memory: there is nothing to wait for.
    assert_eq!(std::fs::read(&path).unwrap().len(), 16 << 20);
    let words = [
        "random-read",
        path.to_str().unwrap(),
        "--engine",
        "pread",
        "--depth",
        "1",
    ];
    let words = [&words[..], &["--cache", "keep", "--duration", "1s"]].concat();
    let message = |run: Run| {
        // Without a processor of its own it waits for that one, which is the other verdict.
        let codes = ["generator-busy", "machine-busy"];
        run.check_codes().iter().any(|code| codes.contains(code))
    };
    // The host of this machine may take its processors away at any time.
    assert!((0..5).any(|_| message(sandbox.run_benchmark_high_priority(&words))));
}
