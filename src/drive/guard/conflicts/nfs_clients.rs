//! Files that clients of the NFS server of this machine have open for writing (kernel
//! fs/nfsd/nfs4state.c, `states_show`). The server has them open in the kernel, without a process.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::list_directory;
use crate::roots::SysPaths;

/// The most bytes of the tables of all clients. Clients decide how many files they open, and how
/// long the names are.
const MAX_TABLE_BYTES: u64 = 64 << 20;

/// A file that a client has open for writing, or may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NfsOpenFile {
    /// The address of the client, or its number at the server.
    pub client: String,
    /// Device number of the file system, as mount tables show it.
    pub file_system: (u32, u32),
    /// Its inode.
    pub inode: u64,
}

/// The files that clients of NFS 4 have open for writing, by `/proc/fs/nfsd/clients/*/states` (kernel
/// 5.8). Clients of older versions of NFS open nothing.
///
/// # Errors
/// When the server runs, and its clients cannot be listed.
pub(super) fn list_open_files(roots: &SysPaths) -> io::Result<Vec<NfsOpenFile>> {
    let nfsd = roots.proc.join("fs/nfsd");
    if !nfsd.join("threads").exists() {
        return match server_is_running(roots) {
            true => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the NFS server runs, and nfsd is not mounted here",
            )),
            false => Ok(Vec::new()),
        };
    }
    let clients = nfsd.join("clients");
    let (mut found, mut bytes_left) = (Vec::new(), MAX_TABLE_BYTES);
    for number in list_directory(&clients)? {
        let directory = clients.join(&number);
        let table = match File::open(directory.join("states")) {
            // The client has just gone, or the kernel has no such tables.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            table => table?,
        };
        let client = client_address(&directory).unwrap_or_else(|| format!("number {number}"));
        read_states(table, &client, &mut bytes_left, &mut found)?;
    }
    Ok(found)
}

/// Whether the server has threads (kernel fs/nfsd/stats.c, the line `th`).
fn server_is_running(roots: &SysPaths) -> bool {
    let text = fs::read_to_string(roots.proc.join("net/rpc/nfsd")).unwrap_or_default();
    let threads = text.lines().find_map(|line| line.strip_prefix("th "));
    threads.is_some_and(|line| line.split(' ').next() != Some("0"))
}

/// The line `address: "127.0.0.1:913"` in `info`.
fn client_address(directory: &Path) -> Option<String> {
    let info = fs::read(directory.join("info")).ok()?;
    let info = String::from_utf8_lossy(&info);
    let address = info
        .lines()
        .find_map(|line| line.strip_prefix("address: "))?;
    Some(sanitized(address.trim_matches('"')))
}

fn read_states(
    table: impl Read,
    client: &str,
    bytes_left: &mut u64,
    found: &mut Vec<NfsOpenFile>,
) -> io::Result<()> {
    let (mut table, mut line) = (BufReader::new(table), Vec::new());
    loop {
        line.clear();
        let length = (&mut table)
            .take(*bytes_left + 1)
            .read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(());
        }
        *bytes_left = bytes_left.checked_sub(length).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                "its clients have too many files open",
            )
        })?;
        let opened = parse_state(&line);
        found.extend(opened.map(|(file_system, inode)| NfsOpenFile {
            client: client.to_owned(),
            file_system,
            inode,
        }));
    }
}

/// `- 0xSTATEID: { type: open, access: rw, deny: --, superblock: "07:04:12", filename: ...`: the file,
/// unless it is open for reading only. A lock belongs to an open file, which has its own line. Clients
/// choose the names.
fn parse_state(line: &[u8]) -> Option<((u32, u32), u64)> {
    let line = String::from_utf8_lossy(line);
    let line = line.split(" filename: ").next()?;
    let value = |name: &str| {
        let from = line.find(name)? + name.len();
        line[from..].split([',', '}']).next().map(str::trim)
    };
    if matches!(value(" access: "), Some("r" | "r-")) || value(" type: ") == Some("lock") {
        return None;
    }
    let mut numbers = value(" superblock: ")?.trim_matches('"').split(':');
    let mut hexadecimal = || u32::from_str_radix(numbers.next()?, 16).ok();
    let file_system = (hexadecimal()?, hexadecimal()?);
    Some((file_system, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "- 0x00000001b18e036be513c23f08000000: { type: open, access: rw, deny: --, \
                        superblock: \"07:0a:12\", filename: \"/vm.img\", owner: \"open id:\\x00\" }\n";

    #[test]
    fn states_with_write_access_are_parsed() {
        let parse = |text: &str| parse_state(text.as_bytes());
        let file = Some(((7, 10), 12));
        assert_eq!(parse(OPEN), file);
        assert_eq!(parse(&OPEN.replace("rw", "-w")), file);
        assert_eq!(parse(&OPEN.replace("rw", "r-")), None);
        let delegation =
            "- 0x01: { type: deleg, access: w, superblock: \"07:0a:12\", filename: \"/a\" }";
        assert_eq!(parse(delegation), file);
        assert_eq!(parse(&delegation.replace(": w", ": r")), None);
        // A layout of pNFS has no access, and may be one for writing.
        let layout = "- 0x01: { type: layout, superblock: \"07:0a:12\", filename: \"/a\" }";
        assert_eq!(parse(layout), file);
        let lying = layout.replace("/a", "/, access: r-, type: lock, ");
        assert_eq!(parse(&lying), file);
        assert_eq!(parse(&layout.replace("layout", "lock")), None);
        let named = OPEN.replace("/vm.img", "/ access: r-, superblock: 00:00:1");
        assert_eq!(parse(&named), file);
        for other in ["", "\n", "- 0x01: { type: open }", "superblock: x"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn clients_that_cannot_be_listed_are_an_error_while_the_server_runs() {
        let (_tree, roots) = SysPaths::with_files(&[("proc/net/rpc/nfsd", "rc 0 0 0\nth 0 0\n")]);
        assert_eq!(list_open_files(&roots).unwrap(), []);
        fs::write(roots.proc.join("net/rpc/nfsd"), "rc 0 0 0\nth 8 0\n").unwrap();
        assert!(list_open_files(&roots).is_err());
        let client = roots.proc.join("fs/nfsd/clients/3");
        fs::create_dir_all(&client).unwrap();
        fs::write(roots.proc.join("fs/nfsd/threads"), "8\n").unwrap();
        assert_eq!(list_open_files(&roots).unwrap(), []);
        fs::write(client.join("states"), OPEN).unwrap();
        let file = |client: &str| NfsOpenFile {
            client: client.to_owned(),
            file_system: (7, 10),
            inode: 12,
        };
        assert_eq!(list_open_files(&roots).unwrap(), [file("number 3")]);
        fs::write(
            client.join("info"),
            "clientid: 0x1\naddress: \"10.0.0.2:913\"\n",
        )
        .unwrap();
        assert_eq!(list_open_files(&roots).unwrap(), [file("10.0.0.2:913")]);
    }

    #[test]
    fn table_beyond_its_limit_is_an_error() {
        let read = |mut bytes_left: u64| {
            let mut found = Vec::new();
            read_states(OPEN.as_bytes(), "one", &mut bytes_left, &mut found).map(|()| found)
        };
        assert_eq!(read(OPEN.len() as u64).unwrap().len(), 1);
        let error = read(OPEN.len() as u64 - 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
