//! A loop that keeps a queue of random reads full, as the engine does, with one idea or none.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use io_uring::types::{Fixed, SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::idea::LoopSettings;

const DURATION: Duration = Duration::from_millis(100);
const BLOCK: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;
/// `user_data` of the timeout.
const TIMEOUT: u64 = u64::MAX;

/// What one run measured.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub iops: f64,
    pub cpu_ns_per_request: f64,
    pub p50_ns: f64,
    pub requests_per_call: f64,
}

/// Runs on a thread of its own, for a processor that it may be pinned to.
pub fn run(path: &Path, settings: LoopSettings) -> Run {
    let path = path.to_owned();
    let thread = std::thread::spawn(move || RingLoop::new(&path, settings).run());
    thread.join().unwrap()
}

struct RingLoop {
    settings: LoopSettings,
    /// Declared before what it uses.
    ring: IoUring,
    _file: std::fs::File,
    buffers: Buffers,
    timeout: Box<Timespec>,
    blocks: u64,
    free: Vec<u16>,
    started: Vec<u64>,
    sequence: u64,
    staged: Vec<squeue::Entry>,
    histogram: Histogram<u64>,
    origin: Instant,
}

impl RingLoop {
    fn new(path: &Path, settings: LoopSettings) -> Self {
        if let Some(processor) = settings.processor {
            let mut set = rustix::thread::CpuSet::new();
            set.set(processor);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
        }
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(path)
            .unwrap();
        let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).unwrap();
        let mut builder = IoUring::builder();
        if settings.deferred_completions {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if settings.no_index_array {
            builder.setup_no_sqarray();
        }
        let ring: IoUring = builder
            .build((settings.depth as u32 + 1).next_power_of_two())
            .unwrap();
        let buffers = Buffers::new(settings.depth * BLOCK, settings.huge_pages);
        let mut submitter = ring.submitter();
        submitter.register_files(&[file.as_raw_fd()]).unwrap();
        let memory = libc::iovec {
            iov_base: buffers.start.cast(),
            iov_len: settings.depth * BLOCK,
        };
        // SAFETY: the ring is dropped before the buffers.
        unsafe { submitter.register_buffers(&[memory]) }.unwrap();
        if settings.registered_ring {
            submitter.register_ring_fd().unwrap();
        }
        let mut histogram = Histogram::new_with_bounds(1, 1 << 40, 3).unwrap();
        histogram.auto(true);
        Self {
            ring,
            _file: file,
            buffers,
            timeout: Box::new(settings.timeout.into()),
            blocks: size / BLOCK as u64,
            free: (0..settings.depth as u16).rev().collect(),
            started: vec![0; settings.depth],
            sequence: 0,
            staged: Vec::with_capacity(settings.depth),
            histogram,
            origin: Instant::now(),
            settings,
        }
    }

