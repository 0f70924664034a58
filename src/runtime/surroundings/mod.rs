//! What is to be seen around a run beside its own requests: the kernel's counts of the devices, who
//! else uses them, how warm the drive and how busy the machine is. Verdicts follow from it.

mod contents;
mod kernel_view;
mod neighbours;
mod sampling;
mod setup;
mod stack;
mod stages;
mod strangers;

use std::ops::Range;
use std::time::{Duration, Instant};

use self::kernel_view::KernelView;
use self::neighbours::Neighbours;
use self::stages::StageWatch;
use crate::bench::effort::Effort;
use crate::drive::{Drive, Target, TargetKind, identity};
use crate::engine::{Moved, pauses};
use crate::probe::process;
use crate::probe::text::read;
use crate::roots::Roots;
use crate::session::document::{
    Counts, Evidence, Host, KernelCounts, Layer, OtherUser, Pauses, Processors, Relation,
    StageSplit, Submitted, Temperature,
};

/// The test and its place, as far as its surroundings depend on them.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What is measured.
    pub target: &'a Target,
    /// The part of it that is.
    pub window: Range<u64>,
    /// Whether the test writes.
    pub writes: bool,
    /// Whether it goes past the page cache.
    pub direct: bool,
    /// The machine.
    pub host: &'a Host,
}

/// Watches the surroundings of one run, from its start on.
pub struct Surroundings {
    roots: Roots,
    stack: Vec<(Relation, Drive)>,
    top: Option<Drive>,
    kernel: KernelView,
    stages: StageWatch,
    neighbours: Neighbours,
    submitted_at_start: Option<Submitted>,
    began: Instant,
    processors: u32,
    real: bool,
    /// Whether requests of the kernel's own threads can only be for others.
    kernel_threads_count: bool,
    /// What does not change, and what was seen so far.
    evidence: Evidence,
}

impl Surroundings {
    /// Looks at what does not change, then takes the counts of this moment as the start.
    #[must_use]
    pub fn new(roots: &Roots, scene: &Scene<'_>) -> Self {
        let top = scene.target.drive.clone();
        // A simulated drive has none of the machine's.
        let real = top
            .as_ref()
            .filter(|_| scene.target.kind != TargetKind::Simulated);
        let stack = real.map_or_else(Vec::new, |top| stack::beneath(roots, top));
        let all: Vec<&Drive> = real
            .into_iter()
            .chain(stack.iter().map(|(_, it)| it))
            .collect();
        let evidence = still(scene, &all);
        let names = all.iter().map(|drive| drive.name.clone()).collect();
        let device = real.map(|drive| drive.name.as_str());
        let device_itself = scene.target.kind == TargetKind::BlockDevice;
        let mut surroundings = Self {
            kernel_threads_count: device_itself && scene.direct,
            neighbours: Neighbours::new(roots),
            stages: StageWatch::start(roots, device),
            kernel: KernelView::new(roots, names),
            submitted_at_start: submitted(roots),
            began: Instant::now(),
            processors: scene.host.processors.unwrap_or(1),
            roots: roots.clone(),
            real: scene.target.kind != TargetKind::Simulated,
            top: real.cloned(),
            stack,
            evidence,
        };
        surroundings.feel();
        surroundings
    }

    /// The counts of the device under test since the start, where the kernel keeps any.
    #[must_use]
    pub fn counts(&self) -> Option<KernelCounts> {
        self.kernel.since_start().into_iter().next().flatten()
    }

    /// Where the test's requests spent their time, as far as it is known.
    #[must_use]
    pub fn stages(&mut self) -> Option<StageSplit> {
        self.stages.so_far()
    }

    /// Time that all processors of the machine were busy since the start, in nanoseconds.
    #[must_use]
    pub fn machine_busy(&self) -> Option<u64> {
        self.kernel.machine_busy_since_start()
    }

    /// What was seen so far, beside all that the test asked for until now.
    #[must_use]
    pub fn so_far(&mut self, moved: Moved) -> Evidence {
        self.feel();
        self.evidence.asked = Some(Counts {
            reads: moved.reads,
            read_bytes: moved.read_bytes,
            writes: moved.writes,
            written_bytes: moved.written_bytes,
        });
        self.evidence.submitted =
            submitted(&self.roots)
                .zip(self.submitted_at_start)
                .map(|(now, before)| Submitted {
                    read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
                    written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
                });
        let counts = self.kernel.since_start().into_iter().skip(1);
        self.evidence.beneath = counts
            .zip(&self.stack)
            .filter_map(|(counts, (relation, _))| {
                Some(Layer {
                    relation: *relation,
                    counts: counts?,
                })
            })
            .collect();
        self.evidence.pauses = self.real.then(|| pauses_since(self.began)).flatten();
        let (traced, _) = self.stages.others();
        self.evidence.others = self.relevant(traced);
        self.evidence.clone()
    }

