#!/bin/sh
# The write guard on a client of pNFS, which writes to the disks of its server itself: NFS 4.1 from the machine to
# itself, with block layouts. Run by hand, as root, in a virtual machine.
#
# usage: pnfs_client.sh DISK      name without /dev, of 1 GB or more; WHAT IS ON IT IS LOST
#
# Wanted: kernel modules nfsd, nfsv4, blocklayoutdriver, xfs; diskscope, mkfs.xfs, timeout and a mount that knows -i in the
# PATH. No server in user space: the exports are written into the kernel's tables. Prints one line for every check; its exit
# status is the number of those that failed.

disk=$1
failed=0
export XDG_STATE_HOME=/tmp/state

# expect STATUS REASON TARGET: overwriting it ends like that, and says so.
expect() {
    diskscope run random-write "$3" --overwrite "$3" --overwrite-signatures --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" /tmp/err; }; then
        echo "ok      $what: $3: $status ${2:-written}"
    else
        echo "FAILED  $what: $3: $status instead of $1 (${2:-written}): $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}

ip link set lo up
mkdir -p /tmp/served /tmp/mounted
dd if=/dev/zero of=/tmp/file bs=1M count=8 2>/dev/null
what="no mount"
expect 0 "" "/dev/$disk"
expect 0 "" /tmp/file

mkfs.xfs -q -f "/dev/$disk"
mount -t xfs "/dev/$disk" /tmp/served
mount -t nfsd nfsd /proc/fs/nfsd
echo "-2 -3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
# Each table takes one line in one write(2): exports(5), nfsd(7). The flags are those of an ordinary export and pnfs.
printf 'nfsd 127.0.0.1 2147483647 *\n' >/proc/net/rpc/auth.unix.ip/channel
printf '* /tmp/served 2147483647 %d 65534 65534 0\n' $((9250 | 0x20000)) >/proc/net/rpc/nfsd.export/channel
printf '* 1 \\x00000000 2147483647 /tmp/served\n' >/proc/net/rpc/nfsd.fh/channel
echo "tcp 2049" >/proc/fs/nfsd/portlist
echo 2 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
timeout 40 mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.1,sec=sys,soft,timeo=600 \
    127.0.0.1:/ /tmp/mounted || { echo "FAILED  the mount"; exit 1; }
grep -o "pnfs=[A-Z_]*" /proc/self/mountstats

what="mount with block layouts"
# A disk that the kernel does not know as that of the server: as with a server on another machine.
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
losetup /dev/loop5 /tmp/image
expect 3 "pNFS" /dev/loop5
expect 0 "" /tmp/file
umount /tmp/mounted
what="unmounted"
expect 0 "" /dev/loop5
echo 0 >/proc/fs/nfsd/threads
losetup -d /dev/loop5
echo "failed: $failed"
exit $failed
