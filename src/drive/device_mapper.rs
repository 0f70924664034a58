//! Status of the targets of device-mapper devices (kernel Documentation/admin-guide/device-mapper/).

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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(next: u32, length: u64, kind: &str, parameters: &str) -> Vec<u8> {
        let mut bytes = vec![0; TARGET_SPEC_BYTES];
        bytes[8..16].copy_from_slice(&length.to_ne_bytes());
        bytes[20..24].copy_from_slice(&next.to_ne_bytes());
        bytes[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
        bytes.extend(parameters.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn records_are_followed_and_malformed_ones_refused() {
        let mut both = record(56, 8, "linear", "");
        assert_eq!(both.len(), 48);
        both.resize(56, 0);
        both.extend(record(0, 16, "thin-pool", "0 1/2 3/4"));
        let lines = parse_table(2, &both).unwrap();
        assert_eq!((lines[1].sectors, &*lines[1].parameters), (16, "0 1/2 3/4"));
        for damaged in [&both[..60], &record(0, 8, "linear", "")[..]] {
            assert_eq!(parse_table(2, damaged), None);
        }
    }
}
