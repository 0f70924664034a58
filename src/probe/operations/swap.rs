//! Swap areas (`/proc/swaps`, proc(5)).

use crate::mountinfo::unescape;
use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// A swap area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapUsage {
    /// Device or file.
    pub path: Vec<u8>,
    /// Bytes of it that are in use.
    pub used_bytes: u64,
}

/// The areas of `/proc/swaps`.
#[must_use]
pub fn parse_swaps(text: &[u8]) -> Vec<SwapUsage> {
    nonempty_lines(text)
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&[u8]> = split_fields(line).collect();
            let [path, _kind, _size, used, ..] = fields.as_slice() else {
                return None;
            };
            Some(SwapUsage {
                path: unescape(path),
                used_bytes: parse_number(used)?.checked_mul(1024)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_areas_are_parsed_with_escaped_paths() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/dm-1                               partition\t2097148\t\t524288\t\t-2\n\
            /srv/swap\\040file                       file    \t65532\t\t0\t\t-3\n";
        let area = |path: &[u8], used_bytes| SwapUsage {
            path: path.to_vec(),
            used_bytes,
        };
        let expected = [
            area(b"/dev/dm-1", 524_288 * 1024),
            area(b"/srv/swap file", 0),
        ];
        assert_eq!(parse_swaps(text), expected);
        assert_eq!(parse_swaps(b"Filename Type Size Used Priority\n"), []);
        assert_eq!(
            parse_swaps(b"x\n/dev/sda2 partition 1 y -2\n/dev/sda3\n"),
            []
        );
    }
}
