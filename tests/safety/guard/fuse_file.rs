//! A file of a server in user space that nobody but the kernel counts the openers of.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use fuser::{
    Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};

use crate::file_attributes::file_attributes;
use crate::guard::sandbox::command_output;
use crate::requirement::{Requirement, skip};

const FILE: INodeNo = INodeNo(2);
const FILE_BYTES: u64 = 4 << 20;
const TIME_TO_LIVE: Duration = Duration::from_secs(60);

struct Server;

fn attributes(inode: INodeNo) -> FileAttr {
    file_attributes(inode, FILE_BYTES, (0o755, 0o644), 0)
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "file" {
            reply.entry(&TIME_TO_LIVE, &attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TIME_TO_LIVE, &attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(&vec![0; size as usize]);
    }
}

/// The file `file` of 4 MiB of a mounted server; unmounted at the end.
pub struct FuseFile {
    directory: tempfile::TempDir,
    session: Option<fuser::BackgroundSession>,
}

impl FuseFile {
    /// `None`, and why, where FUSE is not to be had.
    pub fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut options = Config::default();
        options.mount_options = vec![MountOption::FSName("server".to_owned())];
        match fuser::spawn_mount(Server, directory.path(), &options) {
            Ok(session) => Some(Self {
                directory,
                session: Some(session),
            }),
            Err(error) => {
                skip(Requirement::Fuse, format!("no FUSE here: {error}"));
                None
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("file")
    }
}

impl Drop for FuseFile {
    fn drop(&mut self) {
        command_output("umount", &["-l", self.directory.path().to_str().unwrap()]);
        drop(self.session.take());
    }
}
