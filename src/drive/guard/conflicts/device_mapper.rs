//! The sectors of lower devices that a device-mapper device consists of (kernel
//! Documentation/admin-guide/device-mapper/).

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;

use crate::drive::ioctl;
use crate::drive::mounts::parse_device_number;
use crate::roots::SysPaths;

/// Size of `struct dm_target_spec`: start and length of 8 bytes each, status and offset of the next
/// record of 4 bytes each, type of 16.
const TARGET_SPEC_BYTES: usize = 40;

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLine {
    /// Length in sectors.
    pub sectors: u64,
    /// Target type, such as `linear`.
    pub target_type: String,
    /// Target parameters.
    pub parameters: String,
}

/// A range of a lower device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedRange {
    /// Number of the lower device.
    pub lower_device: (u32, u32),
    /// Sector range; `None` if the target type does not define it: any sector.
    pub sectors: Option<Range<u64>>,
    /// Device ID within the pool, for a thin volume.
    pub thin_device_id: Option<u64>,
}

/// Where the lines of a table lead. Two tables with the same layout cover the same sectors.
pub type TableLayout = Vec<LineLayout>;

/// Where one line of a table leads. Other parameters are left out: some change while the table
/// stays, and one is the key of an encrypted device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineLayout {
    sectors: u64,
    target_type: String,
    /// Each lower device with the word that follows, which is its first sector or the like.
    lower_devices: Vec<(String, String)>,
}

/// Where a table leads.
#[must_use]
pub fn table_layout(table: &[TableLine]) -> TableLayout {
    table.iter().map(line_layout).collect()
}

fn line_layout(line: &TableLine) -> LineLayout {
    let mut words = line.parameters.split_whitespace().peekable();
    let mut lower_devices = Vec::new();
    while let Some(word) = words.next() {
        if parse_device_number(word).is_some() || word.starts_with('/') {
            let next = words.peek().copied().unwrap_or_default();
            lower_devices.push((word.to_owned(), next.to_owned()));
        }
    }
    LineLayout {
        sectors: line.sectors,
        target_type: line.target_type.clone(),
        lower_devices,
    }
}

/// Parses the records of a table in the kernel's format. `None` if they are malformed.
#[must_use]
pub fn parse_table(count: u32, bytes: &[u8]) -> Option<Vec<TableLine>> {
    let mut lines = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let record = bytes.get(at..)?;
        let word = |from: usize| {
            Some(u64::from_ne_bytes(
                record.get(from..from + 8)?.try_into().ok()?,
            ))
        };
        let next = u32::from_ne_bytes(record.get(20..24)?.try_into().ok()?) as usize;
        lines.push(TableLine {
            sectors: word(8)?,
            target_type: c_string(record.get(24..TARGET_SPEC_BYTES)?)?,
            parameters: c_string(record.get(TARGET_SPEC_BYTES..)?)?,
        });
        // Offsets are relative to the first record and ascending.
        if next <= at && lines.len() < count as usize {
            return None;
        }
        at = next;
    }
    Some(lines)
}

