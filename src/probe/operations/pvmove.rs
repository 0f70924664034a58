//! pvmove of LVM: the status of its temporary mirror (kernel
//! Documentation/admin-guide/device-mapper/). Needs root.

use std::fs::OpenOptions;

use super::operation::{OperationKind, OperationProgress, OperationSample, SECTOR};
use super::sources::OperationSources;
use crate::drive::device_mapper::parse_table;
use crate::drive::ioctl;
use crate::probe::text::read_word;

/// The operations of all devices.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let devices = sources.disks.iter().filter(|it| it.name.starts_with("dm-"));
    devices
        .filter_map(|device| {
            let directory = sources.roots.sys.join("class/block").join(&device.name);
            // LVM names the mirror so: `VG-pvmove0`.
            let name = read_word(&directory.join("dm/name"))?;
            let is_pvmove = name.rsplit('-').next()?.starts_with("pvmove");
            let control = sources.roots.dev.join("mapper/control");
            let open = || OpenOptions::new().read(true).write(true).open(control);
            let control = if is_pvmove { open().ok()? } else { return None };
            let status = ioctl::device_mapper_status(&control, device.device_number);
            let (count, answer) = status.ok()?;
            let progress = parse_mirror_status(count, &answer)?;
            Some(OperationSample {
                device: Some(device.device_number),
                ..OperationSample::new(OperationKind::Pvmove, name.as_bytes(), progress)
            })
        })
        .collect()
}

/// Progress by the answer of the kernel to a request for the status of a device: `count` targets;
/// `None` where the answer is damaged or nothing is left to be copied.
#[must_use]
pub fn parse_mirror_status(count: u32, answer: &[u8]) -> Option<OperationProgress> {
    let (mut done, mut total) = (0_u64, 0_u64);
    for target in parse_table(count, answer)? {
        if target.target_type != "mirror" {
            continue;
        }
        // MIRRORS DEVICE... REGIONS_IN_SYNC/REGIONS ...
        let words: Vec<&str> = target.parameters.split_ascii_whitespace().collect();
        let mirrors: usize = words.first()?.parse().ok()?;
        let (synced, regions) = words.get(mirrors.checked_add(1)?)?.split_once('/')?;
        let (synced, regions): (u64, u64) = (synced.parse().ok()?, regions.parse().ok()?);
        if synced > regions {
            return None;
        }
        let bytes = target.sectors.checked_mul(SECTOR)?;
        let part = u128::from(bytes) * u128::from(synced) / u128::from(regions.max(1));
        done = done.checked_add(u64::try_from(part).ok()?)?;
        total = total.checked_add(bytes)?;
    }
    (done < total).then(|| OperationProgress::bytes(done, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of the kernel for one target.
    fn status(target_type: &str, parameters: &str) -> Vec<u8> {
        let mut answer = vec![0; 8];
        answer.extend(81_920_u64.to_ne_bytes());
        answer.extend([0; 4]);
        answer.extend(96_u32.to_ne_bytes());
        let mut name = target_type.as_bytes().to_vec();
        name.resize(16, 0);
        answer.extend(name);
        answer.extend(parameters.as_bytes());
        answer.resize(96, 0);
        answer
    }

    #[test]
    fn mirror_tells_its_progress() {
        let total = 81_920 * SECTOR;
        for (kind, parameters, done) in [
            ("mirror", "2 253:3 253:4 20/80 1 AA 1 core", Some(total / 4)),
            ("mirror", "2 253:3 253:4 80/80 1 AA 1 core", None),
            ("mirror", "2 253:3", None),
            ("raid", "raid1 2 aa 1024/2097152 check 0 0 -", None),
        ] {
            let expected = done.map(|done| OperationProgress::bytes(done, total));
            assert_eq!(
                parse_mirror_status(1, &status(kind, parameters)),
                expected,
                "{kind} {parameters}"
            );
        }
    }
}
