//! SMB mounts (`/proc/fs/cifs/Stats`; fs/smb/client/cifs_debug.c, `cifs_stats_proc_show`). Root only on
//! some kernels.

use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// Counters of a share since it was mounted. There are no times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CifsShare {
    /// Share, such as `\\server\share`.
    pub name: Vec<u8>,
    /// Requests of all kinds.
    pub requests: Option<u64>,
    /// Bytes read from the server.
    pub read_bytes: Option<u64>,
    /// Bytes written to the server.
    pub written_bytes: Option<u64>,
}

/// The shares of the file.
#[must_use]
pub fn parse_stats(text: &[u8]) -> Vec<CifsShare> {
    let mut shares: Vec<CifsShare> = Vec::new();
    for line in nonempty_lines(text) {
        if let Some(name) = parse_heading(line) {
            shares.push(CifsShare {
                name,
                ..CifsShare::default()
            });
            continue;
        }
        let Some(share) = shares.last_mut() else {
            continue;
        };
        let words: Vec<&[u8]> = split_fields(line).collect();
        match words.as_slice() {
            [b"SMBs:", requests, ..] => share.requests = parse_number(requests),
            [b"Bytes", b"read:", read, b"Bytes", b"written:", written, ..] => {
                share.read_bytes = parse_number(read);
                share.written_bytes = parse_number(written);
            }
            _ => {}
        }
    }
    shares
}

/// `1) \\server\share`, with `DISCONNECTED` behind it while there is no connection.
fn parse_heading(line: &[u8]) -> Option<Vec<u8>> {
    let close = line.iter().position(|byte| *byte == b')')?;
    parse_number(&line[..close])?;
    let name = split_fields(&line[close + 1..]).next()?;
    name.starts_with(br"\\").then(|| name.to_vec())
}

/// Whether a mount source (`//server/share`) names a share.
#[must_use]
pub fn is_source_of(source: &[u8], share: &[u8]) -> bool {
    let plain = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
    let same = |(one, other): (&u8, &u8)| plain(one).eq_ignore_ascii_case(&plain(other));
    source.len() == share.len() && source.iter().zip(share).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1.
    const STATS: &str = "Resources in use\nCIFS Session: 1\nShare (unique mount targets): 2\n\
        SMB Request/Response Buffer: 1 Pool size: 5\nOperations (MIDs): 0\n\n\
        0 session 0 share reconnects\nTotal vfs operations: 104 maximum at one time: 2\n\n\
        Max requests in flight: 3\n1) \\\\nas\\media\nSMBs: 41\n\
        Bytes read: 1048576  Bytes written: 2097152\nOpen files: 0 total (local), 0 open on server\n\
        TreeConnects: 1 total 0 failed\nReads: 4 total 0 failed\nWrites: 8 total 0 failed\n\
        2) \\\\nas\\home\tDISCONNECTED \nSMBs: 9\n";

    #[test]
    fn shares_have_their_requests_and_bytes() {
        let shares = parse_stats(STATS.as_bytes());
        let expected = CifsShare {
            name: br"\\nas\media".to_vec(),
            requests: Some(41),
            read_bytes: Some(1_048_576),
            written_bytes: Some(2_097_152),
        };
        assert_eq!(shares[0], expected);
        assert_eq!((shares.len(), shares[1].requests), (2, Some(9)));
        assert_eq!(shares[1].read_bytes, None);
        assert!(is_source_of(b"//NAS/media", &shares[0].name));
        assert!(!is_source_of(b"//nas/medi", &shares[0].name));
    }

    #[test]
    fn damaged_statistics_have_no_shares() {
        assert_eq!(parse_stats(b"1)\n) \\\\x\nx) \\\\y\nSMBs: 3\n"), []);
    }
}
