//! `sim:ssd`: the solid state drive made of arithmetic behind a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::hdd::{Access, Answer};
use super::model::{Completion, Model, SimRequest};
use super::ssd::{Settings as Flash, Ssd};
use super::{Kind, Settings, SimError, Simulation};
use crate::engine::plan::DataKind;

/// `sim:ssd`: a solid state drive.
pub const SSD: Kind = Kind {
    name: "ssd",
    summary: "an SSD: parallel units, a write buffer that fills, stalls for erasing, compression",
    parameters: &[
        "units",
        "read",
        "program",
        "erase",
        "erase-every",
        "overhead",
        "interface",
        "buffer",
        "compression",
        "jitter",
        "seed",
    ],
    build,
};

fn build(settings: &mut Settings) -> Result<Simulation, SimError> {
    let default = Flash::default();
    let time = |key: &str, default: f64| {
        settings
            .duration_ns(key, default as u64)
            .map(|time| time as f64)
    };
    let flash = Flash {
        capacity: settings.drive_size()?,
        units: settings
            .count("units", default.units as u32)?
            .clamp(1, 4096) as usize,
        read: time("read", default.read)?,
        program: time("program", default.program)?.max(1.0),
        erase: time("erase", default.erase)?,
        erase_every: settings.size("erase-every", default.erase_every)?,
        overhead: time("overhead", default.overhead)?,
        interface: settings.size("interface", default.interface as u64)?.max(1) as f64,
        write_buffer: settings.size("buffer", default.write_buffer)?,
        compression: settings.count("compression", 0)? > 0,
        jitter: time("jitter", default.jitter)?,
        seed: u64::from(settings.count("seed", 1)?),
    };
    let model = Queue {
        drive: Ssd::new(flash),
        done: BinaryHeap::new(),
        submitted: 0,
    };
    Ok(settings.finish(Box::new(model))?.rotating(false))
}

/// One drive, and what it has begun.
#[derive(Debug)]
struct Queue {
    drive: Ssd,
    /// What is decided: time, order of submission, number, bytes.
    done: BinaryHeap<Reverse<(u64, u64, u64, u32)>>,
    submitted: u64,
}

/// Share of the data that cannot be compressed away.
fn entropy(data: DataKind) -> f64 {
    match data {
        DataKind::Random => 1.0,
        DataKind::Zero | DataKind::Repeat => 0.0,
        DataKind::Compressible(zeros) => 1.0 - f64::from(zeros.min(100)) / 100.0,
    }
}

impl Model for Queue {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        let access = Access {
            address: request.address,
            bytes: request.bytes,
            write: request.writes,
        };
        // The units serve in the order of submission: nothing that comes later changes it.
        let answer = self
            .drive
            .serve(&access, now_ns as f64, entropy(request.data));
        let (Answer::Done(at) | Answer::Failed(at)) = answer;
        self.done.push(Reverse((
            at.ceil() as u64,
            self.submitted,
            id,
            request.bytes,
        )));
        self.submitted += 1;
    }

    fn advance(&mut self, until_ns: u64) -> Option<Completion> {
        if self.done.peek()?.0.0 > until_ns {
            return None;
        }
        let Reverse((at_ns, _, id, bytes)) = self.done.pop()?;
        Some(Completion {
            at_ns,
            id,
            result: Ok(bytes),
        })
    }
}
