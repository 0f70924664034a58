//! Evidence about the environment of a run: the kernel's counters of the devices, other users of
//! them, the temperature of the drive and the load of the machine. The checks use it.

mod competing_processes;
mod contents;
mod idle;
mod kernel_counters;
mod request_stages;
mod sampling;
mod setup;
mod stack;
mod stalls;

use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use self::competing_processes::CompetingProcesses;
use self::kernel_counters::KernelCounters;
use self::request_stages::StageTracer;
use self::stack::DeviceStack;
use self::stalls::StallDetector;
use crate::bench::framework::cpu_usage::CpuUsage;
use crate::bench::{Benchmark, ParameterSet, RunProgress, framework};
use crate::drive::mounts::split_device_number;
use crate::drive::{BlockDevice, DriveKind, TargetKind};
use crate::engine::{CacheMode, IoCounts, OpenedTarget, pauses};
use crate::probe::process::stat;
use crate::probe::system::temperature;
use crate::probe::text::read_file;
use crate::roots::SysPaths;
use crate::session::document::{
    DirectionCounts, DriveTemperature, HostRecord, KernelCounts, LayerCounts, PauseEvidence,
    ProcessorLoad, RunEvidence, StageBreakdown, SubmittedBytes,
};

/// Collects the evidence of one run, from its start on.
pub struct EvidenceCollector {
    roots: SysPaths,
    stack: DeviceStack,
    kernel_counters: KernelCounters,
    request_stages: StageTracer,
    competing_processes: Option<CompetingProcesses>,
    /// Numbers of the devices, and that of the target's file system.
    device_numbers: Vec<(u32, u32)>,
    stalls: StallDetector,
    submitted_at_start: Option<SubmittedBytes>,
    started_at: Instant,
    processors: u32,
    has_real_device: bool,
    /// The static evidence, and what was collected so far.
    evidence: RunEvidence,
}

impl EvidenceCollector {
    /// Collects the static evidence, then reads the counters as the start.
    #[must_use]
    pub fn new(
        roots: &SysPaths,
        benchmark: &dyn Benchmark,
        opened: &OpenedTarget,
        parameters: &ParameterSet,
        host: &HostRecord,
    ) -> Self {
        let target = &opened.target;
        // A simulated drive uses none of the machine's devices.
        let is_simulated = target.kind == TargetKind::Simulated;
        let stack = DeviceStack::of_target(roots, target, opened.file().as_deref());
        let all: Vec<&BlockDevice> = stack.devices().collect();
        let window = framework::plan_window(target, parameters);
        let mut evidence = if is_simulated {
            RunEvidence::default()
        } else {
            static_evidence(benchmark.writes(parameters), opened, &window, &all, host)
        };
        evidence.window_bytes = Some(window.end.saturating_sub(window.start));
        let names: Vec<String> = all.iter().map(|drive| drive.name.clone()).collect();
        let top = stack.top.as_ref().map(|drive| drive.name.as_str());
        let numbers = all.iter().map(|drive| drive.number);
        let files = opened.file().and_then(|file| file.metadata().ok());
        let files = files.map(|metadata| split_device_number(metadata.dev()));
        let device_numbers = numbers.chain(files).collect();
        let is_direct = framework::cache_mode(parameters) == CacheMode::Bypass;
        // There, kernel threads write back what the benchmark or the file system left.
        let is_device = target.kind == TargetKind::BlockDevice;
        let mut collector = Self {
            competing_processes: (!names.is_empty()).then(|| CompetingProcesses::new(roots)),
            device_numbers,
            request_stages: StageTracer::start(roots, top, is_device && is_direct),
            kernel_counters: KernelCounters::new(roots, names),
            stalls: StallDetector::new(framework::arrival_rate(parameters)),
            submitted_at_start: submitted_bytes(roots),
            started_at: Instant::now(),
            processors: host.processors.unwrap_or(1),
            roots: roots.clone(),
            has_real_device: !is_simulated,
            stack,
            evidence,
        };
        collector.evidence.device_history = collector.kernel_counters.history_of_lowest();
        if collector.has_real_device {
            let idle = self::idle::processor_idle(roots, host);
            collector.evidence.processor_idle = Some(idle);
        }
        collector.sample_temperature();
        collector
    }

    /// The counters of the device under test since the start, where the kernel keeps any.
    #[must_use]
    pub fn kernel_counts(&self) -> Option<KernelCounts> {
        self.stack.top.as_ref()?;
        let counts = self.kernel_counters.counts_since_start();
        counts.into_iter().next().flatten()
    }

    /// Q2D and D2C times of the benchmark's requests, as far as known.
    #[must_use]
    pub fn stages(&mut self) -> Option<StageBreakdown> {
        self.request_stages.breakdown_so_far()
    }

    /// Time that all processors of the machine were busy since the start, in nanoseconds.
    #[must_use]
    pub fn machine_busy(&self) -> Option<u64> {
        self.kernel_counters.machine_busy_since_start()
    }

    /// Takes note of the progress, 5 to 10 times per second.
    pub fn observe_progress(&mut self, progress: &RunProgress) {
        if self.has_real_device {
            self.stalls.observe(progress);
        }
    }

