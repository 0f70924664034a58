//! Simple drives with known properties, against which benchmarks are tested.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::model::SimRequest;
use super::station::{ServerQueue, ServiceTime};
use super::{SimError, SimParameters, SimulatedDrive, SimulatedKind};

/// Parameters common to all: the latency of one request and the throughput of its transfer.
#[derive(Debug, Clone, Copy)]
struct LinearService {
    latency_ns: u64,
    bytes_per_s: Option<u64>,
}

impl LinearService {
    fn from_parameters(settings: &mut SimParameters) -> Result<Self, SimError> {
        Ok(Self {
            latency_ns: settings.duration_ns("latency", 100_000)?,
            bytes_per_s: settings.optional_size("throughput")?,
        })
    }

    fn service_ns(self, bytes: u32) -> u64 {
        self.latency_ns + transfer_ns(bytes, self.bytes_per_s)
    }
}

/// Nanoseconds that a transfer takes at a rate; zero without a rate.
fn transfer_ns(bytes: u32, bytes_per_s: Option<u64>) -> u64 {
    match bytes_per_s {
        Some(rate) if rate > 0 => (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64,
        _ => 0,
    }
}

/// Builds a drive of identical servers.
fn build_server_queue<S: ServiceTime + 'static>(
    settings: &mut SimParameters,
    service: S,
) -> Result<SimulatedDrive, SimError> {
    let parallel = settings.count("parallel", 1)?;
    settings.build_around(Box::new(ServerQueue::new(service, parallel)))
}

/// `sim:constant`: all requests have the same latency.
pub const CONSTANT: SimulatedKind = SimulatedKind {
    name: "constant",
    summary: "all requests have the same latency",
    parameters: &["latency", "throughput", "parallel"],
    build: |settings| {
        let line = LinearService::from_parameters(settings)?;
        build_server_queue(settings, ConstantService(line))
    },
};

struct ConstantService(LinearService);

impl ServiceTime for ConstantService {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        (self.0.service_ns(request.bytes), Ok(request.bytes))
    }
}

/// `sim:bimodal`: a fraction of the requests is slow.
pub const BIMODAL: SimulatedKind = SimulatedKind {
    name: "bimodal",
    summary: "a random fraction of the requests has a higher latency",
    parameters: &[
        "latency",
        "throughput",
        "parallel",
        "slow",
        "percent",
        "seed",
    ],
    build: |settings| {
        let service = BimodalService {
            service: LinearService::from_parameters(settings)?,
            slow_ns: settings.duration_ns("slow", 5_000_000)?,
            slow_fraction: f64::from(settings.count("percent", 10)?) / 100.0,
            random: Xoshiro256PlusPlus::seed_from_u64(u64::from(settings.count("seed", 1)?)),
        };
        build_server_queue(settings, service)
    },
};

struct BimodalService {
    service: LinearService,
    slow_ns: u64,
    slow_fraction: f64,
    random: Xoshiro256PlusPlus,
}

impl ServiceTime for BimodalService {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let slow = self.random.random::<f64>() < self.slow_fraction;
        let takes = match slow {
            true => self.slow_ns + transfer_ns(request.bytes, self.service.bytes_per_s),
            false => self.service.service_ns(request.bytes),
        };
        (takes, Ok(request.bytes))
    }
}

/// `sim:cliff`: writes are fast until a cache is full.
pub const CLIFF: SimulatedKind = SimulatedKind {
    name: "cliff",
    summary: "writes are fast until the write cache is full",
    parameters: &["latency", "throughput", "parallel", "cache", "slow"],
    build: |settings| {
        let service = CliffService {
            service: LinearService::from_parameters(settings)?,
            fast_bytes_left: settings.size("cache", 1_000_000_000)?,
            slow_ns: settings.duration_ns("slow", 1_000_000)?,
        };
        build_server_queue(settings, service)
    },
};

struct CliffService {
    service: LinearService,
    fast_bytes_left: u64,
    slow_ns: u64,
}

impl ServiceTime for CliffService {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let fast = !request.is_write || self.fast_bytes_left >= u64::from(request.bytes);
        if request.is_write && fast {
            self.fast_bytes_left -= u64::from(request.bytes);
        }
        let takes = match fast {
            true => self.service.service_ns(request.bytes),
            false => self.slow_ns + transfer_ns(request.bytes, self.service.bytes_per_s),
        };
        (takes, Ok(request.bytes))
    }
}

/// `sim:fading`: slows down over time, like a drive that throttles when it gets hot.
pub const FADING: SimulatedKind = SimulatedKind {
    name: "fading",
    summary: "latency rises with every request",
    parameters: &["latency", "throughput", "parallel", "slow", "requests"],
    build: |settings| {
        let service = FadingService {
            service: LinearService::from_parameters(settings)?,
            final_ns: settings.duration_ns("slow", 200_000)?,
            requests_until_final: u64::from(settings.count("requests", 100_000)?.max(1)),
            served: 0,
        };
        build_server_queue(settings, service)
    },
};

struct FadingService {
    service: LinearService,
    /// Final latency.
    final_ns: u64,
    /// Time until the final latency is reached.
    requests_until_final: u64,
    served: u64,
}

impl ServiceTime for FadingService {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let more = self.final_ns.saturating_sub(self.service.latency_ns);
        let slower =
            u128::from(more) * u128::from(self.served) / u128::from(self.requests_until_final);
        self.served = (self.served + 1).min(self.requests_until_final);
        (
            self.service.service_ns(request.bytes) + slower as u64,
            Ok(request.bytes),
        )
    }
}

/// `sim:failing`: a range of addresses cannot be read.
pub const FAILING: SimulatedKind = SimulatedKind {
    name: "failing",
    summary: "requests to a range fail with EIO",
    parameters: &["latency", "throughput", "parallel", "begin", "length"],
    build: |settings| {
        let begin = settings.size("begin", 500_000_000)?;
        let service = FailingService {
            service: LinearService::from_parameters(settings)?,
            failing_range: begin..begin.saturating_add(settings.size("length", 4096)?),
        };
        build_server_queue(settings, service)
    },
};

struct FailingService {
    service: LinearService,
    failing_range: std::ops::Range<u64>,
}

impl ServiceTime for FailingService {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let end = request.address + u64::from(request.bytes);
        let hit = request.address < self.failing_range.end && end > self.failing_range.start;
        let result = if hit {
            Err(libc::EIO)
        } else {
            Ok(request.bytes)
        };
        (self.service.service_ns(request.bytes), result)
    }
}
