#!/bin/sh
# Records the Live screen for 20 s beside each of some faults and beside load that is none, for the test of
# `why --from` (tests/program/why/recorded.rs). Run by hand, as root, in a virtual machine that holds nothing else:
#
#   usage: fault_recordings.sh DISK NVME DIRECTORY      names without /dev; WHAT IS ON BOTH IS LOST
#
# DISK: a rotational disk of 1 GB or more, limited by the hypervisor to 120 requests per second. NVME: an NVMe drive of
# 512 MB or more. Wanted: cgroup v2 with the io controller, dm-delay, dm-flakey, raid1, ext4; diskscope, dd, dmsetup,
# mdadm and mkfs.ext4 in the PATH. The name of each recording is what is to be named first, and a word for the case.

set -u
disk=/dev/$1 nvme=/dev/$2 directory=$3
# Without udev dmsetup makes its device nodes itself.
export XDG_STATE_HOME=/tmp/state LC_ALL=C.UTF-8 DM_DISABLE_UDEV=1
group=/sys/fs/cgroup/report.service
loads=
mkdir -p "$directory" $group
echo +io >/sys/fs/cgroup/cgroup.subtree_control

load() {
    "$@" >/dev/null 2>&1 &
    loads="$loads $!"
}

# keep NAME: records what runs, and ends it.
keep() {
    sleep 2
    diskscope record "$directory/$1.rec" --interval 1s --duration 20s 2>/dev/null
    # shellcheck disable=SC2086
    kill $loads 2>/dev/null
    loads=
    sleep 3
}

size() { cat /sys/class/block/"${1#/dev/}"/size; }
number() { cat /sys/class/block/"${1#/dev/}"/dev; }

keep nothing-idle

load /bin/dd if="$nvme" of=/dev/null bs=1M count=100000
keep nothing-sequential-read

for start in 1 2 3 4 5 6; do
    load /bin/dd if="$disk" of=/dev/null bs=64k iflag=direct skip=$((start * 2500))
done
load /bin/dd if="$disk" of=/dev/null bs=4k iflag=direct skip=300000
keep device-saturated-readers

mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$disk"
mkdir -p /data
mount "$disk" /data
for writer in 1 2 3 4; do
    load /bin/dd if=/dev/zero of=/data/log$writer bs=4k count=100000 oflag=dsync
done
keep sync-storm-dsync

load /bin/dd if=/dev/zero of=/data/large bs=64k count=20000
keep nothing-buffered-write
rm -f /data/large
umount /data

echo "$(number "$nvme") rbps=1500000" >$group/io.max
load sh -c "echo \$\$ >$group/cgroup.procs; exec /bin/dd if=$nvme of=/dev/null bs=64k iflag=direct"
keep cgroup-throttled-bytes
echo "$(number "$nvme") rbps=max riops=25" >$group/io.max
load sh -c "echo \$\$ >$group/cgroup.procs; exec /bin/dd if=$nvme of=/dev/null bs=4k iflag=direct"
keep cgroup-throttled-requests
echo "$(number "$nvme") rbps=max riops=max" >$group/io.max

dmsetup create slow --table "0 $(size "$nvme") delay $nvme 0 90"
load /bin/dd if=/dev/mapper/slow of=/dev/null bs=4k iflag=direct
keep device-slow-delay
load /bin/dd if=/dev/mapper/slow of=/dev/null bs=4k iflag=direct
sleep 1
dmsetup suspend --nolockfs --noflush slow
keep hung-io-suspended
dmsetup resume slow
sleep 2
dmsetup remove --retry slow

dmsetup create flaky --table "0 $(size "$nvme") flakey $nvme 0 1 3"
while :; do /bin/dd if=/dev/mapper/flaky of=/dev/null bs=4k count=64 2>/dev/null; sleep 0.2; done &
loads=$!
keep drive-errors-flakey
dmsetup remove --retry flaky

half=$(($(size "$disk") / 4))
dmsetup create one --table "0 $half linear $disk 0"
dmsetup create two --table "0 $half linear $disk $half"
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 /dev/mapper/one /dev/mapper/two >/dev/null 2>&1
load /bin/dd if=/dev/md0 of=/dev/null bs=4k iflag=direct skip=20000
keep raid-resync-read
mdadm --stop /dev/md0 >/dev/null 2>&1
dmsetup remove --retry one
dmsetup remove --retry two

load sh -c 'while :; do :; done'
load sh -c 'while :; do :; done'
load sh -c 'while :; do :; done'
keep not-io-processors

for file in "$directory"/*.rec; do
    echo "== file $(basename "$file")"
    base64 "$file"
done
echo "== end"