    /// Ends the watch: what was seen over the whole run, which took this effort.
    #[must_use]
    pub fn end(&mut self, effort: &Effort) -> Evidence {
        // The last requests are still in the kernel's buffer until the capture ends.
        self.stages.end();
        let mut evidence = self.so_far(effort.moved);
        let seen_all = self.stages.others().1;
        if self.top.is_some() && !seen_all {
            evidence.others = self
                .neighbours
                .since_start(&self.numbers(), evidence.others);
        }
        // Time of a simulated drive is none of the processors'.
        evidence.processors = self.real.then(|| self.processors(effort));
        evidence
    }

    fn devices(&self) -> impl Iterator<Item = &Drive> {
        self.top
            .iter()
            .chain(self.stack.iter().map(|(_, drive)| drive))
    }

    fn numbers(&self) -> Vec<(u32, u32)> {
        self.devices().map(|drive| drive.number).collect()
    }

    fn processors(&self, effort: &Effort) -> Processors {
        let capacity = self.began.elapsed().as_secs_f64() * f64::from(self.processors);
        let busy = self
            .machine_busy()
            .map(|time| Duration::from_nanos(time).as_secs_f64());
        Processors {
            generator_share: effort.busiest.map(|busiest| busiest.share),
            workers: effort.busiest.map_or(0, |busiest| busiest.workers),
            // Shorter than this, the kernel's ticks say nothing.
            machine_share: busy.filter(|_| capacity > 0.3).map(|busy| busy / capacity),
            count: self.processors,
        }
    }

    /// Others without the kernel's own threads, where those may work for the test itself: they
    /// write back its pages, and the file system's.
    fn relevant(&self, mut others: Vec<OtherUser>) -> Vec<OtherUser> {
        let proc = &self.roots.proc;
        others.retain(|other| {
            self.kernel_threads_count || !strangers::is_kernel_thread(proc, other.pid)
        });
        others
    }

    /// Feels how warm the drive is.
    fn feel(&mut self) {
        let warmth = |drive: &Drive| identity::warmth(&self.roots, &drive.name);
        let felt = self.devices().find_map(warmth);
        let Some(now) = felt else { return };
        let known = self.evidence.temperature;
        self.evidence.temperature = Some(Temperature {
            begin_celsius: known.map_or(now.celsius, |it| it.begin_celsius),
            highest_celsius: known.map_or(now.celsius, |it| it.highest_celsius.max(now.celsius)),
            limit_celsius: now.limit,
        });
    }
}

/// What does not change over a run.
fn still(scene: &Scene<'_>, stack: &[&Drive]) -> Evidence {
    let target = scene.target;
    if target.kind == TargetKind::Simulated {
        return Evidence::default();
    }
    let hypervisor = scene.host.virtualization.as_deref();
    let setup = setup::setup(target, stack, hypervisor);
    let extents = contents::extents(target, stack, &scene.window);
    // A disk with arms has no table of what was written, and would have to move them.
    let has_table = target.rotational() != Some(true) || setup.virtual_disk.is_some();
    let sampled =
        target.kind == TargetKind::BlockDevice && !scene.writes && has_table && extents.is_none();
    Evidence {
        sample: sampled
            .then(|| contents::sample(&target.name, &scene.window, 1))
            .flatten(),
        setup: Some(setup),
        extents,
        ..Evidence::default()
    }
}

/// When this process did not run; `None` where it always did.
fn pauses_since(start: Instant) -> Option<Pauses> {
    let pauses = pauses::since(start);
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let longest = pauses.iter().map(|pause| pause.length).max()?;
    Some(Pauses {
        count: pauses.len() as u64,
        total_ns: nanoseconds(pauses.iter().map(|pause| pause.length).sum()),
        longest_ns: nanoseconds(longest),
        suspended_ns: nanoseconds(pauses.iter().map(|pause| pause.suspended).sum()),
    })
}

/// What this process handed to the block layer since it began.
fn submitted(roots: &Roots) -> Option<Submitted> {
    let io = process::io(&read(&roots.proc.join("self/io"))?)?;
    Some(Submitted {
        read_bytes: io.read,
        written_bytes: io.written,
    })
}

#[cfg(test)]
mod tests;
