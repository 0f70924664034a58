#!/bin/sh
# The write guard below stacked devices: partitions of the disks that a map is on, maps over several
# devices, overlapping partitions, partitions with the partition table, a second path to one of the
# disks, flash memory. Run by hand, as root, in a virtual machine.
#
# usage: device_stack.sh DISK      name of a SCSI disk without /dev, such as sda; WHAT IS ON IT IS LOST
#
# Wanted: kernel modules ext4, loop, device-mapper, scsi_debug (at /mods/scsi_debug.ko, or by modprobe),
# dm-multipath, dm-round-robin, mtdram, mtdblock, jffs2; diskscope, dmsetup, mkfs.ext4 in the PATH. Prints one line for every check; its
# exit status is the number of those that failed.

disk=$1
failed=0
export XDG_STATE_HOME=/tmp/state DM_DISABLE_UDEV=1
mkdir -p /tmp/point

# expect STATUS REASON TARGET: overwriting it ends like that, and says so.
expect() {
    diskscope run random-write "$3" --overwrite "$3" --overwrite-signatures --requests 20 --ramp 0s --block-size 512 >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" /tmp/err; }; then
        echo "ok      $what: $3: $status ${2:-written}"
    else
        echo "FAILED  $what: $3: $status instead of $1 (${2:-written}): $(head -n 2 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
refused() { expect 3 "$1" "$2"; }
written() { expect 0 "" "$1"; }
# map NAME TABLE: \n separates lines of the table.
map() { printf "$2\n" | dmsetup create --noudevsync "$1" && dmsetup mknodes; }
unmap() { dmsetup remove --noudevsync "$1"; }
# format DEVICE: a file system that is mounted.
format() { mkfs.ext4 -q -F "$1" && mount -t ext4 "$1" /tmp/point && echo content >/tmp/point/file; }
byte() { printf "\\$(printf %03o $(($1 & 255)))"; }
word() { byte $1; byte $(($1 >> 8)); byte $(($1 >> 16)); byte $(($1 >> 24)); }
# partition DISK [START SIZE]...: up to four, which may overlap.
partition() {
    on=$1
    shift
    dd if=/dev/zero of=/dev/$on bs=1M count=4 conv=notrunc 2>/dev/null
    {
        count=0
        while [ $count -lt 4 ]; do
            if [ -n "$1" ]; then
                printf '\000\000\000\000\203\000\000\000'
                word $1
                word $2
                shift 2
            else
                word 0; word 0; word 0; word 0
            fi
            count=$((count + 1))
        done
        printf '\125\252'
    } >/tmp/table
    dd if=/tmp/table of=/dev/$on bs=1 seek=446 conv=notrunc 2>/dev/null
    sync
    blockdev --rereadpt /dev/$on
    sleep 1
}

what="map on a disk with partitions"
partition $disk 2048 100000 400000 100000
map whole "0 300000 linear /dev/$disk 0"
written /dev/mapper/whole
unmap whole
# A map holds the disk, so that only users without O_EXCL are left.
partition $disk 2048 100000 400000 100000
map whole "0 300000 linear /dev/$disk 0"
map behind "0 300000 linear /dev/$disk 2048"
sleep 600 7<>/dev/${disk}1 &
holder=$!
refused "has ${disk}1 open for writing" /dev/mapper/whole
refused "has ${disk}1 open for writing" /dev/mapper/behind
kill $holder
sleep 600 7<>/dev/${disk}2 &
holder=$!
refused "partition table of $disk, without which ${disk}2" /dev/mapper/whole
written /dev/mapper/behind
kill $holder
unmap behind
unmap whole
partition $disk 2048 100000 400000 100000
losetup /dev/loop0 /dev/${disk}1
format /dev/loop0
map whole "0 300000 linear /dev/$disk 0"
map above "0 100000 linear /dev/mapper/whole 0"
refused "loop0 is mounted at" /dev/mapper/whole
refused "loop0 is mounted at" /dev/mapper/above
refused "loop0 is mounted at" /dev/$disk
unmap above; unmap whole
umount /tmp/point
losetup -d /dev/loop0

what="map over two maps on one disk, beside a third on the sectors of the second"
map first "0 1000 linear /dev/$disk 500000"
map second "0 100000 linear /dev/$disk 600000"
map both "0 1000 linear /dev/mapper/first 0\n1000 100000 linear /dev/mapper/second 0"
map third "0 100000 linear /dev/$disk 600000"
written /dev/mapper/both
format /dev/mapper/third
refused "is mounted at" /dev/mapper/both
umount /tmp/point
unmap third; unmap both; unmap second; unmap first

what="map over two partitions, the second overlaps a third"
partition $disk 2048 40000 100000 100000 150000 200000
map one "0 40000 linear /dev/${disk}1 0"
map two "0 40000 linear /dev/${disk}1 0\n40000 100000 linear /dev/${disk}2 0"
written /dev/mapper/two
unmap two
format /dev/${disk}3
map two "0 40000 linear /dev/${disk}1 0\n40000 100000 linear /dev/${disk}2 0"
refused "${disk}3 is mounted at" /dev/mapper/two
written /dev/mapper/one
what="overlapping partition mounted where no table shows it"
unmap two; unmap one
exec 8</tmp/point/file
umount -l /tmp/point
refused "has opened ${disk}3, which has the same bytes, exclusively" /dev/${disk}2
map two "0 40000 linear /dev/${disk}1 0\n40000 100000 linear /dev/${disk}2 0"
refused "has opened ${disk}3, which has the same bytes, exclusively" /dev/mapper/two
unmap two
written /dev/${disk}1
exec 8<&-
sleep 1
written /dev/${disk}2

what="table of a map that leads to the same sectors twice"
partition $disk
for lower in apart twice; do
    case $lower in
    apart) begin=100000 ;;
    twice) begin=0 ;;
    esac
    map $lower "0 100000 linear /dev/$disk 0\n100000 100000 linear /dev/$disk $begin"
    map first "0 100000 linear /dev/mapper/$lower 0"
    map second "0 100000 linear /dev/mapper/$lower 100000"
    written /dev/mapper/first
    format /dev/mapper/second
    if [ $lower = apart ]; then
        written /dev/mapper/first
    else
        refused "is mounted at" /dev/mapper/first
    fi
    umount /tmp/point
    unmap first; unmap second; unmap $lower
    dd if=/dev/zero of=/dev/$disk bs=1M count=100 2>/dev/null
