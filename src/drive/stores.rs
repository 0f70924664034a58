//! What writes to a device take space of although the device has its full size: a thin pool and a snapshot of
//! device-mapper (kernel Documentation/admin-guide/device-mapper/thin-provisioning.rst, snapshot.rst), a pool of
//! ZFS. When a snapshot is full, all of its data is lost; when a pool is full, the kernel drops data that it has
//! accepted.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use super::device_mapper::{TableLine, parse_table};
use super::identity::sanitized;
use super::identity::sysfs::{directory_entries, read_device_number, read_line};
use super::ioctl;
use crate::roots::SysPaths;

const SECTOR_BYTES: u64 = 512;
/// zfs(8) takes longer while a pool is busy, and does not answer while one is suspended.
const ZFS_ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Where zfs(8) and zpool(8) are installed. A path that the environment names would be run by root.
const PROGRAM_PATH: &str =
    "/sbin:/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/run/current-system/sw/bin";

/// What has space for data, and how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSpace {
    /// What it is, for display: a path, or such as `the thin pool vg-pool`.
    pub place: String,
    /// Bytes that this user can still write.
    pub free_bytes: u64,
    /// Its size in bytes.
    pub total_bytes: u64,
}

/// The pools and snapshots that writes to these devices take space of.
pub(super) fn stores(roots: &SysPaths, devices: &[String]) -> Vec<FreeSpace> {
    let mut names: Vec<String> = devices.to_vec();
    for name in devices {
        names.extend(snapshots_of_origin(roots, name));
    }
    let mapped = names.iter().flat_map(|name| mapped_stores(roots, name));
    let pools = devices.iter().filter_map(|name| zfs_pool(roots, name));
    mapped.chain(pools).collect()
}

/// What a device takes its space of, if how much of that is left cannot be told.
pub(super) fn unknown_store(roots: &SysPaths, name: &str) -> Option<String> {
    let directory = roots.sys.join("class/block").join(name);
    if let Some(image) = read_line(&directory.join("loop/backing_file")) {
        return Some(format!(
            "the file system of the image {}",
            sanitized(&image)
        ));
    }
    let may_be_store = directory.join("dm").exists() && status(roots, name).is_none();
    may_be_store.then(|| format!("{} (root may see its status)", map_name(roots, name)))
}

fn map_name(roots: &SysPaths, name: &str) -> String {
    let own = roots.sys.join("class/block").join(name).join("dm/name");
    sanitized(&read_line(&own).unwrap_or_else(|| name.to_owned()))
}

/// The status of a device-mapper device; `None` for other devices, and if it cannot be read, as without root.
fn status(roots: &SysPaths, name: &str) -> Option<Vec<TableLine>> {
    let directory = roots.sys.join("class/block").join(name);
    if !directory.join("dm").exists() {
        return None;
    }
    let number = read_device_number(&directory)?;
    let control = roots.dev.join("mapper/control");
    let control = File::options().read(true).write(true).open(control).ok()?;
    let (count, answer) = ioctl::device_mapper_status(&control, number).ok()?;
    parse_table(count, &answer)
}

fn mapped_stores(roots: &SysPaths, name: &str) -> Vec<FreeSpace> {
    let lines = status(roots, name).unwrap_or_default();
    let spaces = lines.iter().filter_map(|line| {
        let (kind, free_bytes, total_bytes) = mapped_space(line)?;
        Some(FreeSpace {
            place: format!("the {kind} {}", map_name(roots, name)),
            free_bytes,
            total_bytes,
        })
    });
    spaces.collect()
}

/// What a line is called, and its free and its total bytes.
fn mapped_space(line: &TableLine) -> Option<(&'static str, u64, u64)> {
    let target_bytes = line.sectors.saturating_mul(SECTOR_BYTES);
    let (kind, position) = match line.target_type.as_str() {
        // USED/TOTAL METADATA, in sectors
        "snapshot" => ("snapshot", 0),
        // TRANSACTION USED/TOTAL (blocks for metadata) USED/TOTAL (blocks for data)
        "thin-pool" => ("thin pool", 2),
        _ => return None,
    };
    let word = line.parameters.split_whitespace().nth(position)?;
    let (used, total) = word.split_once('/')?;
    let (used, total): (u64, u64) = (used.parse().ok()?, total.parse().ok()?);
    let unit_bytes = match kind {
        "snapshot" => SECTOR_BYTES,
        _ => target_bytes.checked_div(total)?,
    };
    let bytes = |units: u64| units.saturating_mul(unit_bytes);
    Some((kind, bytes(total.saturating_sub(used)), bytes(total)))
}

