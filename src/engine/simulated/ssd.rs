//! Model of a solid state drive: parallel flash units, a write buffer that fills, stalls for
//! erasing, and optional compression. Times are nanoseconds since the clock's origin.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::hdd::{DriveAccess, DriveAnswer};

/// Page size: bytes that one unit reads or programs at a time.
const PAGE_BYTES: u64 = 16 << 10;

/// Settings of a simulated solid state drive. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct SsdSettings {
    /// Size in bytes.
    pub capacity: u64,
    /// Number of units that work in parallel.
    pub units: usize,
    /// Time to read one page.
    pub page_read_time: f64,
    /// Time to program one page.
    pub page_program_time: f64,
    /// Time to erase one block.
    pub block_erase_time: f64,
    /// Block size: bytes that a unit programs between two erases.
    pub bytes_per_erase: u64,
    /// Overhead of every command.
    pub command_overhead: f64,
    /// Interface throughput between drive and host in bytes per second.
    pub interface_rate: f64,
    /// Bytes of write buffer.
    pub write_buffer: u64,
    /// Whether the drive compresses data before it writes it.
    pub compresses: bool,
    /// Scale of the half-normal jitter of the page read time.
    pub read_jitter: f64,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for SsdSettings {
    fn default() -> Self {
        Self {
            capacity: 500_000_000_000,
            units: 8,
            page_read_time: 60e3,
            page_program_time: 400e3,
            block_erase_time: 4e6,
            bytes_per_erase: 4 << 20,
            command_overhead: 15e3,
            interface_rate: 3.5e9,
            write_buffer: 256 << 20,
            compresses: false,
            read_jitter: 4e3,
            seed: 1,
        }
    }
}

/// One unit: when it becomes idle, and how much it can program before the next erase.
#[derive(Debug, Clone, Copy)]
struct FlashUnit {
    free_at: f64,
    bytes_until_erase: f64,
}

/// A simulated solid state drive.
#[derive(Debug)]
pub struct SolidStateDrive {
    settings: SsdSettings,
    flash_units: Vec<FlashUnit>,
    random: Xoshiro256PlusPlus,
    buffered_bytes: f64,
    last_drain: f64,
    interface_free_at: f64,
}

impl SolidStateDrive {
    /// An idle drive with an empty buffer.
    #[must_use]
    pub fn new(settings: SsdSettings) -> Self {
        let unit = FlashUnit {
            free_at: 0.0,
            bytes_until_erase: settings.bytes_per_erase as f64,
        };
        Self {
            flash_units: vec![unit; settings.units.max(1)],
            random: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            buffered_bytes: 0.0,
            last_drain: 0.0,
            interface_free_at: 0.0,
            settings,
        }
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.settings.capacity
    }

    /// Serves a request that arrives at `at`. `entropy` is the incompressible fraction of the
    /// written data, 0 to 1.
    pub fn serve(&mut self, access: &DriveAccess, at: f64, entropy: f64) -> DriveAnswer {
        let begin = at + self.settings.command_overhead;
        let done = if access.is_write {
            self.write(access, begin, entropy)
        } else {
            self.read(access, begin)
        };
        DriveAnswer::Completed(self.transfer_over_interface(access, done))
    }

    /// Flushes the write buffer and returns when that is done.
    pub fn flush(&mut self, at: f64) -> f64 {
        self.drain_write_buffer(at);
        let done =
            at + self.settings.command_overhead + self.buffered_bytes / self.program_rate() * 1e9;
        self.buffered_bytes = 0.0;
        self.last_drain = done;
        done
    }

    fn read(&mut self, access: &DriveAccess, begin: f64) -> f64 {
        let pages = access.address / PAGE_BYTES
            ..(access.address + u64::from(access.bytes)).div_ceil(PAGE_BYTES);
        let mut done = begin;
        for page in pages {
            let jitter =
                self.random.sample::<f64, _>(StandardNormal).abs() * self.settings.read_jitter;
            let unit = self.unit_of(page);
            let ready =
                self.flash_units[unit].free_at.max(begin) + self.settings.page_read_time + jitter;
            self.flash_units[unit].free_at = ready;
            done = done.max(ready);
        }
        done
    }

