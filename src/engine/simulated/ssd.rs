//! A solid state drive made of arithmetic: parallel units, a write buffer that fills, stalls for
//! erasing, and compression if asked for. Times are nanoseconds since the clock's origin.

use super::hdd::{Access, Answer};
use crate::drive::random::Random;

/// Bytes that one unit reads or programs at a time.
const PAGE: u64 = 16 << 10;

/// What a simulated solid state drive is like. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Size in bytes.
    pub capacity: u64,
    /// Units that work at the same time.
    pub units: usize,
    /// Reading one page.
    pub read: f64,
    /// Programming one page.
    pub program: f64,
    /// Erasing one block.
    pub erase: f64,
    /// Bytes that a unit programs before it has to erase again.
    pub erase_every: u64,
    /// What every command costs.
    pub overhead: f64,
    /// Bytes per second between drive and host.
    pub interface: f64,
    /// Bytes of fast write buffer.
    pub write_buffer: u64,
    /// Whether data is compressed before it is written.
    pub compression: bool,
    /// Spread of a page's reading.
    pub jitter: f64,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            capacity: 500_000_000_000,
            units: 8,
            read: 60e3,
            program: 400e3,
            erase: 4e6,
            erase_every: 4 << 20,
            overhead: 15e3,
            interface: 3.5e9,
            write_buffer: 256 << 20,
            compression: false,
            jitter: 4e3,
            seed: 1,
        }
    }
}

/// One unit: when it is free, and how much it can program before it erases.
#[derive(Debug, Clone, Copy)]
struct Unit {
    free_at: f64,
    writable: f64,
}

/// A simulated solid state drive.
#[derive(Debug)]
pub struct Ssd {
    settings: Settings,
    units: Vec<Unit>,
    random: Random,
    buffered: f64,
    drained_at: f64,
    wire_free_at: f64,
}

impl Ssd {
    /// An idle drive with an empty buffer.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let unit = Unit {
            free_at: 0.0,
            writable: settings.erase_every as f64,
        };
        Self {
            units: vec![unit; settings.units.max(1)],
            random: Random::new(settings.seed),
            buffered: 0.0,
            drained_at: 0.0,
            wire_free_at: 0.0,
            settings,
        }
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.settings.capacity
    }

    /// Answers a request that arrives at `at`. `entropy` is the share of written data that cannot
    /// be compressed away, 0 to 1.
    pub fn serve(&mut self, access: &Access, at: f64, entropy: f64) -> Answer {
        let begin = at + self.settings.overhead;
        let done = if access.write {
            self.write(access, begin, entropy)
        } else {
            self.read(access, begin)
        };
        Answer::Done(self.transfer(access, done))
    }

    /// Writes the buffer out: when it is done.
    pub fn flush(&mut self, at: f64) -> f64 {
        self.drain(at);
        let done = at + self.settings.overhead + self.buffered / self.program_rate() * 1e9;
        self.buffered = 0.0;
        self.drained_at = done;
        done
    }

    fn read(&mut self, access: &Access, begin: f64) -> f64 {
        let pages =
            access.address / PAGE..(access.address + u64::from(access.bytes)).div_ceil(PAGE);
        let mut done = begin;
        for page in pages {
            let jitter = self.random.normal().abs() * self.settings.jitter;
            let unit = self.unit_of(page);
            let ready = self.units[unit].free_at.max(begin) + self.settings.read + jitter;
            self.units[unit].free_at = ready;
            done = done.max(ready);
        }
        done
    }

    /// Into the buffer at once; when that is full, as fast as the units program.
    fn write(&mut self, access: &Access, begin: f64, entropy: f64) -> f64 {
        let share = if self.settings.compression {
            entropy.clamp(0.05, 1.0)
        } else {
            1.0
        };
        let bytes = f64::from(access.bytes) * share;
        self.drain(begin);
        if self.buffered + bytes <= self.settings.write_buffer as f64 {
            self.buffered += bytes;
            return begin;
        }
        let unit = self.unit_of(access.address / PAGE);
        let pages = (bytes / PAGE as f64).max(1.0);
        let state = &mut self.units[unit];
        state.writable -= bytes;
        let mut busy = pages * self.settings.program;
        if state.writable <= 0.0 {
            busy += self.settings.erase;
            state.writable += self.settings.erase_every as f64;
        }
        state.free_at = state.free_at.max(begin) + busy;
        state.free_at
    }

    /// The wire carries one request at a time.
    fn transfer(&mut self, access: &Access, ready: f64) -> f64 {
        let wire = f64::from(access.bytes) / self.settings.interface * 1e9;
        self.wire_free_at = self.wire_free_at.max(ready) + wire;
        self.wire_free_at
    }

    /// Pages lie on the units in turn, scattered so that no stride meets one unit only.
    fn unit_of(&self, page: u64) -> usize {
        (crate::drive::random::scatter(page) % self.units.len() as u64) as usize
    }

    /// Bytes per second that all units program together.
    fn program_rate(&self) -> f64 {
        self.units.len() as f64 * PAGE as f64 / self.settings.program * 1e9
    }

    fn drain(&mut self, at: f64) {
        let written = (at - self.drained_at).max(0.0) * self.program_rate() / 1e9;
        self.buffered = (self.buffered - written).max(0.0);
        self.drained_at = self.drained_at.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact() -> Settings {
        Settings {
            jitter: 0.0,
            ..Settings::default()
        }
    }

    fn time(answer: Answer) -> f64 {
        match answer {
            Answer::Done(at) | Answer::Failed(at) => at,
        }
    }

    fn access(address: u64, bytes: u32, write: bool) -> Access {
        Access {
            address,
            bytes,
            write,
        }
    }

    #[test]
    fn a_page_takes_command_page_and_wire() {
        let mut drive = Ssd::new(exact());
        let done = time(drive.serve(&access(0, 4096, false), 0.0, 1.0));
        assert!((done - 15e3 - 60e3 - 4096.0 / 3.5).abs() < 1.0, "{done}");
    }

    #[test]
    fn many_at_once_are_faster_than_one_after_the_other() {
        let mut drive = Ssd::new(exact());
        let last = (0..64)
            .map(|page| time(drive.serve(&access(page * PAGE, 4096, false), 0.0, 1.0)))
            .fold(0.0, f64::max);
        assert!(last < 64.0 * 75e3 / 3.0, "{last}");
    }

    #[test]
    fn the_buffer_fills_and_compression_stretches_it() {
        let slow_after = |compression: bool, entropy: f64| {
            let mut drive = Ssd::new(Settings {
                compression,
                write_buffer: 16 << 20,
                ..exact()
            });
            let mut now = 0.0;
            (0..10_000_u64).find(|index| {
                let begin = now;
                now = time(drive.serve(&access(index << 17, 128 << 10, true), begin, entropy));
                now - begin > 1e6
            })
        };
        let plain = slow_after(false, 0.1).unwrap();
        assert!((100..400).contains(&plain), "{plain}");
        assert!(slow_after(true, 0.1).is_none_or(|writes| writes > 2 * plain));
        assert_eq!(slow_after(true, 1.0), Some(plain));
    }
}