/// The snapshots that get a copy of what is overwritten on a device: it is their origin.
fn snapshots_of_origin(roots: &SysPaths, name: &str) -> Vec<String> {
    let lines = status(roots, name).unwrap_or_default();
    if !lines
        .iter()
        .any(|line| line.target_type == "snapshot-origin")
    {
        return Vec::new();
    }
    let class = roots.sys.join("class/block");
    let origins = directory_entries(&class.join(name).join("slaves"));
    let mut holders: Vec<String> = origins
        .iter()
        .flat_map(|origin| directory_entries(&class.join(origin).join("holders")))
        .collect();
    holders.retain(|holder| holder != name);
    holders
}

/// The pool of a ZFS volume without a reservation of its size, which is what takes space of it with each write.
fn zfs_pool(roots: &SysPaths, name: &str) -> Option<FreeSpace> {
    let device = name.starts_with("zd").then(|| roots.dev.join(name))?;
    let device = File::open(device).ok()?;
    let dataset = String::from_utf8(ioctl::zfs_volume_name(&device).ok()?).ok()?;
    let properties = "volsize,refreservation,available,used";
    let answer = start_program("zfs", &["list", "-Hpo", properties, "--", &dataset])?;
    let answer = answer.recv_timeout(ZFS_ANSWER_LIMIT).ok()?;
    let (free_bytes, total_bytes) = volume_space(&String::from_utf8_lossy(&answer))?;
    Some(FreeSpace {
        place: format!("the ZFS pool of {}", sanitized(&dataset)),
        free_bytes,
        total_bytes,
    })
}

/// Free and total bytes from size, reservation, available and used bytes of a volume; `None` where its pool
/// keeps space for all of it.
fn volume_space(answer: &str) -> Option<(u64, u64)> {
    let mut numbers = answer.split_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next().map(Result::unwrap_or_default);
    let (size, reserved, available, used) = (next()?, next()?, next()?, next()?);
    (reserved < size).then_some((available, available.saturating_add(used)))
}

/// Runs zfs(8), without a shell: only its library knows the ioctls that tell properties.
/// It hangs while a pool is suspended, so that a thread waits for the output. It arrives once the program
/// has ended, and is empty where it fails or is not installed. `None` where no thread can be started.
fn start_program(program: &str, arguments: &[&str]) -> Option<Receiver<Vec<u8>>> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs([("LC_ALL", "C"), ("PATH", PROGRAM_PATH)])
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let (sender, answer) = sync_channel(1);
    let body = move || {
        let output = command.output().ok().filter(|it| it.status.success());
        // The receiver is gone where nobody waits any longer.
        let _ = sender.send(output.map(|it| it.stdout).unwrap_or_default());
    };
    let thread = thread::Builder::new().name("zfs".to_owned());
    thread.spawn(body).ok().map(|_| answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_that_of_the_status() {
        const MIB: u64 = 1 << 20;
        let pool = "0 12/4161280 100/1600 - rw discard_passdown queue_if_no_space - 1024";
        let filled = Some(("thin pool", 1500 * MIB / 16, 100 * MIB));
        let snapshot = Some(("snapshot", 90 * MIB, 100 * MIB));
        let cases = [
            ("thin-pool", pool, filled),
            ("snapshot", "20480/204800 88", snapshot),
            ("snapshot", "Invalid", None),
            ("thin-pool", "Fail", None),
            ("linear", "", None),
        ];
        for (kind, status, expected) in cases {
            let line = TableLine {
                sectors: 204_800,
                target_type: kind.to_owned(),
                parameters: status.to_owned(),
            };
            assert_eq!(mapped_space(&line), expected, "{kind} {status}");
        }
    }

    #[test]
    fn volume_with_a_reservation_of_its_size_takes_no_space_of_its_pool() {
        assert_eq!(volume_space("1000\t0\t300\t50\n"), Some((300, 350)));
        assert_eq!(volume_space("1000\t999\t300\t50\n"), Some((300, 350)));
        assert_eq!(volume_space("1000\t1016\t300\t50\n"), None);
        assert_eq!(volume_space(""), None);
    }

    #[test]
    fn program_that_fails_has_an_empty_answer() {
        let answer = |script| {
            let call = start_program("/bin/sh", &["-c", script]).unwrap();
            call.recv_timeout(Duration::from_secs(20)).unwrap()
        };
        assert_eq!(answer("echo tank"), b"tank\n");
        assert_eq!(answer("echo tank; exit 1"), b"");
    }
}