done

what="extended partition"
boot_record() { # SECTOR TYPE START SIZE TYPE START SIZE
    {
        printf '\000\000\000\000'; byte $2; printf '\000\000\000'; word $3; word $4
        printf '\000\000\000\000'; byte $5; printf '\000\000\000'; word $6; word $7
        dd if=/dev/zero bs=16 count=2 2>/dev/null
        printf '\125\252'
    } >/tmp/record
    dd if=/tmp/record of=/dev/$disk bs=1 seek=$(($1 * 512 + 446)) conv=notrunc 2>/dev/null
}
logical_partitions() {
    dd if=/dev/zero of=/dev/$disk bs=1M count=4 conv=notrunc 2>/dev/null
    boot_record 0 131 2048 100000 5 110592 400000
    boot_record 110592 131 2048 100000 5 147456 102048
    boot_record 258048 131 2048 100000 0 0 0
    sync
    blockdev --rereadpt /dev/$disk
    sleep 1
}
logical_partitions
written /dev/${disk}2
logical_partitions
format /dev/${disk}5
refused "partition table of $disk, without which ${disk}5 is lost" /dev/${disk}2
written /dev/${disk}1
written /dev/${disk}6
umount /tmp/point
blockdev --rereadpt /dev/$disk
[ -e /sys/class/block/${disk}6 ] || {
    echo "FAILED  $what: ${disk}6 is gone"
    failed=$((failed + 1))
}
format /dev/${disk}1
written /dev/${disk}2
umount /tmp/point

what="partition from the first sector"
partition $disk 0 100000 200000 100000
format /dev/${disk}2
refused "partition table of $disk, without which ${disk}2 is lost" /dev/${disk}1
exec 8</tmp/point/file
umount -l /tmp/point
refused "has opened ${disk}2 exclusively" /dev/${disk}1
exec 8<&-
sleep 1
written /dev/${disk}1

