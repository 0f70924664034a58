#!/bin/sh
# What a write takes space of below a file system or a device: dm-snapshot, thin pools, memory (zram), the second
# device of XFS and F2FS. And files of a stacked file system (ecryptfs). Run by hand, as root, in a virtual machine.
#
# usage: stores.sh DISK LARGE      names without /dev, the second one of 4 GB; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules ext4, loop, dm-snapshot, dm-thin-pool, zram; diskscope, dmsetup, mkfs.ext4 in the
# PATH; for the second device the modules and mkfs.xfs, mkfs.f2fs; for ecryptfs the module, and
# ecryptfs-add-passphrase. Prints one line for every check; its
# exit status is the number of those that failed.

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
# Tells apart what is written to drives.
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
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
expect 1 "may need space in the snapshot snapshot, which has" /tmp/point --scratch-size 32MiB --requests 20
expect 1 "may need space in the snapshot snapshot, which has" /tmp/point --requests 20
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
overwrite 3 "may need space in the snapshot snapshot, which has" /dev/mapper/origin --bytes 100MiB
overwrite 0 "" /dev/mapper/origin --requests 20
overwrite 3 "may need space in the snapshot snapshot, which has" /dev/mapper/snapshot --bytes 100MiB
overwrite 0 "" /dev/mapper/snapshot --requests 20
check "the snapshot is valid" holds snapshot "/100000"
remove 2>/dev/null
what="snapshot with space"
snapshot 400000
sync
expect 0 "" /tmp/point --scratch-size 16MiB --requests 20
check "the snapshot is valid" holds snapshot "/400000"
remove

what="snapshot that is made while an output grows"
map real "0 6000000 linear /dev/$large 0"
map origin "0 6000000 linear /dev/mapper/real 0"
mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/origin
mount -t ext4 /dev/mapper/origin /tmp/point
dd if=/dev/zero of=/tmp/point/others bs=1M count=3 2>/dev/null
sync
diskscope watch --json --interval 0.5 -o /tmp/point/lines >/tmp/out 2>/tmp/err &
output=$!
sleep 5
check "the output grows" [ -s /tmp/point/lines ]
map store "0 8192 linear /dev/$disk 900000"
dmsetup suspend --noudevsync origin
map snapshot "0 6000000 snapshot /dev/mapper/real /dev/mapper/store P 8"
dmsetup reload origin --table "0 6000000 snapshot-origin /dev/mapper/real"
dmsetup resume --noudevsync origin
dd if=/dev/urandom of=/tmp/point/others bs=1M count=2 conv=notrunc 2>/dev/null
sync
sleep 5
check "the output has ended" sh -c "! kill -0 $output 2>/dev/null"
kill -INT $output 2>/dev/null
wait $output
check "and says why" grep -q "almost full" /tmp/err
check "the snapshot is valid" holds snapshot "/8192"
remove

what="device in memory"
if [ -e /sys/block/zram0 ]; then
    # More than the machine has.
    echo 64G >/sys/block/zram0/disksize
    overwrite 3 "is in memory, of which the machine leaves" /dev/zram0 --requests 20000000
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 -O ^has_journal /dev/zram0
    mount -t ext4 /dev/zram0 /tmp/point
    expect 1 "is in memory, of which the machine leaves" /tmp/point --scratch-size 32GiB
    umount /tmp/point
    # A limit that the memory of the machine has room for, below a larger file system.
    what="device in memory with a limit"
    echo 1 >/sys/block/zram0/reset
    echo 4G >/sys/block/zram0/disksize
    echo 192M >/sys/block/zram0/mem_limit
    limit="is in the memory of zram0, whose limit (mem_limit) leaves"
    used() { awk '{ print int($3 / 1048576) }' /sys/block/zram0/mm_stat; }
    overwrite 3 "$limit" /dev/zram0 --requests 20000000
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 -O ^has_journal /dev/zram0
    mount -t ext4 /dev/zram0 /tmp/point
    dd if=/dev/urandom of=/tmp/point/others bs=1M count=32 2>/dev/null
    sync
    expect 1 "$limit" /tmp/point --scratch-size 512MiB
    check "nothing was written ($(used) MiB)" [ "$(used)" -lt 40 ]
    expect 0 "the memory limit of zram0" /tmp/point --scratch-size 16MiB --requests 20
    dd if=/dev/urandom of=/tmp/point/more bs=1M count=80 2>/dev/null
    sync
    diskscope record /tmp/point/recording --interval 200ms --duration 2s >/tmp/out 2>/tmp/err
    check "a recording is refused ($(used) MiB used)" grep -q "almost full" /tmp/err
    check "no file stays" [ ! -e /tmp/point/recording ]
    diskscope record /tmp/point/ring --ring 8MB --duration 2s >/tmp/out 2>/tmp/err
    check "a ring is refused" grep -q "almost full" /tmp/err
    check "no file stays" [ ! -e /tmp/point/ring ]
    echo 3 >/proc/sys/vm/drop_caches
    check "no write was lost" sh -c "! dmesg | grep -q 'zram0.*lost'"
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
expect 1 "may need space in the thin pool pool, which has" /tmp/point --scratch-size 200MiB --requests 20
sync
expect 0 "" /tmp/point --scratch-size 16MiB --requests 20
# What others have written, and is in the page cache: it needs blocks of the pool when it is written back.
dd if=/dev/zero of=/tmp/point/others bs=1M count=40 2>/dev/null
expect 1 "may need space in the thin pool pool, which has" /tmp/point --scratch-size 32MiB --requests 20
rm /tmp/point/others
sync
fstrim /tmp/point
umount /tmp/point
overwrite 3 "may need space in the thin pool pool, which has" /dev/mapper/volume --bytes 300MiB
sync
overwrite 0 "" /dev/mapper/volume --requests 20
# While it is written, others use the pool up.
dmsetup message pool 0 "create_thin 1"
map other "0 8000000 thin /dev/mapper/pool 1"
diskscope run random-write /dev/mapper/volume --overwrite /dev/mapper/volume --overwrite-signatures --ramp 0s \
    --window-end 16MiB --duration 60s --rate 20/s >/tmp/out 2>/tmp/err &
