#!/bin/sh
# The write guard where no host has it all: device-mapper, LVM, btrfs, two paths to one disk, an exported disk; what
# claims.sh does not have. Run by hand, as root, in a virtual machine.
#
# usage: guard.sh NVME SCSI      names without /dev; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules ext4, btrfs, loop, nvmet, target_core_file, target_core_iblock,
# scsi_debug (at /mods/scsi_debug.ko, or by modprobe), device-mapper; diskscope, dmsetup, lvm,
# mkfs.ext4, mkfs.btrfs, sfdisk, fsverity in the PATH. Prints one line for every check; its exit status is the number of those that failed.

nvme=$1 scsi=$2
failed=0
export XDG_STATE_HOME=/tmp/state
mkdir -p /tmp/point
# What the kernel serves cannot be seen without it.
mount -t configfs none /sys/kernel/config 2>/dev/null

# expect STATUS REASON TARGET WORD: overwriting it ends like that, and says so.
expect() {
    diskscope run random-write "$3" --overwrite "$3" $consent --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" /tmp/err; }; then
        echo "ok      $what: $3: $4 $2"
    else
        echo "FAILED  $what: $3: $status instead of $1 ($4 $2): $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
refused() { expect 3 "$1" "$2" refused; }
written() { expect 0 "" "$1" written; }
# Signatures are another question.
consent=--overwrite-signatures
# The end too: GPT, md and btrfs keep copies there and at 64 MiB.
wipe() {
    dd if=/dev/zero of=/dev/$1 bs=1M count=8 conv=notrunc 2>/dev/null
    dd if=/dev/zero of=/dev/$1 bs=1M seek=64 count=1 conv=notrunc 2>/dev/null
    megabytes=$(($(cat /sys/class/block/$1/size) / 2048))
    dd if=/dev/zero of=/dev/$1 bs=1M seek=$((megabytes - 1)) count=2 conv=notrunc 2>/dev/null
}
# An earlier use of the disks would have mkfs ask.
wipe $nvme
wipe $scsi
map() { echo "$2" | dmsetup create --noudevsync "$1" && dmsetup mknodes; }
unmap() { dmsetup remove --noudevsync "$1"; }

what="LVM"
export DM_DISABLE_UDEV=1
mkdir -p /etc/lvm /run/lock/lvm
lvm pvcreate -qq -y --config 'devices{use_devicesfile=0}' /dev/$nvme >/dev/null 2>&1
lvm vgcreate -qq --config 'devices{use_devicesfile=0}' vg /dev/$nvme >/dev/null 2>&1
for volume in a b; do
    lvm lvcreate -qq -y -Wn -Zn -n $volume -L 100M --config 'devices{use_devicesfile=0}' vg >/dev/null 2>&1
done
dmsetup mknodes
if [ -e /dev/mapper/vg-a ]; then
    mkfs.ext4 -q /dev/mapper/vg-a && mount /dev/mapper/vg-a /tmp/point
    refused "mounted" /dev/mapper/vg-a
    refused "" /dev/$nvme
    written /dev/mapper/vg-b
    umount /tmp/point
    unmap vg-a; unmap vg-b
else
    echo "skipped $what: no volumes"
fi
wipe $nvme

what="member of btrfs"
mkfs.btrfs -q -f /dev/$nvme /dev/$scsi && mount -t btrfs -o device=/dev/$nvme,device=/dev/$scsi /dev/$nvme /tmp/point
refused "" /dev/$nvme
refused "" /dev/$scsi
umount /tmp/point
wipe $nvme; wipe $scsi

what="partitions"
printf 'start=2048,size=200000\nstart=300000,size=200000\n' | sfdisk -q --force --wipe always /dev/$nvme >/dev/null 2>&1
partprobe /dev/$nvme 2>/dev/null || blockdev --rereadpt /dev/$nvme 2>/dev/null
if [ -e /dev/${nvme}p1 ]; then
    mkfs.ext4 -q /dev/${nvme}p1 && mount /dev/${nvme}p1 /tmp/point
    refused "mounted" /dev/$nvme
    refused "mounted" /dev/${nvme}p1
    written /dev/${nvme}p2
    umount /tmp/point
else
    echo "skipped $what: no partitions"
fi
wipe $nvme
blockdev --rereadpt /dev/$nvme 2>/dev/null

what="disk served over NVMe"
target=/sys/kernel/config/nvmet/subsystems/nqn.test
if mkdir $target 2>/dev/null; then
    mkdir $target/namespaces/1
    printf /dev/$scsi >$target/namespaces/1/device_path
    written /dev/$scsi
    echo 1 >$target/namespaces/1/enable
    refused "nvmet" /dev/$scsi
    umount /sys/kernel/config
    refused "nvmet exports" /dev/$scsi
    mount -t configfs none /sys/kernel/config
    echo 0 >$target/namespaces/1/enable
    rmdir $target/namespaces/1

    what="disk that is served over NVMe while it is written"
    mkdir $target/namespaces/5
    printf /dev/$scsi >$target/namespaces/5/device_path
    diskscope run random-write /dev/$scsi --overwrite /dev/$scsi $consent --duration 120s >/tmp/out 2>/tmp/err &
    run=$!
    # The device is held as soon as it may be written.
    while kill -0 $run && ! grep -q iops /tmp/state/diskscope/sessions/*.journal 2>/dev/null; do sleep 1; done
    echo 1 >$target/namespaces/5/enable
    wait $run
    status=$?
    # A run that has begun has a result, which says why it ended.
    if [ $status != 0 ] && grep -q nvmet /tmp/out /tmp/err; then
        echo "ok      $what: $status"
    else
        echo "FAILED  $what: $status: $(head -n 5 /tmp/out | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
    echo 0 >$target/namespaces/5/enable
    rmdir $target/namespaces/5 $target
else
    echo "skipped $what: no nvmet"
fi

for backend in fileio iblock; do
    what="disk served by the SCSI target ($backend)"
    case $backend in
    fileio) path=fd_dev_name=/dev/$scsi,fd_dev_size=1048576 ;;
    iblock) path=udev_path=/dev/$scsi ;;
    esac
    store=/sys/kernel/config/target/core/${backend}_0/test
    if ! mkdir -p $store 2>/dev/null; then
        echo "skipped $what: no $backend"
        continue
    fi
    printf $path >$store/control
    echo 1 >$store/enable
    refused "" /dev/$scsi
    rmdir $store
    written /dev/$scsi
done

what="two paths to one disk"
# Two hosts with one store: the disks of both have one identifier where the module says so.
rmmod scsi_debug 2>/dev/null
ls /sys/block >/tmp/before
insmod /mods/scsi_debug.ko dev_size_mb=64 add_host=2 per_host_store=0 vpd_use_hostno=0 2>/dev/null || modprobe scsi_debug dev_size_mb=64 add_host=2 vpd_use_hostno=0
sleep 2
paths=$(ls /sys/block | grep -vxFf /tmp/before | grep '^sd' | tr '\n' ' ')
set -- $paths
if [ -n "$2" ] && [ "$(cat /sys/block/$1/device/wwid)" = "$(cat /sys/block/$2/device/wwid)" ]; then
    written /dev/$2
    mkfs.ext4 -q /dev/$1 && mount /dev/$1 /tmp/point
    refused "" /dev/$2
    umount /tmp/point
    what="multipath"
    map mpath "0 131072 multipath 0 0 1 1 round-robin 0 2 1 /dev/$1 1 /dev/$2 1" 2>/dev/null &&
        { refused "" /dev/$1; written /dev/mapper/mpath; unmap mpath; }
else
    echo "skipped $what: $paths"
fi

what="file protected by fs-verity"
if command -v fsverity >/dev/null && mkfs.ext4 -q -O verity /dev/$nvme && mount /dev/$nvme /tmp/point; then
    dd if=/dev/zero of=/tmp/point/file bs=1M count=4 2>/dev/null
    fsverity enable /tmp/point/file && refused "" /tmp/point/file
    umount /tmp/point
else
    echo "skipped $what"
fi

# The other scripts need disks without signatures.
wipe $nvme
wipe $scsi
echo "$failed failed"
exit $failed
