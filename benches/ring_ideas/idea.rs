//! The ideas, and what each changes in the loop.

use std::time::Duration;

/// How the loop submits and waits.
#[derive(Debug, Clone, Copy)]
pub struct LoopSettings {
    /// Requests in flight.
    pub depth: usize,
    /// Requests per submission at most.
    pub submit_batch: usize,
    /// Completions that a full queue waits for.
    pub wait_for: usize,
    /// The longest wait of a system call.
    pub timeout: Duration,
    /// A timeout that repeats, instead of one with each system call.
    pub multishot_timeout: bool,
    /// One system call submits, another one waits.
    pub separate_wait: bool,
    /// The ring's descriptor is registered.
    pub registered_ring: bool,
    /// Buffers in huge pages.
    pub huge_pages: bool,
    /// The processor that the thread stays on.
    pub processor: Option<usize>,
    /// The tail of the submission queue is written once per batch.
    pub write_at_once: bool,
    /// Without the array of indices of the submission queue (Linux 6.6).
    pub no_index_array: bool,
    /// Equal latencies of a batch are recorded together.
    pub record_together: bool,
    /// SINGLE_ISSUER and DEFER_TASKRUN.
    pub deferred_completions: bool,
}

impl LoopSettings {
    /// The loop without any idea: what the engine did first.
    pub fn new(depth: usize) -> Self {
        Self {
            depth,
            submit_batch: (depth / 8).clamp(1, 8),
            wait_for: 1,
            timeout: Duration::from_millis(20),
            multishot_timeout: false,
            separate_wait: false,
            registered_ring: false,
            huge_pages: false,
            processor: None,
            write_at_once: false,
            no_index_array: false,
            record_together: false,
            deferred_completions: true,
        }
    }
}

/// A change of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idea {
    None,
    /// The same once more: the noise.
    Again,
    MultishotTimeout,
    RegisteredRing,
    HugePages,
    Pinned,
    WriteAtOnce,
    NoIndexArray,
    RecordTogether,
    Interrupts,
    SeparateWait,
    SubmitBatch(usize),
    WaitFor(usize),
    /// So many completions, for at most 200 us.
    WaitBrieflyFor(usize),
    /// So many completions, with a timeout that repeats every millisecond.
    WaitInTicksFor(usize),
}

impl Idea {
    /// Those that make sense at a depth; the first is none.
    pub fn at_depth(depth: usize) -> Vec<Self> {
        let mut ideas = vec![
            Self::None,
            Self::Again,
            Self::MultishotTimeout,
            Self::RegisteredRing,
            Self::HugePages,
            Self::Pinned,
            Self::NoIndexArray,
            Self::Interrupts,
            Self::SeparateWait,
        ];
        if depth > 1 {
            ideas.extend([Self::WriteAtOnce, Self::RecordTogether]);
            let sizes = [2, 4, 8, 16, 32];
            let sizes = sizes.into_iter().filter(|size| *size <= depth / 4);
            ideas.extend(sizes.clone().map(Self::SubmitBatch));
            ideas.extend(sizes.clone().map(Self::WaitFor));
            ideas.extend(sizes.clone().map(Self::WaitBrieflyFor));
            ideas.extend(sizes.map(Self::WaitInTicksFor));
        }
        ideas
    }

    pub fn apply(self, mut settings: LoopSettings) -> LoopSettings {
        match self {
            Self::None | Self::Again => {}
            Self::MultishotTimeout => settings.multishot_timeout = true,
            Self::RegisteredRing => settings.registered_ring = true,
            Self::HugePages => settings.huge_pages = true,
            Self::Pinned => settings.processor = Some(0),
            Self::WriteAtOnce => settings.write_at_once = true,
            Self::NoIndexArray => settings.no_index_array = true,
            Self::RecordTogether => settings.record_together = true,
            Self::Interrupts => settings.deferred_completions = false,
            Self::SubmitBatch(size) => settings.submit_batch = size,
            Self::SeparateWait => settings.separate_wait = true,
            Self::WaitFor(size) => {
                settings.wait_for = size;
                settings.submit_batch = settings.submit_batch.max(size);
            }
            Self::WaitBrieflyFor(size) => {
                settings = Self::WaitFor(size).apply(settings);
                settings.timeout = Duration::from_micros(200);
            }
            Self::WaitInTicksFor(size) => {
                settings = Self::WaitFor(size).apply(settings);
                settings.multishot_timeout = true;
                settings.timeout = Duration::from_millis(1);
            }
        }
        settings
    }

    pub fn describe(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Again => "none, once more".to_owned(),
            Self::MultishotTimeout => "one repeating timeout per ring".to_owned(),
            Self::RegisteredRing => "registered ring descriptor".to_owned(),
            Self::HugePages => "buffers in huge pages".to_owned(),
            Self::Pinned => "thread pinned to a processor".to_owned(),
            Self::WriteAtOnce => "submission queue written at once".to_owned(),
            Self::NoIndexArray => "no index array".to_owned(),
            Self::RecordTogether => "equal latencies recorded together".to_owned(),
            Self::Interrupts => "without DEFER_TASKRUN".to_owned(),
            Self::SubmitBatch(size) => format!("submission batches of {size}"),
            Self::SeparateWait => "submits and waits in separate system calls".to_owned(),
            Self::WaitBrieflyFor(size) => {
                format!("waits for {size} completions, at most 200 us")
            }
            Self::WaitInTicksFor(size) => {
                format!("waits for {size} completions, one timeout that repeats every ms")
            }
            Self::WaitFor(size) => format!("waits for {size} completions"),
        }
    }
}