run=$!
sleep 8
dd if=/dev/zero of=/dev/mapper/other bs=1M count=80 2>/dev/null
sync
wait $run
status=$?
check "run stopped at the reserve ($status)" [ $status = 1 ]
check "and named the pool" grep -q "the thin pool pool" /tmp/out /tmp/err
unmap other; unmap volume; unmap pool; unmap data; unmap metadata

what="second device of a file system"
# With an image of 3 GB on it, whose file system has 250 MB left.
second_device() {
    mkfs.ext4 -q -F -m 0 -E nodiscard,lazy_itable_init=1 /dev/$large
    mount -t ext4 /dev/$large /tmp/view
    free=$(df -m /tmp/view | tail -n 1 | awk '{ print $4 }')
    fallocate -l $((free - 250))M /tmp/view/filler
    truncate -s 3G /tmp/view/second.img
    losetup /dev/loop1 /tmp/view/second.img
}
# attempt TYPE: of a scratch file on the file system that is mounted.
attempt() {
    expect 1 "may need space below the image /tmp/view/second.img" /tmp/point --scratch-size 420MiB
    check "no data of others was lost ($1)" dd if=/dev/zero of=/tmp/view/other bs=1M count=1 conv=fsync 2>/dev/null
    umount /tmp/point
}
second_device
if mkfs.xfs -q -f -K -d rtinherit=1 -m reflink=0,rmapbt=0 -r rtdev=/dev/loop1 /dev/$disk 2>/dev/null &&
    mount -t xfs -o rtdev=/dev/loop1 /dev/$disk /tmp/point; then
    attempt xfs
else
    echo "skipped $what: xfs"
fi
losetup -d /dev/loop1
umount /tmp/view
second_device
if mkfs.f2fs -q -f -c /dev/loop1 /dev/$disk >/dev/null 2>&1 && mount -t f2fs /dev/$disk /tmp/point; then
    attempt f2fs
else
    echo "skipped $what: f2fs"
fi
losetup -d /dev/loop1
umount /tmp/view

what="ecryptfs"
mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 /dev/$large
mount -t ext4 /dev/$large /tmp/point
lower=/tmp/point/lower
mkdir -p $lower /tmp/upper
# WITH_KEY: a command in front of mount(8) that adds the key with SIGNATURE, instead of ecryptfs-utils.
signature=${SIGNATURE:-$(printf 'passphrase' | ecryptfs-add-passphrase - 2>/dev/null | sed -n 's/.*\[\(.*\)\].*/\1/p' | head -n 1)}
if [ -n "$signature" ] && ${WITH_KEY:-} mount -i -t ecryptfs -o ecryptfs_sig=$signature,ecryptfs_cipher=aes,ecryptfs_key_bytes=16,ecryptfs_unlink_sigs $lower /tmp/upper; then
    dd if=/dev/zero of=/tmp/upper/file bs=1M count=4 2>/dev/null
    sync
    losetup /dev/loop0 $lower/file
    overwrite 3 "through the ecryptfs at /tmp/upper" /tmp/upper/file --requests 20
    overwrite 3 "through the ecryptfs at /tmp/upper" /dev/loop0 --requests 20
    losetup -d /dev/loop0
    expect 0 "" /tmp/upper --scratch-size 16MiB --requests 20 --cache keep
    umount /tmp/upper
else
    echo "skipped $what"
fi
umount /tmp/point

echo "$failed failed"
exit $failed
