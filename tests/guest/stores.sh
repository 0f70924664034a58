#!/bin/sh
# What a write takes space of below a file system or a device: snapshots and thin pools of device-mapper, memory
# (zram). Run by hand, as root, in a virtual machine.
#
# usage: stores.sh DISK LARGE      names without /dev, the second one of 4 GB; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules ext4, dm-snapshot, dm-thin-pool, zram; diskscope, dmsetup, mkfs.ext4 in the PATH. Prints
# one line for every check; its exit status is the number of those that failed.

disk=$1 large=$2
failed=0
export XDG_STATE_HOME=/tmp/state DM_DISABLE_UDEV=1
mkdir -p /tmp/point /tmp/view

# expect STATUS REASON WORD...: running that ends like that, and says so.
expect() {
    status_wanted=$1 reason=$2
    shift 2
    diskscope run random-write "$@" --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$status_wanted" ] && { [ -z "$reason" ] || grep -q "$reason" /tmp/err /tmp/out; }; then
        echo "ok      $what: $*: $status ${reason:-written}"
    else
        echo "FAILED  $what: $*: $status instead of $status_wanted (${reason:-written}): $(tail -n 4 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
# overwrite STATUS REASON TARGET WORD...
overwrite() {
    status_wanted=$1 reason=$2 target=$3
    shift 3
    expect "$status_wanted" "$reason" "$target" --overwrite "$target" --overwrite-signatures "$@"
}
map() { printf "$2\n" | dmsetup create --noudevsync "$1" && dmsetup mknodes; }
unmap() { dmsetup remove --noudevsync "$1"; }
# check WHAT COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok      $what: $name"
    else
        echo "FAILED  $what: $name"
        failed=$((failed + 1))
    fi
}
holds() { dmsetup status "$1" | grep -q "$2"; }
dd if=/dev/zero of=/dev/$disk bs=1M count=900 2>/dev/null

# snapshot SECTORS: of a file system of 3 GB that is mounted, as LVM does it.
snapshot() {
    map real "0 6000000 linear /dev/$large 0"
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 /dev/mapper/real
    mount -t ext4 /dev/mapper/real /tmp/point && echo content >/tmp/point/file && umount /tmp/point
    map store "0 $1 linear /dev/$disk 900000"
    map snapshot "0 6000000 snapshot /dev/mapper/real /dev/mapper/store P 8"
    map origin "0 6000000 snapshot-origin /dev/mapper/real"
    mount -t ext4 /dev/mapper/origin /tmp/point
}
remove() {
    umount /tmp/point
    unmap snapshot; unmap origin; unmap store; unmap real
    dd if=/dev/zero of=/dev/$disk bs=512 seek=900000 count=2048 2>/dev/null
}

what="scratch file on the origin of a small snapshot"
snapshot 100000
expect 1 "the snapshot snapshot has" /tmp/point --scratch-size 32MiB --requests 20
sync
check "the snapshot is valid" holds snapshot "/100000"
what="file on the origin of a small snapshot"
dd if=/dev/zero of=/tmp/point/data bs=1M count=4 2>/dev/null
sync
overwrite 0 "" /tmp/point/data --requests 20
check "the snapshot is valid" holds snapshot "/100000"
remove
what="origin, snapshot and store"
snapshot 100000
umount /tmp/point
overwrite 3 "the snapshot snapshot has" /dev/mapper/origin --bytes 100MiB
overwrite 0 "" /dev/mapper/origin --requests 20
overwrite 3 "the snapshot snapshot has" /dev/mapper/snapshot --bytes 100MiB
overwrite 0 "" /dev/mapper/snapshot --requests 20
check "the snapshot is valid" holds snapshot "/100000"
remove 2>/dev/null
what="snapshot with space"
snapshot 400000
sync
expect 0 "" /tmp/point --scratch-size 16MiB --requests 20
check "the snapshot is valid" holds snapshot "/400000"
remove

what="device in memory"
if [ -e /sys/block/zram0 ]; then
    # More than the machine has.
    echo 64G >/sys/block/zram0/disksize
    overwrite 3 "the memory, limited by the machine, has" /dev/zram0 --requests 20000000
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 -O ^has_journal /dev/zram0
    mount -t ext4 /dev/zram0 /tmp/point
    expect 1 "the memory, limited by the machine, has" /tmp/point --scratch-size 32GiB
    umount /tmp/point
else
    echo "skipped $what"
fi

what="thin pool"
map metadata "0 8192 linear /dev/$disk 0"
map data "0 262144 linear /dev/$disk 100000"
dd if=/dev/zero of=/dev/mapper/metadata bs=4096 count=1 2>/dev/null
map pool "0 262144 thin-pool /dev/mapper/metadata /dev/mapper/data 128 0"
dmsetup message pool 0 "create_thin 0"
map volume "0 8000000 thin /dev/mapper/pool 0"
mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 -O ^has_journal /dev/mapper/volume
mount -t ext4 /dev/mapper/volume /tmp/point
expect 1 "the thin pool pool has" /tmp/point --scratch-size 200MiB --requests 20
sync
expect 0 "" /tmp/point --scratch-size 16MiB --requests 20
fstrim /tmp/point
umount /tmp/point
overwrite 3 "the thin pool pool has" /dev/mapper/volume --bytes 300MiB
sync
overwrite 0 "" /dev/mapper/volume --requests 20
unmap volume; unmap pool; unmap data; unmap metadata

echo "$failed failed"
exit $failed
