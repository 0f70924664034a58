//! Simple drives whose truth is known: what tests are tested on.

use super::model::SimRequest;
use super::station::{Service, Station};
use super::{Kind, Settings, SimError, Simulation};
use crate::drive::random::{Random, unit};

/// What all of them take: response time of one request, and how fast its bytes flow.
#[derive(Debug, Clone, Copy)]
struct Line {
    latency_ns: u64,
    bytes_per_s: Option<u64>,
}

impl Line {
    fn read(settings: &mut Settings) -> Result<Self, SimError> {
        Ok(Self {
            latency_ns: settings.duration_ns("latency", 100_000)?,
            bytes_per_s: settings.optional_size("throughput")?,
        })
    }

    fn takes(self, bytes: u32) -> u64 {
        self.latency_ns + transfer_ns(bytes, self.bytes_per_s)
    }
}

/// Nanoseconds that bytes take at a rate; none without a rate.
fn transfer_ns(bytes: u32, bytes_per_s: Option<u64>) -> u64 {
    match bytes_per_s {
        Some(rate) if rate > 0 => (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64,
        _ => 0,
    }
}

/// Builds a drive of equal servers.
fn station<S: Service + 'static>(
    settings: &mut Settings,
    service: S,
) -> Result<Simulation, SimError> {
    let parallel = settings.count("parallel", 1)?;
    settings.finish(Box::new(Station::new(service, parallel)))
}

/// `sim:constant`: every request takes the same.
pub const CONSTANT: Kind = Kind {
    name: "constant",
    summary: "every request takes the same time",
    parameters: &["latency", "throughput", "parallel"],
    build: |settings| {
        let line = Line::read(settings)?;
        station(settings, Constant(line))
    },
};

struct Constant(Line);

impl Service for Constant {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        (self.0.takes(request.bytes), Ok(request.bytes))
    }
}

/// `sim:bimodal`: a share of the requests is slow.
pub const BIMODAL: Kind = Kind {
    name: "bimodal",
    summary: "a share of the requests takes longer, at random",
    parameters: &[
        "latency",
        "throughput",
        "parallel",
        "slow",
        "percent",
        "seed",
    ],
    build: |settings| {
        let service = Bimodal {
            line: Line::read(settings)?,
            slow_ns: settings.duration_ns("slow", 5_000_000)?,
            share: f64::from(settings.count("percent", 10)?) / 100.0,
            random: Random::new(u64::from(settings.count("seed", 1)?)),
        };
        station(settings, service)
    },
};

struct Bimodal {
    line: Line,
    slow_ns: u64,
    share: f64,
    random: Random,
}

impl Service for Bimodal {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let slow = unit(self.random.word()) < self.share;
        let takes = match slow {
            true => self.slow_ns + transfer_ns(request.bytes, self.line.bytes_per_s),
            false => self.line.takes(request.bytes),
        };
        (takes, Ok(request.bytes))
    }
}

/// `sim:cliff`: writes are fast until a cache is full.
pub const CLIFF: Kind = Kind {
    name: "cliff",
    summary: "writes are fast until a cache is full, then slow",
    parameters: &["latency", "throughput", "parallel", "cache", "slow"],
    build: |settings| {
        let service = Cliff {
            line: Line::read(settings)?,
            left: settings.size("cache", 1_000_000_000)?,
            slow_ns: settings.duration_ns("slow", 1_000_000)?,
        };
        station(settings, service)
    },
};

struct Cliff {
    line: Line,
    left: u64,
    slow_ns: u64,
}

impl Service for Cliff {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let fast = !request.writes || self.left >= u64::from(request.bytes);
        if request.writes && fast {
            self.left -= u64::from(request.bytes);
        }
        let takes = match fast {
            true => self.line.takes(request.bytes),
            false => self.slow_ns + transfer_ns(request.bytes, self.line.bytes_per_s),
        };
        (takes, Ok(request.bytes))
    }
}

/// `sim:fading`: slower and slower, as a drive that gets warm.
pub const FADING: Kind = Kind {
    name: "fading",
    summary: "every request takes a little longer than the one before",
    parameters: &["latency", "throughput", "parallel", "slow", "requests"],
    build: |settings| {
        let service = Fading {
            line: Line::read(settings)?,
            slow_ns: settings.duration_ns("slow", 200_000)?,
            requests: u64::from(settings.count("requests", 100_000)?.max(1)),
            served: 0,
        };
        station(settings, service)
    },
};

struct Fading {
    line: Line,
    /// What requests take in the end.
    slow_ns: u64,
    /// Until then.
    requests: u64,
    served: u64,
}

impl Service for Fading {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let more = self.slow_ns.saturating_sub(self.line.latency_ns);
        let slower = u128::from(more) * u128::from(self.served) / u128::from(self.requests);
        self.served = (self.served + 1).min(self.requests);
        (
            self.line.takes(request.bytes) + slower as u64,
            Ok(request.bytes),
        )
    }
}

/// `sim:failing`: a range that cannot be read.
pub const FAILING: Kind = Kind {
    name: "failing",
    summary: "requests to a range end with EIO",
    parameters: &["latency", "throughput", "parallel", "begin", "length"],
    build: |settings| {
        let begin = settings.size("begin", 500_000_000)?;
        let service = Failing {
            line: Line::read(settings)?,
            range: begin..begin.saturating_add(settings.size("length", 4096)?),
        };
        station(settings, service)
    },
};

struct Failing {
    line: Line,
    range: std::ops::Range<u64>,
}

impl Service for Failing {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let end = request.address + u64::from(request.bytes);
        let hit = request.address < self.range.end && end > self.range.start;
        let result = if hit {
            Err(libc::EIO)
        } else {
            Ok(request.bytes)
        };
        (self.line.takes(request.bytes), result)
    }
}

/// `sim:zones`: throughput falls in steps towards the end, as on a hard disk.
pub const ZONES: Kind = Kind {
    name: "zones",
    summary: "throughput falls in even steps from the first byte to the last",
    parameters: &["latency", "parallel", "outer", "inner", "zones"],
    build: |settings| {
        let service = Zones {
            latency_ns: settings.duration_ns("latency", 100_000)?,
            outer: settings.size("outer", 200_000_000)?,
            inner: settings.size("inner", 100_000_000)?,
            zones: u64::from(settings.count("zones", 10)?.max(1)),
            size: settings.drive_size()?,
        };
        station(settings, service)
    },
};

struct Zones {
    latency_ns: u64,
    outer: u64,
    inner: u64,
    zones: u64,
    size: u64,
}

impl Zones {
    /// Bytes per second at an address.
    fn throughput(&self, address: u64) -> u64 {
        let zone = u128::from(address) * u128::from(self.zones) / u128::from(self.size.max(1));
        let steps = (self.zones - 1).max(1) as f64;
        let share = (zone as f64 / steps).min(1.0);
        let (outer, inner) = (self.outer as f64, self.inner as f64);
        (outer + (inner - outer) * share) as u64
    }
}

impl Service for Zones {
    fn serve(&mut self, _: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let rate = self.throughput(request.address);
        let takes = self.latency_ns + transfer_ns(request.bytes, Some(rate));
        (takes, Ok(request.bytes))
    }
}
