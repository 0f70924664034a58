use super::*;

const TABLE: &str = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
    22 21 0:21 / /proc rw - proc proc rw\n\
    23 21 0:40 / /srv/nfs\\040home rw - nfs fs1:/export/home rw,vers=3,addr=10.0.0.1\n\
    24 21 0:41 / /media rw - cifs //NAS/media rw,vers=3.1.1\n\
    25 21 0:42 / /mnt/ssh rw - fuse.sshfs host:/ rw,user_id=1000\n\
    26 21 0:43 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/data/up,workdir=/w\n\
    27 21 8:17 / /data rw - xfs /dev/sdb1 rw\n\
    28 21 0:44 / /tank rw - zfs tank/home rw,xattr\n\
    29 21 0:45 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n\
    30 21 8:1 /x /bind rw - ext4 /dev/sda1 rw\n\
    31 21 0:46 / /run rw - tmpfs tmpfs rw\n\
    32 21 0:47 / /host rw - virtiofs tag rw\n\
    33 21 8:33 / /ntfs rw - fuseblk /dev/sdc1 rw\n";

fn mounts(files: &[(&str, &str)]) -> Vec<MountSample> {
    let files = [files, &[("proc/self/mountinfo", TABLE)]].concat();
    let (_root, roots) = SysPaths::with_files(&files);
    read_mounts(&roots, &[])
}

fn at<'a>(mounts: &'a [MountSample], point: &str) -> &'a MountSample {
    let mut found = mounts.iter();
    found.find(|it| it.mount_point == point.as_bytes()).unwrap()
}

#[test]
fn storage_is_listed_once_and_says_what_it_lacks() {
    let found = mounts(&[]);
    let points = found
        .iter()
        .map(|it| String::from_utf8_lossy(&it.mount_point).into_owned());
    let expected = [
        "/",
        "/srv/nfs home",
        "/media",
        "/mnt/ssh",
        "/merged",
        "/data",
        "/tank",
        "/host",
        "/ntfs",
    ];
    assert_eq!(points.collect::<Vec<_>>(), expected);
    let lacks = |point| at(&found, point).no_counters;
    assert_eq!(lacks("/"), Some(NoMountCounters::BlockDevice));
    assert_eq!(lacks("/media"), Some(NoMountCounters::Unreadable));
    assert_eq!(lacks("/mnt/ssh"), Some(NoMountCounters::NoFusectl));
    assert_eq!(lacks("/host"), Some(NoMountCounters::FileSystem));
    assert_eq!(at(&found, "/").device, Some((8, 1)));
    assert_eq!(at(&found, "/merged").device, Some((8, 17)), "of /data");
}

#[test]
fn mounts_have_the_counters_of_their_kernel_files() {
    let found = mounts(&[
        (
            "proc/self/mountstats",
            "device fs1:/export/home mounted on /srv/nfs\\040home with fstype nfs statvers=1.1\n\
             \topts:\trw,vers=3\n\tbytes:\t1 2 3 4 50 60 7 8\n\tper-op statistics\n\
             \t READ: 10 12 0 1 2 3 4 5\n\t WRITE: 5 5 0 1 2 3 4 5\n",
        ),
        (
            "proc/fs/cifs/Stats",
            "1) \\\\nas\\medi\nSMBs: 1\n2) \\\\nas\\media\tDISCONNECTED\nSMBs: 41\n\
             Bytes read: 10  Bytes written: 20\n",
        ),
        ("sys/fs/fuse/connections/42/waiting", "3\n"),
        // The number of the kernel: 8 << 20 | 33.
        ("sys/fs/fuse/connections/8388641/waiting", "4\n"),
        (
            "proc/spl/kstat/zfs/tank/objset-0x36",
            "28 1 0x01 7 2160 5214787391 73405258558961\nname  type data\n\
             dataset_name 7 tank/home\nwrites 4 2\nnwritten 4 100\nreads 4 1\nnread 4 50\n",
        ),
    ]);
    let counted = |point| {
        let it = &at(&found, point).counters;
        (it.read_bytes, it.written_bytes, it.requests)
    };
    assert_eq!(counted("/srv/nfs home"), (Some(50), Some(60), Some(15)));
    assert_eq!(counted("/media"), (Some(10), Some(20), Some(41)));
    assert_eq!(counted("/tank"), (Some(50), Some(100), Some(3)));
    assert_eq!(
        (at(&found, "/mnt/ssh").waiting, at(&found, "/ntfs").waiting),
        (Some(3), Some(4))
    );
    assert_eq!(at(&found, "/mnt/ssh").no_counters, None);
    let version = at(&found, "/srv/nfs home").version.as_deref();
    assert_eq!(version, Some(&b"3"[..]));
}