what="Apple partition map"
apple_entry() { # INDEX START SIZE
    {
        printf 'PM\000\000\000\000\000\003'
        for number in $2 $3; do
            byte $((number >> 24)); byte $((number >> 16)); byte $((number >> 8)); byte $number
        done
        printf 'name'; dd if=/dev/zero bs=28 count=1 2>/dev/null; printf 'Apple_HFS'
    } >/tmp/entry
    dd if=/tmp/entry of=/dev/$disk bs=512 seek=$1 conv=notrunc 2>/dev/null
}
apple_map() {
    dd if=/dev/zero of=/dev/$disk bs=1M count=4 conv=notrunc 2>/dev/null
    printf 'ER\002\000' | dd of=/dev/$disk conv=notrunc 2>/dev/null
    apple_entry 1 1 63; apple_entry 2 64 2000; apple_entry 3 200000 100000
    sync
    blockdev --rereadpt /dev/$disk
    sleep 1
}
apple_map
if [ -e /sys/class/block/${disk}3 ]; then
    format /dev/${disk}3
    refused "partition table of $disk, without which ${disk}3 is lost" /dev/${disk}1
    written /dev/${disk}2
    umount /tmp/point
    written /dev/${disk}1
else
    echo "skipped $what: the kernel does not know it"
fi

what="two paths to one disk"
ls /sys/block >/tmp/before
insmod /mods/scsi_debug.ko dev_size_mb=128 add_host=2 per_host_store=0 vpd_use_hostno=0 2>/dev/null || modprobe scsi_debug dev_size_mb=128 add_host=2 vpd_use_hostno=0
sleep 3
set -- $(ls /sys/block | grep -vxFf /tmp/before | grep '^sd')
if [ -n "$2" ] && [ "$(cat /sys/block/$1/device/wwid)" = "$(cat /sys/block/$2/device/wwid)" ]; then
    partition $disk 2048 40000
    partition $2 2048 40000 100000 100000
    what="map over a partition and a disk that has a second path"
    map mixed "0 40000 linear /dev/${disk}1 0\n40000 250000 linear /dev/$1 0"
    format /dev/${2}2
    refused "${2}2 is mounted at" /dev/mapper/mixed
    unmap mixed
    blockdev --rereadpt /dev/$1
    sleep 1
    what="map over two partitions, the second mounted by the other path"
    map mixed "0 40000 linear /dev/${1}1 0\n40000 100000 linear /dev/${1}2 0"
    refused "${2}2 is mounted at" /dev/mapper/mixed
    umount /tmp/point
    written /dev/mapper/mixed
    unmap mixed
    what="map over partitions of both paths"
    map mixed "0 40000 linear /dev/${1}1 0\n40000 100000 linear /dev/${2}2 0"
    written /dev/mapper/mixed
    format /dev/${1}2
    refused "${1}2 is mounted at" /dev/mapper/mixed
    umount /tmp/point
    unmap mixed
    what="multipath with partitions"
    map paths "0 262144 multipath 0 0 1 1 round-robin 0 2 1 /dev/$1 1 /dev/$2 1" 2>/dev/null && {
        written /dev/mapper/paths
        sleep 600 7<>/dev/${2}2 &
        holder=$!
        refused "has ${2}2 open for writing" /dev/mapper/paths
        kill $holder
        unmap paths
    }
else
    echo "skipped $what: $*"
fi

what="flash memory"
if [ -e /dev/mtdblock0 ] && mount -t jffs2 mtd0 /tmp/point; then
    echo content >/tmp/point/file
    refused "mtdblock0" /dev/mtdblock0
    exec 8</tmp/point/file
    umount -l /tmp/point
    refused "flash memory of mtdblock0" /dev/mtdblock0
    map flash "0 1000 linear /dev/mtdblock0 0"
    refused "flash memory of mtdblock0" /dev/mapper/flash
    unmap flash
    losetup /dev/loop0 /dev/mtdblock0
    refused "flash memory of mtdblock0" /dev/loop0
    losetup -d /dev/loop0
    exec 8<&-
else
    echo "skipped $what: no mtdblock"
fi

partition $disk
echo "$failed failed"
exit $failed
