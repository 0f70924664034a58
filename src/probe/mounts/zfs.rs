//! ZFS datasets (`/proc/spl/kstat/zfs/POOL/objset-*`, OpenZFS 0.8 and later).

use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// Counters of a dataset since it was mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZfsDataset {
    /// Name, such as `tank/home`.
    pub name: Vec<u8>,
    /// read() calls.
    pub reads: u64,
    /// write() calls.
    pub writes: u64,
    /// Bytes read by programs, from the cache or from disks.
    pub read_bytes: u64,
    /// Bytes written by programs.
    pub written_bytes: u64,
}

/// The dataset of a file.
#[must_use]
pub fn parse_objset(text: &[u8]) -> Option<ZfsDataset> {
    let mut dataset = ZfsDataset::default();
    let mut known = 0;
    for line in nonempty_lines(text) {
        let mut words = split_fields(line);
        let (Some(name), Some(_kind), Some(value)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let counter = match name {
            b"dataset_name" => {
                dataset.name = value.to_vec();
                continue;
            }
            b"reads" => &mut dataset.reads,
            b"writes" => &mut dataset.writes,
            b"nread" => &mut dataset.read_bytes,
            b"nwritten" => &mut dataset.written_bytes,
            _ => continue,
        };
        *counter = parse_number(value)?;
        known += 1;
    }
    (known == 4 && !dataset.name.is_empty()).then_some(dataset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJSET: &str = "28 1 0x01 7 2160 5214787391 73405258558961\n\
        name                            type data\n\
        dataset_name                    7    tank/home\n\
        writes                          4    978\n\
        nwritten                        4    6450688\n\
        reads                           4    22\n\
        nread                           4    1884160\n\
        nunlinks                        4    14148\n\
        nunlinked                       4    14147\n";

    #[test]
    fn dataset_has_its_calls_and_bytes() {
        let expected = ZfsDataset {
            name: b"tank/home".to_vec(),
            reads: 22,
            writes: 978,
            read_bytes: 1_884_160,
            written_bytes: 6_450_688,
        };
        assert_eq!(parse_objset(OBJSET.as_bytes()), Some(expected));
    }

    #[test]
    fn incomplete_objset_is_unknown() {
        assert_eq!(parse_objset(b""), None);
        assert_eq!(parse_objset(b"dataset_name 7 x\nreads 4 1\n"), None);
        assert_eq!(parse_objset(OBJSET.replace("978", "-1").as_bytes()), None);
    }
}
