//! Limits of control groups, and processors.

use std::fs;

use super::super::situation::Held;
use super::{Draw, Load, MIB, Requirement, Staged, direct_reader, disk, own_directory};
use crate::control_group::TestCgroup;
use crate::loop_device::LoopDevice;
use crate::requirement::skip;

/// A limit of bytes written per second for one device, for all processes: the threads that write
/// back are in the root group. Removed when this is dropped.
pub(super) struct SlowWrites(String);

const ROOT_LIMIT: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

impl SlowWrites {
    pub fn limit(device: &str, bytes: u64) -> Option<Self> {
        let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
        let number = number.trim().to_owned();
        if fs::write(ROOT_LIMIT, format!("{number} {bytes}")).is_err() {
            skip(
                Requirement::Cgroup,
                "needs the blkio controller of version 1",
            );
            return None;
        }
        Some(Self(number))
    }

    fn lift(&self) {
        let _ = fs::write(ROOT_LIMIT, format!("{} 0", self.0));
    }
}

impl Held for SlowWrites {
    fn release(&self) {
        self.lift();
    }
}

impl Drop for SlowWrites {
    fn drop(&mut self) {
        self.lift();
    }
}

/// A group whose reads are limited, until they are let go.
struct ReadLimit(TestCgroup, (u32, u32));

impl Held for ReadLimit {
    fn release(&self) {
        self.0.lift_read_limit(self.1);
    }
}

/// A reader of a device in a group that reads at most that many bytes a second.
fn limited_reader(device: LoopDevice, limit: u64, block: &str) -> Option<Staged> {
    let group = TestCgroup::with_read_limit(device.number(), limit)?;
    let name = group.name();
    let reader = direct_reader(device.path(), block, 0);
    let load = Load::shell([group.command(&reader)]);
    let staged = Staged::new(load).waits(&[0]).on(device.name()).says(name);
    let number = device.number();
    Some(staged.holding(ReadLimit(group, number)).holding(device))
}

pub(in super::super) fn group_at_its_limit(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = disk(directory.path(), 256 * MIB)?;
    let limit = draw.number("bytes_per_s", 1_000_000, 6_000_000);
    Some(limited_reader(device, limit, "128K")?.holding(directory))
}

pub(in super::super) fn request_that_exceeds_the_limit(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = disk(directory.path(), 64 * MIB)?;
    // A request of 128 KiB takes 16 s and longer: the rate is 0 in most seconds.
    let limit = draw.number("bytes_per_s", 2_000, 8_000);
    Some(limited_reader(device, limit, "128K")?.holding(directory))
}

pub(in super::super) fn group_at_its_limit_of_requests(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = disk(directory.path(), 64 * MIB)?;
    let (major, minor) = device.number();
    let limit = format!("{major}:{minor} {}", draw.number("iops", 20, 120));
    let group = TestCgroup::with_limit("blkio", "blkio.throttle.read_iops_device", &limit)?;
    let name = group.name();
    let load = Load::shell([group.command(&direct_reader(device.path(), "4k", 0))]);
    let staged = Staged::new(load).waits(&[0]).on(device.name()).says(name);
    Some(staged.holding(group).holding(device).holding(directory))
}

/// A job that would use a processor has a part of it.
pub(in super::super) fn processor_quota(draw: &mut Draw) -> Option<Staged> {
    let quota = draw.number("quota_us", 5_000, 30_000).to_string();
    let group = TestCgroup::with_limit("cpu", "cpu.cfs_quota_us", &quota)?;
    let name = group.name();
    let directory = own_directory();
    let data = super::write_file(directory.path().join("data"), 32 * MIB);
    // One process all the time, as a compression or a checksum is.
    let load = Load::shell([group.command(&format!(
        "exec perl -e 'while (1) {{ open F, \"{data}\"; while (read F, $x, 65536) {{ $s = unpack \"%32C*\", $x }} }}'"
    ))]);
    let staged = Staged::new(load).names(&[0]).on(name).says("quota");
    Some(staged.holding(group).holding(directory))
}

pub(in super::super) fn busy_processors(draw: &mut Draw) -> Option<Staged> {
    let processors = std::thread::available_parallelism().unwrap().get();
    let programs = processors * draw.number("programs_per_processor", 2, 5) as usize;
    let load = Load::shell((0..programs).map(|_| "while :; do :; done".to_owned()));
    let all: Vec<usize> = (0..programs).collect();
    Some(Staged::new(load).names(&all))
}
