#!/bin/sh
# Operations of the kernel as transfers: resync and check of an array, pvmove, scrub and balance of btrfs,
# and the upper limit of unwritten bytes on a kernel without cachestat(2). Run by hand, as root, in a
# virtual machine.
#
# usage: operations.sh NVME SCSI      names without /dev; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules raid1, dm-mirror, btrfs, ext4 with what they need; diskscope, mdadm, dmsetup, lvm,
# mkfs.ext4, mkfs.btrfs, btrfs in the PATH. Prints one line for every check; its exit status is the number of
# those that failed.

nvme=$1 scsi=$2
failed=0

# expect WHAT TEXT FILE: the file contains the text.
expect() {
    if grep -q -e "$2" "$3"; then
        echo "ok      $1: $(grep -m 1 -o -e "$2[^}]*" "$3" | head -c 600)"
    else
        echo "FAILED  $1: no '$2' in:"
        grep -o '"transfers":\[.*\]' "$3" | head -c 3000
        failed=$((failed + 1))
    fi
}

# watch_until WHAT TEXT: the transfers of some samples contain the text.
watch_until() {
    rm -f /tmp/transfers
    for _ in 1 2 3 4 5 6 7 8; do
        diskscope watch --interval 500ms --count 3 --json >>/tmp/transfers 2>/dev/null
        grep -q -e "$2" /tmp/transfers && break
    done
    expect "$1" "$2" /tmp/transfers
}

mkdir -p /tmp/point /run/mdadm /run/lock/lvm
echo "== array"
echo 20000 >/proc/sys/dev/raid/speed_limit_max
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 /dev/$nvme /dev/$scsi --size=400M \
    >/tmp/log 2>&1 || cat /tmp/log
watch_until "resync of an array" '"pid":null,"kind":"resync","command":"md0"'
expect "its position" '"position_bytes":[1-9][0-9]*,"size_bytes":419430400' /tmp/transfers
expect "its time left" '"eta_ns":[1-9]' /tmp/transfers
expect "its limit" '"throttled":"own-limit"' /tmp/transfers
diskscope watch --interval 1s --count 1
cat /proc/mdstat
# An array that has not been synchronized yet refuses to be checked.
echo 1000000 >/proc/sys/dev/raid/speed_limit_max
mdadm --wait /dev/md0
echo 20000 >/proc/sys/dev/raid/speed_limit_max
echo check >/sys/block/md0/md/sync_action
watch_until "check of an array" '"kind":"check","command":"md0"'
echo idle >/sys/block/md0/md/sync_action
mdadm --stop /dev/md0 >/tmp/log 2>&1 || cat /tmp/log
mdadm --zero-superblock /dev/$nvme /dev/$scsi

echo "== logical volume"
export LVM_SUPPRESS_FD_WARNINGS=1 DM_DISABLE_UDEV=1
lvm pvcreate -q -y /dev/$nvme /dev/$scsi >/tmp/log 2>&1 || cat /tmp/log
lvm vgcreate -q vg0 /dev/$nvme /dev/$scsi >/tmp/log 2>&1 || cat /tmp/log
lvm lvcreate -q -y -Zn -Wn -L 600M -n data vg0 /dev/$nvme >/tmp/log 2>&1 || cat /tmp/log
lvm pvmove -q -i 1 /dev/$nvme /dev/$scsi >/tmp/pvmove 2>&1 &
watch_until "pvmove" '"pid":null,"kind":"pvmove","command":"vg0-pvmove0"'
expect "its position" '"position_bytes":[1-9][0-9]*,"size_bytes":629145600' /tmp/transfers
dmsetup status
diskscope watch --interval 1s --count 1
wait
lvm vgremove -q -y vg0 >/tmp/log 2>&1 || cat /tmp/log
lvm pvremove -q /dev/$nvme /dev/$scsi >/tmp/log 2>&1

echo "== btrfs"
mkfs.btrfs -q -f -d single -m dup /dev/$scsi && mount /dev/$scsi /tmp/point
dd if=/dev/urandom of=/tmp/point/data bs=1M count=200 2>/dev/null && sync && echo 3 >/proc/sys/vm/drop_caches
btrfs scrub start -B /tmp/point >/tmp/scrub 2>&1 &
watch_until "scrub" '"kind":"scrub","command":"btrfs"'
diskscope watch --interval 1s --count 1
wait
cat /tmp/scrub
btrfs balance start --full-balance /tmp/point >/tmp/balance 2>&1 &
watch_until "balance" '"kind":"balance","command":"btrfs"'
expect "its chunks" '"unit":"chunks"' /tmp/transfers
wait
cat /tmp/balance
umount /tmp/point

echo "== unwritten bytes"
mkfs.ext4 -q -F /dev/$scsi && mount /dev/$scsi /tmp/point
(for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 4194304 /dev/zero; sleep 1; done) | cat >/tmp/point/copy &
case $(uname -r) in
[1-5].* | 6.[0-4].* | 6.[0-4]-*) watch_until "no cachestat(2)" '"not_on_disk_exact":false,"not_on_disk_unknown":"old-kernel"' ;;
*) watch_until "cachestat(2)" '"not_on_disk_exact":true' ;;
esac
wait
umount /tmp/point
exit $failed