    /// The evidence so far; `issued` is the I/O that the benchmark has issued so far.
    #[must_use]
    pub fn evidence_so_far(&mut self, issued: IoCounts) -> RunEvidence {
        self.sample_temperature();
        self.evidence.issued = Some(DirectionCounts {
            reads: issued.read_ios,
            read_bytes: issued.read_bytes,
            writes: issued.write_ios,
            written_bytes: issued.written_bytes,
        });
        self.evidence.submitted_to_block_layer = submitted_bytes(&self.roots)
            .zip(self.submitted_at_start)
            .map(|(now, before)| SubmittedBytes {
                read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
                written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            });
        let counts = self.kernel_counters.counts_since_start().into_iter();
        self.evidence.underlying = counts
            .skip(self.stack.top.iter().count())
            .zip(&self.stack.below)
            .filter_map(|(counts, (relation, _))| {
                Some(LayerCounts {
                    relation_to_upper: *relation,
                    counts: counts?,
                })
            })
            .collect();
        self.evidence.pauses = self
            .has_real_device
            .then(|| pause_evidence_since(self.started_at))
            .flatten();
        self.evidence.stalls = self.stalls.evidence();
        self.evidence.other_users = self.request_stages.other_users().0;
        self.evidence.clone()
    }

    /// Ends the collection and returns the evidence of the whole run, given its CPU usage.
    #[must_use]
    pub fn final_evidence(&mut self, cpu_usage: &CpuUsage) -> RunEvidence {
        // The last requests stay in the kernel's buffer until the capture ends.
        self.request_stages.stop_and_drain();
        let mut evidence = self.evidence_so_far(cpu_usage.counts);
        let seen_all = self.request_stages.other_users().1;
        if let Some(processes) = &mut self.competing_processes
            && !seen_all
        {
            let traced = evidence.other_users;
            evidence.other_users = processes.users_since_start(&self.device_numbers, traced);
        }
        // A simulated drive's time is not processor time.
        evidence.processors = self.has_real_device.then(|| self.processors(cpu_usage));
        evidence
    }

    fn processors(&self, cpu_usage: &CpuUsage) -> ProcessorLoad {
        let capacity = self.started_at.elapsed().as_secs_f64() * f64::from(self.processors);
        let busy = self
            .machine_busy()
            .map(|time| Duration::from_nanos(time).as_secs_f64());
        ProcessorLoad {
            generator_utilization: cpu_usage.peak_utilization.map(|peak| peak.fraction),
            busiest_workers: cpu_usage.peak_utilization.map_or(0, |peak| peak.workers),
            // Over shorter spans the kernel's ticks are too coarse.
            machine_utilization: busy.filter(|_| capacity > 0.3).map(|busy| busy / capacity),
            count: self.processors,
        }
    }

    /// Samples the temperature of the drive.
    fn sample_temperature(&mut self) {
        let read = |drive: &BlockDevice| temperature::read_temperature(&self.roots, &drive.name);
        let Some(now) = self.stack.devices().find_map(read) else {
            return;
        };
        let known = self.evidence.temperature;
        self.evidence.temperature = Some(DriveTemperature {
            initial_celsius: known.map_or(now.celsius, |it| it.initial_celsius),
            max_celsius: known.map_or(now.celsius, |it| it.max_celsius.max(now.celsius)),
            throttle_celsius: now.throttle_threshold,
        });
    }
}

/// The evidence that does not change during a run.
fn static_evidence(
    writes: bool,
    opened: &OpenedTarget,
    window: &Range<u64>,
    stack: &[&BlockDevice],
    host: &HostRecord,
) -> RunEvidence {
    let target = &opened.target;
    let setup = self::setup::drive_setup(target, stack, host.virtualization.as_deref());
    let file = opened.file();
    let extents = self::contents::allocated_extents(target, file.as_deref(), window, stack);
    // A rotational disk keeps no table of written blocks, and sampling it would cost seeks.
    let has_table = target.is_rotational() != Some(true) || setup.virtual_disk.is_some();
    // What a loop device shows is a file, of which the file system tells what is allocated.
    let is_drive = stack.iter().all(|drive| drive.kind != DriveKind::Loop);
    let sampled = target.kind == TargetKind::BlockDevice
        && !writes
        && has_table
        && is_drive
        && extents.is_none();
    RunEvidence {
        block_sample: sampled
            .then(|| self::contents::sample_blocks(&target.name, window, 1))
            .flatten(),
        drive_setup: Some(setup),
        extents,
        ..RunEvidence::default()
    }
}

/// Periods in which this process was stopped; `None` if there were none.
fn pause_evidence_since(start: Instant) -> Option<PauseEvidence> {
    let pauses = pauses::pauses_since(start);
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let longest = pauses.iter().map(|pause| pause.minimum_length).max()?;
    Some(PauseEvidence {
        count: pauses.len() as u64,
        total_ns: nanoseconds(pauses.iter().map(|pause| pause.minimum_length).sum()),
        longest_ns: nanoseconds(longest),
        suspended_ns: nanoseconds(pauses.iter().map(|pause| pause.suspended_time).sum()),
    })
}

/// Bytes that this process has submitted to the block layer since it began.
fn submitted_bytes(roots: &SysPaths) -> Option<SubmittedBytes> {
    let io = stat::parse_io(&read_file(&roots.proc.join("self/io"))?)?;
    Some(SubmittedBytes {
        read_bytes: io.read_bytes,
        written_bytes: io.write_bytes,
    })
}

#[cfg(test)]
mod tests;