    /// Writes complete in the buffer; when it is full, at the rate at which the units program.
    fn write(&mut self, access: &DriveAccess, begin: f64, entropy: f64) -> f64 {
        let share = if self.settings.compresses {
            entropy.clamp(0.05, 1.0)
        } else {
            1.0
        };
        let bytes = f64::from(access.bytes) * share;
        self.drain_write_buffer(begin);
        if self.buffered_bytes + bytes <= self.settings.write_buffer as f64 {
            self.buffered_bytes += bytes;
            return begin;
        }
        let unit = self.unit_of(access.address / PAGE_BYTES);
        let pages = (bytes / PAGE_BYTES as f64).max(1.0);
        let state = &mut self.flash_units[unit];
        state.bytes_until_erase -= bytes;
        let mut busy = pages * self.settings.page_program_time;
        if state.bytes_until_erase <= 0.0 {
            busy += self.settings.block_erase_time;
            state.bytes_until_erase += self.settings.bytes_per_erase as f64;
        }
        state.free_at = state.free_at.max(begin) + busy;
        state.free_at
    }

    /// The interface transfers one request at a time.
    fn transfer_over_interface(&mut self, access: &DriveAccess, ready: f64) -> f64 {
        let wire = f64::from(access.bytes) / self.settings.interface_rate * 1e9;
        self.interface_free_at = self.interface_free_at.max(ready) + wire;
        self.interface_free_at
    }

    /// Pages are striped over the units in scattered order, so that no stride hits one unit only.
    fn unit_of(&self, page: u64) -> usize {
        (crate::stats::random::splitmix64(page) % self.flash_units.len() as u64) as usize
    }

    /// Total program rate of all units in bytes per second.
    fn program_rate(&self) -> f64 {
        self.flash_units.len() as f64 * PAGE_BYTES as f64 / self.settings.page_program_time * 1e9
    }

    fn drain_write_buffer(&mut self, at: f64) {
        let written = (at - self.last_drain).max(0.0) * self.program_rate() / 1e9;
        self.buffered_bytes = (self.buffered_bytes - written).max(0.0);
        self.last_drain = self.last_drain.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deterministic_ssd() -> SsdSettings {
        SsdSettings {
            read_jitter: 0.0,
            ..SsdSettings::default()
        }
    }

    fn completion_time(answer: DriveAnswer) -> f64 {
        match answer {
            DriveAnswer::Completed(at) | DriveAnswer::Failed(at) => at,
        }
    }

    fn access(address: u64, bytes: u32, write: bool) -> DriveAccess {
        DriveAccess {
            address,
            bytes,
            is_write: write,
        }
    }

    #[test]
    fn simulated_ssd_page_read_takes_overhead_page_and_transfer_time() {
        let mut drive = SolidStateDrive::new(deterministic_ssd());
        let done = completion_time(drive.serve(&access(0, 4096, false), 0.0, 1.0));
        assert!((done - 15e3 - 60e3 - 4096.0 / 3.5).abs() < 1.0, "{done}");
    }

    #[test]
    fn simulated_ssd_parallel_reads_are_faster_than_serial() {
        let mut drive = SolidStateDrive::new(deterministic_ssd());
        let last = (0..64)
            .map(|page| {
                completion_time(drive.serve(&access(page * PAGE_BYTES, 4096, false), 0.0, 1.0))
            })
            .fold(0.0, f64::max);
        assert!(last < 64.0 * 75e3 / 3.0, "{last}");
    }

    #[test]
    fn simulated_ssd_write_buffer_fills_later_with_compressible_data() {
        let slow_after = |compression: bool, entropy: f64| {
            let mut drive = SolidStateDrive::new(SsdSettings {
                compresses: compression,
                write_buffer: 16 << 20,
                ..deterministic_ssd()
            });
            let mut now = 0.0;
            (0..10_000_u64).find(|index| {
                let begin = now;
                now = completion_time(drive.serve(
                    &access(index << 17, 128 << 10, true),
                    begin,
                    entropy,
                ));
                now - begin > 1e6
            })
        };
        let plain = slow_after(false, 0.1).unwrap();
        assert!((100..400).contains(&plain), "{plain}");
        assert!(slow_after(true, 0.1).is_none_or(|writes| writes > 2 * plain));
        assert_eq!(slow_after(true, 1.0), Some(plain));
    }
}
