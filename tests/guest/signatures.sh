#!/bin/sh
# In a virtual machine as root: what mdadm, LVM and cryptsetup leave on a device is recognised, and
# kept without --overwrite-signatures.
# usage: signatures.sh DEVICE    (a block device of at least 128 MB; what is on it is lost)
# needs: diskscope, blkid, mdadm, and where there is one, pvcreate; the module raid1.
set -u
device=$1
failed=0

# holds WORD: a run without the option is refused, names WORD as blkid does, and writes nothing.
holds() {
    theirs=$(blkid -p -o value -s TYPE "$device")
    before=$(md5sum <"$device")
    said=$(diskscope run random-write "$device" --requests 4 --overwrite "$device" 2>&1)
    status=$?
    after=$(md5sum <"$device")
    if [ "$status" = 3 ] && [ "$theirs" = "$1" ] && [ "$before" = "$after" ] &&
        echo "$said" | grep -q "$1" && echo "$said" | grep -q -- --overwrite-signatures; then
        echo "ok      $2: $1"
    else
        echo "FAILED  $2: status $status, blkid: $theirs: $said"
        failed=$((failed + 1))
    fi
}

# Copies of superblocks are at the end (GPT, md, ZFS) and at 64 MiB (btrfs).
empty() {
    sectors=$(cat /sys/class/block/"${device##*/}"/size)
    dd if=/dev/zero of="$device" bs=1M count=65 conv=notrunc 2>/dev/null
    dd if=/dev/zero of="$device" bs=1M seek=$((sectors / 2048 - 1)) count=2 conv=notrunc 2>/dev/null
    sync
}

for metadata in 0.90 1.0 1.1 1.2; do
    empty
    mdadm --create /dev/md7 --run --force --level=1 --raid-devices=2 --metadata=$metadata "$device" missing >/dev/null 2>&1
    said=$(diskscope run random-write "$device" --requests 4 --overwrite "$device" --overwrite-signatures 2>&1)
    if [ $? = 3 ]; then
        echo "ok      running array, metadata $metadata: refused with both options"
    else
        echo "FAILED  running array, metadata $metadata: $said"
        failed=$((failed + 1))
    fi
    mdadm --stop /dev/md7 >/dev/null 2>&1
    holds linux_raid_member "stopped array, metadata $metadata"
done
if command -v pvcreate >/dev/null; then
    empty
    pvcreate --devicesfile "" -qq -y "$device" >/dev/null 2>&1
    holds LVM2_member "physical volume"
fi
empty
said=$(diskscope run random-write "$device" --requests 4 --overwrite "$device" 2>&1) || {
    echo "FAILED  an empty device: $said"
    failed=$((failed + 1))
}
[ $failed = 0 ] && echo "all signatures are recognised"
exit $failed