    fn run(mut self) -> Run {
        if self.settings.multishot_timeout {
            let entry = opcode::Timeout::new(&*self.timeout)
                .flags(TimeoutFlags::MULTISHOT)
                .build();
            // SAFETY: the timeout lives as long as the ring.
            unsafe { self.ring.submission().push(&entry.user_data(TIMEOUT)) }.unwrap();
        }
        self.origin = Instant::now();
        let cpu_before = thread_time_ns();
        let mut calls = 0_u64;
        loop {
            let is_over = self.origin.elapsed() >= DURATION;
            if is_over && self.free.len() == self.settings.depth {
                break;
            }
            if !is_over {
                self.fill();
            }
            let want = match (is_over, self.free.is_empty()) {
                (true, _) => 1,
                (false, true) => self.settings.wait_for,
                (false, false) => 0,
            };
            self.enter(want);
            calls += 1;
            self.reap();
        }
        let cpu_ns = thread_time_ns() - cpu_before;
        let requests = self.histogram.len() as f64;
        Run {
            iops: requests / self.origin.elapsed().as_secs_f64(),
            cpu_ns_per_request: cpu_ns as f64 / requests,
            p50_ns: self.histogram.value_at_quantile(0.5) as f64,
            requests_per_call: requests / calls as f64,
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn fill(&mut self) {
        let now = self.elapsed_ns();
        for _ in 0..self.settings.submit_batch {
            let Some(slot) = self.free.pop() else {
                break;
            };
            let entry = self.entry(slot);
            self.started[usize::from(slot)] = now;
            if self.settings.write_at_once {
                self.staged.push(entry);
            } else {
                // SAFETY: the slot's buffer is used by this request only, and outlives the ring.
                unsafe { self.ring.submission().push(&entry) }.unwrap();
            }
        }
        // SAFETY: as above.
        unsafe { self.ring.submission().push_multiple(&self.staged) }.unwrap();
        self.staged.clear();
    }

    /// A read at a random address (SplitMix64, as the engine has it).
    fn entry(&mut self, slot: u16) -> squeue::Entry {
        self.sequence += 1;
        let mut hash = self.sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^= hash >> 31;
        let block = (u128::from(hash) * u128::from(self.blocks)) >> 64;
        let buffer = self.buffers.start.wrapping_add(usize::from(slot) * BLOCK);
        opcode::ReadFixed::new(Fixed(0), buffer, BLOCK as u32, 0)
            .offset(block as u64 * BLOCK as u64)
            .build()
            .user_data(u64::from(slot))
    }

    fn enter(&mut self, want: usize) {
        if self.settings.separate_wait && want > 0 {
            self.ring.submit().unwrap();
            if !self.ring.completion().is_empty() {
                return;
            }
        }
        let submitter = self.ring.submitter();
        let result = if self.settings.multishot_timeout {
            submitter.submit_and_wait(want)
        } else {
            let arguments = SubmitArgs::new().timespec(&self.timeout);
            submitter.submit_with_args(want, &arguments)
        };
        if let Err(error) = result {
            let number = error.raw_os_error().unwrap();
            let expected = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
            assert!(expected.contains(&number), "{error}");
        }
    }

    fn reap(&mut self) {
        let completions = self.ring.completion();
        if completions.is_empty() {
            return;
        }
        let now = self.origin.elapsed().as_nanos() as u64;
        let (mut last, mut count) = (0, 0);
        for completion in completions {
            if completion.user_data() == TIMEOUT {
                continue;
            }
            assert_eq!(completion.result(), BLOCK as i32);
            let slot = completion.user_data() as u16;
            let latency = now - self.started[usize::from(slot)];
            if !self.settings.record_together {
                self.histogram.record(latency).unwrap();
            } else if latency == last {
                count += 1;
            } else {
                self.histogram.record_n(last.max(1), count).unwrap();
                (last, count) = (latency, 1);
            }
            self.free.push(slot);
        }
        self.histogram.record_n(last.max(1), count).unwrap();
    }
}

/// Memory for the requests.
struct Buffers {
    base: *mut u8,
    mapped: usize,
    /// Where the buffers begin, in a page of the kind that was asked for.
    start: *mut u8,
}

impl Buffers {
    fn new(length: usize, huge: bool) -> Self {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let mapped = length.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping; it is advised and written within its bounds.
        unsafe {
            let base = mmap_anonymous(null_mut(), mapped, access, MapFlags::PRIVATE).unwrap();
            let start = base.byte_add(base.align_offset(HUGE_PAGE));
            let advice = match huge {
                true => Advice::LinuxHugepage,
                false => Advice::LinuxNoHugepage,
            };
            madvise(start, length.next_multiple_of(HUGE_PAGE), advice).unwrap();
            std::ptr::write_bytes(start.cast::<u8>(), 1, length);
            Self {
                base: base.cast(),
                mapped,
                start: start.cast(),
            }
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `new`, which nothing refers to any more.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.mapped) };
    }
}

/// Processor time of this thread.
fn thread_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
