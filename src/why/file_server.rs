//! File systems whose server is another program or another machine, and the kernel's clients of them.

/// The part of the kernel that sends the requests of a file system to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileServerClient {
    /// A process on this machine; the host, for virtiofs.
    Fuse,
    /// NFS.
    Nfs,
    /// SMB.
    Smb,
    /// Ceph.
    Ceph,
    /// 9p.
    NineP,
    /// AFS.
    Afs,
}

/// The clients with the types of their file systems and the beginnings of the names of their functions.
const CLIENTS: [(FileServerClient, &[&str], &[&str]); 6] = [
    (
        FileServerClient::Fuse,
        &["fuse", "fuseblk", "virtiofs"],
        &["request_wait_answer", "fuse_", "__fuse_"],
    ),
    (FileServerClient::Nfs, &["nfs", "nfs4"], &["rpc_", "nfs"]),
    (
        FileServerClient::Smb,
        &["cifs", "smb3", "smbfs"],
        &["cifs_", "smb2_", "smb_", "wait_for_response"],
    ),
    (FileServerClient::Ceph, &["ceph"], &["ceph_"]),
    (FileServerClient::NineP, &["9p"], &["p9_client_rpc"]),
    (FileServerClient::Afs, &["afs"], &["afs_"]),
];

impl FileServerClient {
    /// The client that a kernel function belongs to.
    #[must_use]
    pub fn of_function(name: &str) -> Option<Self> {
        let begins = |names: &&[&str]| names.iter().any(|begin| name.starts_with(begin));
        let (client, ..) = CLIENTS.iter().find(|(.., functions)| begins(functions))?;
        Some(*client)
    }

    /// The client of a type of file systems, which may name its program as well (`fuse.sshfs`).
    #[must_use]
    pub fn of_file_system(kind: &str) -> Option<Self> {
        let kind = kind.split('.').next().unwrap_or_default();
        let (client, ..) = CLIENTS.iter().find(|(_, kinds, _)| kinds.contains(&kind))?;
        Some(*client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_known_by_function_and_by_file_system() {
        use FileServerClient as Client;
        for (function, kind, client) in [
            ("request_wait_answer", "fuse.sshfs", Client::Fuse),
            ("fuse_wait_on_page_writeback", "fuseblk", Client::Fuse),
            ("rpc_wait_bit_killable", "nfs4", Client::Nfs),
            ("nfs_wait_bit_killable", "nfs", Client::Nfs),
            ("wait_for_response", "cifs", Client::Smb),
            ("p9_client_rpc", "9p", Client::NineP),
        ] {
            assert_eq!(FileServerClient::of_function(function), Some(client));
            assert_eq!(FileServerClient::of_file_system(kind), Some(client));
        }
        for kind in ["fusectl", "nfsd", "ext4", ""] {
            assert_eq!(FileServerClient::of_file_system(kind), None, "{kind}");
        }
        assert_eq!(FileServerClient::of_function("folio_wait_bit_common"), None);
    }
}