/// A NUL-terminated string.
fn c_string(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// The ranges that a table maps to.
#[must_use]
pub fn mapped_ranges(table: &[TableLine]) -> Vec<MappedRange> {
    table.iter().flat_map(mapped_ranges_of_line).collect()
}

/// Whether no two lines of a table lead to the same sectors, so that different sectors of the device
/// are different ones of its lower devices. The kernel accepts any lines. `lower_devices_share`:
/// whether two different lower devices have, or may have, sectors in common.
#[must_use]
pub fn lines_are_disjoint(
    table: &[TableLine],
    lower_devices_share: &dyn Fn((u32, u32), (u32, u32)) -> bool,
) -> bool {
    let lines: Vec<Vec<MappedRange>> = table.iter().map(mapped_ranges_of_line).collect();
    let apart = |a: &MappedRange, b: &MappedRange| match a.lower_device == b.lower_device {
        true => ranges_are_apart(a, b),
        false => !lower_devices_share(a.lower_device, b.lower_device),
    };
    lines.iter().enumerate().all(|(index, line)| {
        let mut later = lines[index + 1..].iter().flatten();
        later.all(|b| line.iter().all(|a| apart(a, b)))
    })
}

fn mapped_ranges_of_line(line: &TableLine) -> Vec<MappedRange> {
    let words: Vec<&str> = line.parameters.split_whitespace().collect();
    let known = match line.target_type.as_str() {
        // DEVICE START ...
        "linear" | "flakey" | "dust" => consecutive_ranges(&words, 0, 1, line.sectors),
        // CIPHER KEY IV_OFFSET DEVICE START ...
        "crypt" => consecutive_ranges(&words, 3, 1, line.sectors),
        // STRIPES CHUNK [DEVICE START]...
        "striped" => striped_ranges(&words, line.sectors),
        // DEVICE START DELAY [DEVICE START DELAY]...
        "delay" => consecutive_ranges(&words, 0, words.len() / 3, line.sectors),
        "thin" => thin_ranges(&words),
        "error" | "zero" => Some(Vec::new()),
        _ => None,
    };
    known.unwrap_or_else(|| whole_devices(&words))
}

/// `count` ranges of the same length; those of `delay` are three words apart.
fn consecutive_ranges(
    words: &[&str],
    first: usize,
    count: usize,
    length: u64,
) -> Option<Vec<MappedRange>> {
    (0..count.max(1))
        .map(|index| mapped_range(words, first + index * 3, length))
        .collect()
}

fn striped_ranges(words: &[&str], length: u64) -> Option<Vec<MappedRange>> {
    let stripes: u64 = words.first()?.parse().ok()?;
    let each = length.checked_div(stripes)?;
    (0..usize::try_from(stripes).ok()?.min(words.len()))
        .map(|stripe| mapped_range(words, 2 + stripe * 2, each))
        .collect()
}

fn mapped_range(words: &[&str], at: usize, length: u64) -> Option<MappedRange> {
    let start: u64 = words.get(at + 1)?.parse().ok()?;
    Some(MappedRange {
        lower_device: parse_device_number(words.get(at)?)?,
        sectors: Some(start..start.checked_add(length)?),
        thin_device_id: None,
    })
}

/// `POOL VOLUME ...`: a pool never gives two volumes the same writable block.
fn thin_ranges(words: &[&str]) -> Option<Vec<MappedRange>> {
    let mut pieces = whole_devices(words);
    pieces.first_mut()?.thin_device_id = Some(words.get(1)?.parse().ok()?);
    Some(pieces)
}

/// The whole of every device named in the parameters.
fn whole_devices(words: &[&str]) -> Vec<MappedRange> {
    let numbers = words.iter().filter_map(|word| parse_device_number(word));
    numbers
        .map(|lower| MappedRange {
            lower_device: lower,
            sectors: None,
            thin_device_id: None,
        })
        .collect()
}

/// Whether two devices share no sector of a lower device, different sectors of which are different
/// ones of what it is on (see [`lines_are_disjoint`]). `false` if one of them does not name the
/// lower device, because its table is then not understood.
#[must_use]
pub fn ranges_are_disjoint(one: &[MappedRange], other: &[MappedRange], lower: (u32, u32)) -> bool {
    let on_it = |pieces: &[MappedRange]| -> Vec<MappedRange> {
        let pieces = pieces.iter().filter(|piece| piece.lower_device == lower);
        pieces.cloned().collect()
    };
    let (one, other) = (on_it(one), on_it(other));
    let mut pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    !one.is_empty() && !other.is_empty() && pairs.all(|(a, b)| ranges_are_apart(a, b))
}

/// Whether two ranges of one lower device have no sector in common.
fn ranges_are_apart(one: &MappedRange, other: &MappedRange) -> bool {
    match (
        &one.sectors,
        &other.sectors,
        one.thin_device_id,
        other.thin_device_id,
    ) {
        (_, _, Some(a), Some(b)) => a != b,
        (Some(a), Some(b), ..) => a.end <= b.start || b.end <= a.start,
        _ => false,
    }
}

/// The mapped ranges of the device-mapper device of that number.
///
/// # Errors
/// When the kernel does not report them: this needs root.
pub(super) fn read_mapped_ranges(
    roots: &SysPaths,
    number: (u32, u32),
) -> io::Result<Vec<MappedRange>> {
    Ok(mapped_ranges(&read_table(roots, number)?))
}

/// Where the live table of the device-mapper device of that number leads.
///
/// # Errors
/// As [`read_mapped_ranges`].
pub(in crate::drive::guard) fn read_table_layout(
    roots: &SysPaths,
    number: (u32, u32),
) -> io::Result<TableLayout> {
    Ok(table_layout(&read_table(roots, number)?))
}

/// The live table of the device-mapper device of that number.
///
/// # Errors
/// As [`read_mapped_ranges`].
pub(in crate::drive) fn read_table(
    roots: &SysPaths,
    number: (u32, u32),
) -> io::Result<Vec<TableLine>> {
    let (count, answer) = ioctl::device_mapper_table(&open_control(roots)?, number)?;
    parse_table(count, &answer).ok_or(io::ErrorKind::InvalidData.into())
}

fn open_control(roots: &SysPaths) -> io::Result<File> {
    let control = roots.dev.join("mapper/control");
    OpenOptions::new().read(true).write(true).open(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(next: u32, length: u64, kind: &str, parameters: &str) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        bytes[8..16].copy_from_slice(&length.to_ne_bytes());
        bytes[20..24].copy_from_slice(&next.to_ne_bytes());
        bytes[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
        bytes.extend(parameters.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn table(lines: &[(u64, &str, &str)]) -> Vec<MappedRange> {
        let mut bytes = Vec::new();
        for (length, kind, parameters) in lines {
            let size = record(0, *length, kind, parameters).len();
            let next = u32::try_from(bytes.len() + size).unwrap();
            bytes.extend(record(next, *length, kind, parameters));
        }
        let lines = parse_table(u32::try_from(lines.len()).unwrap(), &bytes).unwrap();
        mapped_ranges(&lines)
    }

    const LOWER: (u32, u32) = (8, 2);

    #[test]
    fn layout_of_a_table_has_devices_and_sectors_but_no_key_or_status() {
        let layout = |kind: &str, parameters: &str| {
            table_layout(&[TableLine {
                sectors: 100,
                target_type: kind.to_owned(),
                parameters: parameters.to_owned(),
            }])
        };
        let linear = layout("linear", "8:2 2048");
        assert_eq!(linear, layout("linear", "8:2 2048"));
        assert_ne!(linear, layout("linear", "8:2 4096"), "other sectors");
        assert_ne!(linear, layout("linear", "8:3 2048"), "another device");
        assert_ne!(linear, layout("flakey", "8:2 2048"), "another type");
        let mirror = |from: u32| {
            let parameters = format!("core 2 64 nosync 2 8:1 0 8:17 {from}");
            layout("mirror", &parameters)
        };
        assert_ne!(mirror(0), mirror(64));
        // The kernel drops the word when it has calculated all checksums.
        let checked = layout("integrity", "8:2 0 32 J 2 internal_hash:crc32c recalculate");
        assert_eq!(
            checked,
            layout("integrity", "8:2 0 32 J 1 internal_hash:crc32c")
        );
        let encrypted = layout("crypt", "aes-xts-plain64 00112233 0 8:2 4096");
        assert!(!format!("{encrypted:?}").contains("00112233"));
        assert_ne!(
            encrypted,
            layout("crypt", "aes-xts-plain64 00112233 0 8:2 0")
        );
    }

    #[test]
    fn logical_volumes_of_one_group_are_disjoint() {
        let one = table(&[(100, "linear", "8:2 2048"), (50, "linear", "8:2 4096")]);
        let other = table(&[(100, "linear", "8:2 2148")]);
        assert!(ranges_are_disjoint(&one, &other, LOWER));
        let third = table(&[(100, "linear", "8:2 4145")]);
        assert!(!ranges_are_disjoint(&one, &third, LOWER));
    }

    #[test]
    fn lines_that_lead_to_the_same_sectors_are_not_disjoint() {
        let disjoint = |lines: &[(&str, &str)], share: bool| {
            let table: Vec<TableLine> = lines
                .iter()
                .map(|(kind, parameters)| TableLine {
                    sectors: 100,
                    target_type: (*kind).to_owned(),
                    parameters: (*parameters).to_owned(),
                })
                .collect();
            lines_are_disjoint(&table, &|_, _| share)
        };
        let twice = [("linear", "8:2 0"), ("linear", "8:2 0")];
        assert!(!disjoint(&twice, false));
        assert!(!disjoint(
            &[("linear", "8:2 0"), ("linear", "8:2 99")],
            false
        ));
        assert!(disjoint(
            &[("linear", "8:2 0"), ("linear", "8:2 100")],
            true
        ));
        let third = [
            ("linear", "8:2 0"),
            ("linear", "8:3 0"),
            ("linear", "8:2 50"),
        ];
        assert!(!disjoint(&third, false), "not next to each other");
        let two = [("linear", "8:2 0"), ("linear", "8:3 0")];
        assert!(disjoint(&two, false));
        assert!(!disjoint(&two, true), "one may lie in the other");
        // One line names a device for reading and for writing.
        assert!(disjoint(&[("delay", "8:2 0 5 8:2 0 9")], true));
        let raid = "raid1 3 0 region_size 1024 2 8:1 8:2 8:17 8:18";
        assert!(disjoint(&[("raid", raid)], true));
        assert!(!disjoint(&[("raid", raid), ("linear", "8:18 0")], false));
        assert!(disjoint(
            &[("error", ""), ("zero", ""), ("linear", "8:2 0")],
            true
        ));
        assert!(!disjoint(&[("thin", "8:2 1"), ("thin", "8:2 1")], false));
    }

    #[test]
    fn crypt_and_striped_targets_give_mapped_ranges() {
        let crypt = table(&[(100, "crypt", "aes-xts-plain64 :64:logon:key 0 8:2 4096")]);
        let striped = table(&[(200, "striped", "2 128 8:2 4000 8:18 0")]);
        assert_eq!(striped[0].sectors, Some(4000..4100));
        assert!(!ranges_are_disjoint(&crypt, &striped, LOWER));
        let beyond = table(&[(200, "striped", "2 128 8:2 4196 8:18 0")]);
        assert!(ranges_are_disjoint(&crypt, &beyond, LOWER));
    }

    #[test]
    fn unknown_target_type_maps_whole_devices() {
        let raid = table(&[(
            100,
            "raid",
            "raid1 3 0 region_size 1024 2 8:1 8:2 8:17 8:18",
        )]);
        let linear = table(&[(100, "linear", "8:2 1000000")]);
        assert!(!ranges_are_disjoint(&raid, &linear, LOWER));
        assert!(!ranges_are_disjoint(&linear, &[], LOWER), "not understood");
    }

    #[test]
    fn thin_volumes_with_different_ids_are_disjoint() {
        let volume = |number: &str| table(&[(100, "thin", &format!("8:2 {number}"))]);
        assert!(ranges_are_disjoint(&volume("1"), &volume("2"), LOWER));
        assert!(!ranges_are_disjoint(&volume("1"), &volume("1"), LOWER));
    }

    #[test]
    fn damaged_device_mapper_table_is_not_parsed() {
        assert_eq!(parse_table(1, &[0; 30]), None);
        let bytes = record(0, 100, "linear", "8:2 0");
        assert_eq!(parse_table(2, &bytes), None);
    }
}
