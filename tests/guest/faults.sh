#!/bin/sh
# Faults that need drives and limits which no test on an ordinary machine can make, and what `diskscope why` names
# first. Run by hand, as root, in a virtual machine that holds nothing else:
#
#   usage: faults.sh DISK NVME      names without /dev; WHAT IS ON BOTH IS LOST
#
# DISK: a rotational disk of 1 GB or more, limited by the hypervisor to 120 requests per second. NVME: an NVMe drive of
# 512 MB or more. Wanted: cgroup v2 with the io controller, dm-delay, dm-flakey, raid1, ext4, scsi_debug in /mods;
# diskscope, dd, dmsetup, mdadm, fstrim and mkfs.ext4 in the PATH. Prints one line for every fault; its exit status is
# the number of those that were not named first.

set -u
disk=/dev/$1 nvme=/dev/$2
failed=0
# Without udev dmsetup makes its device nodes itself.
export XDG_STATE_HOME=/tmp/state LC_ALL=C.UTF-8 DM_DISABLE_UDEV=1
group=/sys/fs/cgroup/report.service
# What runs is to be found by its processes: dd alone, in the background.
loads=

# load COMMAND...: runs it until `expect` has looked at it.
load() {
    "$@" >/dev/null 2>&1 &
    loads="$loads $!"
}

# limited COMMAND...: the same in the control group.
limited() {
    sh -c 'echo $$ >"$0"/cgroup.procs; exec "$@"' $group "$@" >/dev/null 2>&1 &
    loads="$loads $!"
}

# expect CODE WHAT: the code that is named first for what runs.
expect() {
    sleep 2
    diskscope why --duration 12s --json >/tmp/why.json 2>/tmp/why.err
    # The causes only, not what was ruled out.
    causes=$(tr -d '\n' <"/tmp/why.json" | sed 's/"ruled_out".*//')
    found=$(echo "$causes" | grep -o '"code": *"[a-z-]*"' | head -n 1 | cut -d'"' -f4)
    sentence=$(grep -o '"sentence": *".*"' /tmp/why.json | head -n 1 | cut -d'"' -f4)
    if [ "$found" = "$1" ]; then
        echo "ok      $1: $2: $sentence"
    else
        echo "FAILED  $1: $2: ${found:-nothing} is named first: $sentence $(head -n 1 /tmp/why.err)"
        failed=$((failed + 1))
    fi
    # shellcheck disable=SC2086
    kill $loads 2>/dev/null
    loads=
}

size() { cat /sys/class/block/"${1#/dev/}"/size; }
number() { cat /sys/class/block/"${1#/dev/}"/dev; }

mkdir -p $group
echo +io >/sys/fs/cgroup/cgroup.subtree_control

echo "$(number "$nvme") rbps=2097152" >$group/io.max
limited dd if="$nvme" of=/dev/null bs=64k iflag=direct
expect cgroup-throttled "io.max of 2 MiB/s on an NVMe drive"

# One request of 128 KiB takes 32 s: the rate is 0 in most seconds, and the process hangs.
echo "$(number "$nvme") rbps=4096" >$group/io.max
limited dd if="$nvme" of=/dev/null bs=128k iflag=direct
sleep 2
expect cgroup-throttled "io.max of 4 KiB/s on an NVMe drive"
echo "$(number "$nvme") rbps=max" >$group/io.max
sleep 3

dmsetup create slow --table "0 $(size "$nvme") delay $nvme 0 120"
load dd if=/dev/mapper/slow of=/dev/null bs=4k iflag=direct
expect device-slow "dm-delay of 120 ms on an NVMe drive"

# Suspended without waiting for what is in flight: requests stay where they are.
load dd if=/dev/mapper/slow of=/dev/null bs=4k iflag=direct
sleep 1
dmsetup suspend --nolockfs --noflush slow
expect hung-io "a suspended device-mapper device"
dmsetup resume slow
sleep 2
dmsetup remove --retry slow

dmsetup create flaky --table "0 $(size "$nvme") flakey $nvme 0 1 3"
while :; do dd if=/dev/mapper/flaky of=/dev/null bs=4k count=64 2>/dev/null; sleep 0.2; done &
loads=$!
expect drive-errors "dm-flakey: errors 3 s of 4"
dmsetup remove --retry flaky

# 16 ms for a command; a discard covers 128 KiB at most.
insmod /mods/scsi_debug.ko dev_size_mb=300 lbpu=1 unmap_max_blocks=256 delay=4 max_queue=2 2>/dev/null
sleep 2
for found in /sys/block/sd*; do
    [ "$(cat "$found"/device/vendor)" = "Linux   " ] && trimmed=$(basename "$found")
done
mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/"$trimmed"
mkdir -p /trimmed
mount /dev/"$trimmed" /trimmed
load /bin/fstrim /trimmed
load /bin/dd if=/dev/"$trimmed" of=/dev/null bs=4k iflag=direct
load /bin/dd if=/dev/"$trimmed" of=/dev/null bs=4k iflag=direct skip=20000
expect maintenance "fstrim of a drive that takes 16 ms for a command"
umount /trimmed

half=$(($(size "$disk") / 4))
dmsetup create one --table "0 $half linear $disk 0"
dmsetup create two --table "0 $half linear $disk $half"
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 /dev/mapper/one /dev/mapper/two >/dev/null 2>&1
load dd if=/dev/md0 of=/dev/null bs=4k iflag=direct skip=20000
expect raid-resync "resync of an md RAID 1 that is read"
mdadm --stop /dev/md0 >/dev/null 2>&1
dmsetup remove --retry one
dmsetup remove --retry two

echo "== $failed not named first"
exit $failed
