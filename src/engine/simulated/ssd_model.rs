//! `sim:ssd`: the solid state drive model with a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::hdd::{DriveAccess, DriveAnswer};
use super::model::{DriveModel, SimCompletion, SimRequest};
use super::ssd::{SolidStateDrive, SsdSettings as Flash};
use super::{SimError, SimParameters, SimulatedDrive, SimulatedKind};
use crate::engine::plan::DataKind;

/// `sim:ssd`: a solid state drive.
pub const SSD: SimulatedKind = SimulatedKind {
    name: "ssd",
    summary: "an SSD: parallel units, write buffer, erase stalls, compression",
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

fn build(settings: &mut SimParameters) -> Result<SimulatedDrive, SimError> {
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
        page_read_time: time("read", default.page_read_time)?,
        page_program_time: time("program", default.page_program_time)?.max(1.0),
        block_erase_time: time("erase", default.block_erase_time)?,
        bytes_per_erase: settings.size("erase-every", default.bytes_per_erase)?,
        command_overhead: time("overhead", default.command_overhead)?,
        interface_rate: settings
            .size("interface", default.interface_rate as u64)?
            .max(1) as f64,
        write_buffer: settings.size("buffer", default.write_buffer)?,
        compresses: settings.count("compression", 0)? > 0,
        read_jitter: time("jitter", default.read_jitter)?,
        seed: u64::from(settings.count("seed", 1)?),
    };
    let model = SsdQueue {
        drive: SolidStateDrive::new(flash),
        scheduled_completions: BinaryHeap::new(),
        submitted: 0,
    };
    Ok(settings
        .build_around(Box::new(model))?
        .with_rotational(false))
}

/// A drive and its started requests.
#[derive(Debug)]
struct SsdQueue {
    drive: SolidStateDrive,
    /// Scheduled completions: time, order of submission, id, bytes.
    scheduled_completions: BinaryHeap<Reverse<(u64, u64, u64, u32)>>,
    submitted: u64,
}

/// Incompressible fraction of the data.
fn incompressible_fraction(data: DataKind) -> f64 {
    match data {
        DataKind::Random => 1.0,
        DataKind::Zero | DataKind::Repeated => 0.0,
        DataKind::Compressible(zeros) => 1.0 - f64::from(zeros.min(100)) / 100.0,
    }
}

impl DriveModel for SsdQueue {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        let access = DriveAccess {
            address: request.address,
            bytes: request.bytes,
            is_write: request.is_write,
        };
        // The units serve in the order of submission: later requests do not change the result.
        let answer = self.drive.serve(
            &access,
            now_ns as f64,
            incompressible_fraction(request.data),
        );
        let (DriveAnswer::Completed(at) | DriveAnswer::Failed(at)) = answer;
        self.scheduled_completions.push(Reverse((
            at.ceil() as u64,
            self.submitted,
            id,
            request.bytes,
        )));
        self.submitted += 1;
    }

    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion> {
        if self.scheduled_completions.peek()?.0.0 > until_ns {
            return None;
        }
        let Reverse((at_ns, _, id, bytes)) = self.scheduled_completions.pop()?;
        Some(SimCompletion {
            completed_at_ns: at_ns,
            id,
            result: Ok(bytes),
        })
    }
}