/// Linux 6.1, NFSv4.2; older kernels lack the last column of the operations.
const MOUNTSTATS: &str = "device rootfs mounted on / with fstype rootfs\n\
    device 127.0.0.1:/ mounted on /mnt/n with fstype nfs4 statvers=1.1\n\
    \topts:\trw,vers=4.2,rsize=131072,wsize=131072,proto=tcp,local_lock=none\n\
    \tage:\t3\n\
    \timpl_id:\tname='',domain='',date='0,0'\n\
    \tcaps:\tcaps=0xffbffff,wtmult=512,dtsize=131072,bsize=0,namlen=255\n\
    \tevents:\t52 188 0 9 22 12 200 31 0 27 0 4 7 0 31 0 0 27 0 0 0 0 0 0 0 0 0\n\
    \tbytes:\t0 8388608 0 0 0 8388608 0 2048\n\
    \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
    \txprt:\ttcp 0 0 2 0 0 99 99 0 99 0 2 0 0\n\
    \tper-op statistics\n\
    \t        NULL: 1 1 0 44 24 0 0 0 0\n\
    \t        READ: 100 102 1 12400 104857600 50 900 1000\n\
    \t       WRITE: 64 64 0 8404992 11264 103 901 1004 2\n\
    \t      COMMIT: 0 0 0 0 0 0 0 0 0\n\
    \n\
    device proc mounted on /proc with fstype proc\n";

#[test]
fn requests_of_nfs_are_summed_up_with_their_times() {
    let mounts = parse_mountstats(MOUNTSTATS.as_bytes());
    let [mount] = mounts.as_slice() else {
        panic!("{mounts:?}")
    };
    assert_eq!(mount.version.as_deref(), Some(&b"4.2"[..]));
    assert_eq!(mount.counters.requests, Some(165));
    let expected = RpcCounters {
        requests: 165,
        transmissions: 167,
        timeouts: 1,
        queue_ms: 153,
        round_trip_ms: 1801,
        execution_ms: 2004,
    };
    assert_eq!(mount.counters.rpc, Some(expected));
}

#[test]
fn damaged_statistics_have_what_is_readable() {
    for text in [&b""[..], b"device x mounted on\n\tage:\t1\n"] {
        assert_eq!(parse_mountstats(text), []);
    }
    let text = b"device a:/ mounted on /a with fstype nfs\n\tbytes:\t1 2 3\n\tper-op statistics\n\t READ: 1 x\n";
    let counters = &parse_mountstats(text)[0].counters;
    assert_eq!((counters.read_bytes, counters.requests), (None, Some(0)));
    assert_eq!(parse_cifs_stats(b"1)\nSMBs: 3\n"), []);
    for text in [
        &b""[..],
        b"dataset_name 7 x\nreads 4 1\n",
        b"dataset_name 7 x\nwrites 4 -1\n",
    ] {
        assert_eq!(parse_objset(text), None);
    }
}

#[test]
fn waiting_requests_are_read_by_connection() {
    let read = |files: &[(&str, &str)]| {
        let (_root, roots) = SysPaths::with_files(files);
        let found = counters::read_connections(&roots)?;
        let found = found.iter().map(|it| (it.device_id, it.waiting));
        Some(found.collect::<Vec<_>>())
    };
    assert_eq!(read(&[]), None);
    let found = read(&[
        ("sys/fs/fuse/connections/47/waiting", "3\n"),
        ("sys/fs/fuse/connections/8388625/waiting", "0\n"),
        ("sys/fs/fuse/connections/90/max_background", "12\n"),
    ]);
    let expected = [((0, 47), Some(3)), ((8, 17), Some(0)), ((0, 90), None)];
    assert_eq!(found.as_deref(), Some(&expected[..]));
}
