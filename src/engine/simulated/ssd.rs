//! `sim:ssd`: parallel flash units, a write buffer that fills, and stalls for erasing. Times are
//! nanoseconds since power-on.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::model::{OrderedQueue, ServeInOrder, SimRequest};
use super::parameters::{SimError, SimParameters, SimulatedDrive, SimulatedKind};
use crate::stats::random::splitmix64;

/// Page size: bytes that one unit reads or programs at a time.
const PAGE_BYTES: u64 = 16 << 10;
/// Time to program one page, and to erase one block.
const PAGE_PROGRAM_TIME: f64 = 400e3;
const BLOCK_ERASE_TIME: f64 = 4e6;
/// Block size: bytes that a unit programs between two erases.
const BLOCK_BYTES: f64 = (4 << 20) as f64;
/// Overhead of every command.
const COMMAND_OVERHEAD: f64 = 15e3;
/// Interface throughput in bytes per second.
const INTERFACE_RATE: f64 = 3.5e9;
/// Bytes of write buffer.
const WRITE_BUFFER: f64 = (256 << 20) as f64;
/// Number of units that work in parallel, and their total program rate in bytes per second.
const UNITS: usize = 8;
const PROGRAM_RATE: f64 = UNITS as f64 * PAGE_BYTES as f64 / PAGE_PROGRAM_TIME * 1e9;

/// `sim:ssd`: a solid state drive.
pub(super) const SSD: SimulatedKind = SimulatedKind {
    name: "ssd",
    parameters: "read jitter seed",
    rotational: Some(false),
    build,
};

fn build(parameters: &SimParameters) -> Result<SimulatedDrive, SimError> {
    let seed = u64::from(parameters.count("seed", 1)?);
    let drive = SolidStateDrive {
        page_read_time: parameters.time("read", 60e3)?,
        read_jitter: parameters.time("jitter", 4e3)?,
        units: [FlashUnit {
            free_at: 0.0,
            bytes_until_erase: BLOCK_BYTES,
        }; UNITS],
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        buffered_bytes: 0.0,
        last_drain: 0.0,
        interface_free_at: 0.0,
    };
    let size = parameters.size("size", 10_000_000_000)?;
    parameters.build_around(OrderedQueue::new(drive), size, None)
}

/// One unit: when it becomes idle, and how much it can program before the next erase.
#[derive(Debug, Clone, Copy)]
struct FlashUnit {
    free_at: f64,
    bytes_until_erase: f64,
}

/// A simulated solid state drive.
struct SolidStateDrive {
    page_read_time: f64,
    /// Scale of the half-normal jitter of the page read time.
    read_jitter: f64,
    units: [FlashUnit; UNITS],
    random: Xoshiro256PlusPlus,
    buffered_bytes: f64,
    last_drain: f64,
    interface_free_at: f64,
}

impl ServeInOrder for SolidStateDrive {
    fn serve(&mut self, now_ns: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let begin = now_ns as f64 + COMMAND_OVERHEAD;
        let ready = match request.is_write {
            true => self.write(request, begin),
            false => self.read(request, begin),
        };
        // The interface transfers one request at a time.
        let transfer = f64::from(request.bytes) / INTERFACE_RATE * 1e9;
        self.interface_free_at = self.interface_free_at.max(ready) + transfer;
        (self.interface_free_at.ceil() as u64, Ok(request.bytes))
    }
}

impl SolidStateDrive {
    fn read(&mut self, request: SimRequest, begin: f64) -> f64 {
        let pages = request.address / PAGE_BYTES..request.end().div_ceil(PAGE_BYTES);
        pages.fold(begin, |done, page| {
            let jitter = self.random.sample::<f64, _>(StandardNormal).abs() * self.read_jitter;
            let unit = &mut self.units[unit_of(page)];
            unit.free_at = unit.free_at.max(begin) + self.page_read_time + jitter;
            done.max(unit.free_at)
        })
    }

    /// Writes complete in the buffer; when it is full, at the rate at which the units program.
    fn write(&mut self, request: SimRequest, begin: f64) -> f64 {
        let bytes = f64::from(request.bytes);
        let written = (begin - self.last_drain).max(0.0) * PROGRAM_RATE / 1e9;
        self.buffered_bytes = (self.buffered_bytes - written).max(0.0);
        self.last_drain = self.last_drain.max(begin);
        if self.buffered_bytes + bytes <= WRITE_BUFFER {
            self.buffered_bytes += bytes;
            return begin;
        }
        let unit = &mut self.units[unit_of(request.address / PAGE_BYTES)];
        let mut busy = (bytes / PAGE_BYTES as f64).max(1.0) * PAGE_PROGRAM_TIME;
        unit.bytes_until_erase -= bytes;
        if unit.bytes_until_erase <= 0.0 {
            busy += BLOCK_ERASE_TIME;
            unit.bytes_until_erase += BLOCK_BYTES;
        }
        unit.free_at = unit.free_at.max(begin) + busy;
        unit.free_at
    }
}

/// Pages are striped over the units in scattered order, so that no stride hits one unit only.
fn unit_of(page: u64) -> usize {
    (splitmix64(page) % UNITS as u64) as usize
}
