//! The engine on io_uring: one ring and one thread for each worker.

mod queue;
mod ring;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::queue::Queue;
pub use self::ring::Setup;
use super::plan::CacheMode;
use super::run::{self, Maker, Work};
use super::source::Source;
use super::{Control, Engine, EngineError, Outcome, Plan, Snapshot, finish};
use crate::roots::Roots;

/// The engine on io_uring.
#[derive(Debug)]
pub struct Uring {
    source: Source,
    setup: Setup,
    /// Whether requests are `IORING_OP_NOP`.
    nop: bool,
    used: Arc<Used>,
}

/// What the last execution could make use of.
#[derive(Debug, Default)]
struct Used {
    no_file: AtomicBool,
    no_buffers: AtomicBool,
    buffered_writes: AtomicBool,
}

impl Uring {
    /// For a medium.
    ///
    /// # Errors
    /// When this kernel, container or sysctl allows no ring; [`reason`] puts it into words.
    pub fn new(source: Source) -> io::Result<Self> {
        Ok(Self {
            source,
            setup: Setup::probe()?,
            nop: false,
            used: Arc::default(),
        })
    }

    /// The same with `IORING_OP_NOP` in place of reads and writes: nothing reaches the target.
    pub fn without_transfer(self) -> Self {
        Self { nop: true, ..self }
    }
}

/// Why there is no io_uring, one sentence.
#[must_use]
pub fn reason(roots: &Roots, error: &io::Error) -> String {
    let path = roots.proc.join("sys/kernel/io_uring_disabled");
    let switch = std::fs::read_to_string(path).unwrap_or_default();
    match (error.raw_os_error(), switch.trim()) {
        (Some(libc::EPERM), level @ ("1" | "2")) => {
            format!("io_uring is switched off: sysctl kernel.io_uring_disabled is {level}")
        }
        (Some(libc::EPERM | libc::EACCES), _) => {
            "io_uring is forbidden here, probably by the container's seccomp filter".to_owned()
        }
        (Some(libc::ENOSYS), _) => {
            "this kernel has no io_uring, or the container's seccomp filter hides it".to_owned()
        }
        (Some(libc::ENOMEM), _) => {
            "io_uring gets no memory: raise the limit MEMLOCK (ulimit -l)".to_owned()
        }
        (None, _) => "io_uring of this kernel is too old: 5.11 is needed".to_owned(),
        _ => format!("io_uring cannot be set up: {error}"),
    }
}

impl Engine for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.setup.features().to_vec();
        if !self.used.no_file.load(Ordering::Relaxed) {
            features.push("registered-files");
        }
        if !self.used.no_buffers.load(Ordering::Relaxed) {
            features.push("registered-buffers");
        }
        features.into_iter().map(str::to_owned).collect()
    }

    fn reason(&self) -> Option<String> {
        self.used.buffered_writes.load(Ordering::Relaxed).then(|| {
            "the kernel hands buffered writes of io_uring to threads of its own (io-wq): their \
             time includes the hand-over; --engine auto uses write(2)"
                .to_owned()
        })
    }

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        let file: Arc<OwnedFd> = Arc::new(self.source.open(plan)?);
        self.used.no_file.store(false, Ordering::Relaxed);
        self.used.no_buffers.store(false, Ordering::Relaxed);
        if plan.operation.writes() && plan.cache != CacheMode::Bypass {
            self.used.buffered_writes.store(true, Ordering::Relaxed);
        }
        let (setup, nop, used) = (self.setup, self.nop, Arc::clone(&self.used));
        let (source, shared_plan) = (self.source.clone(), plan.clone());
        let lanes_file = Arc::clone(&file);
        let maker: Maker = Arc::new(move |_| {
            let file = Arc::clone(&lanes_file);
            let queue = Queue::new(setup, nop, &shared_plan, &source, file)?;
            // Said once for all workers: what one could not have is not listed.
            used.no_file.fetch_or(!queue.has_file(), Ordering::Relaxed);
            used.no_buffers
                .fetch_or(!queue.has_buffers(), Ordering::Relaxed);
            Ok(Box::new(queue) as Box<dyn Work>)
        });
        let mut outcome = run::execute(plan, 1, &maker, control, &self.source, observe)?;
        drop(maker);
        finish::finish(plan, file, &self.source.medium.target.name, &mut outcome);
        Ok(outcome)
    }
}
