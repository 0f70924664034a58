#!/bin/sh
# Verdicts that need drives which no test can make: run by hand, as root, in a virtual machine.
#
# usage: verdicts.sh NVME SCSI      names without /dev; WHAT IS ON BOTH IS LOST
#
# Wanted: an NVMe drive of 1 GB or more behind a PCIe port of 2.5 GT/s x1 (QEMU: -device
# pcie-root-port,id=rp0,x-speed=2_5,x-width=1 -device nvme,bus=rp0,...), its first 256 MB written; a
# SCSI disk of 1 GB or more that was never written, with physical blocks of 4096 bytes and
# rotation_rate=7200 (QEMU: scsi-hd); cgroup v2; diskscope, sfdisk, dmsetup and mdadm in the PATH.
# Prints one line for every check; its exit status is the number of those that failed. Temperature needs a
# kernel with CONFIG_NVME_HWMON, and the link a drive that reads 250 MB/s, which an emulated processor may not
# reach: what is missing is skipped, with a line that says so.

nvme=$1 scsi=$2
failed=0
export XDG_STATE_HOME=/tmp/state

# run CODES... -- WORDS...: `diskscope run WORDS`; each code must be among its verdicts, and with a
# minus in front must not.
run() {
    codes=
    while [ "$1" != -- ]; do codes="$codes $1"; shift; done
    shift
    if ! diskscope run "$@" --json /tmp/run.json >/tmp/run.txt 2>/tmp/run.err; then
        echo "FAILED  run $*: $(head -n 1 /tmp/run.err)"
        failed=$((failed + 1))
        return
    fi
    for code in $codes; do
        case $code in
            -*) expected=absent code=${code#-} ;;
            *) expected=present ;;
        esac
        evidence=$(grep -E "^  (note|WARNING|INVALID) $code: " /tmp/run.txt | cut -d: -f2-)
        [ -n "$evidence" ] && found=present || found=absent
        if [ $found = $expected ]; then
            echo "ok      $code $found: run $1 $2: $evidence"
        else
            echo "FAILED  $code $found: run $*: $evidence"
            failed=$((failed + 1))
        fi
    done
}

# count NAME: the reads that the program issued and those that the kernel counted for the target.
count() {
    reads() { tr -d '\n ' </tmp/run.json | grep -o "\"$1\":{[^}]*" | grep -o '"reads":[0-9]*' | head -n 1 | cut -d: -f2; }
    issued=$(reads issued) counted=$(reads kernel)
    if [ -n "$issued" ] && [ "$issued" = "$counted" ]; then
        echo "ok      $issued reads of $1 issued, as many counted by the kernel"
    else
        echo "FAILED  ${issued:-no} reads of $1 issued, ${counted:-none} counted by the kernel"
        failed=$((failed + 1))
    fi
}

short="--duration 2s --depth 1"

# A disk of a virtual machine: nothing was written, and nothing rotates.
run never-written virtual-disk -misaligned-partition -deeper-than-drive -- random-read /dev/$scsi $short
count /dev/$scsi
run does-not-rotate rotational-flag-wrong virtual-disk -- rotation /dev/$scsi
run virtual-disk host-cache-likely -- random-write /dev/$nvme $short --window-end 256MiB --overwrite /dev/$nvme
run host-cache-likely -- quartet /dev/$nvme --duration 4s --window-end 256MiB --writes yes --overwrite /dev/$nvme
run host-cache-likely -- compression /dev/$nvme --bytes 256MiB --window-end 256MiB --overwrite /dev/$nvme

# Deeper than the drive's queue.
depth=$(cat /sys/block/$scsi/device/queue_depth)
echo 2 >/sys/block/$scsi/device/queue_depth
run deeper-than-drive -- random-read /dev/$scsi --duration 2s --depth 8
echo "$depth" >/sys/block/$scsi/device/queue_depth

# Partitions: one that begins on a physical block, and one that does not.
printf 'start=2048,size=1000000\nstart=1002111\n' | sfdisk -q --force --wipe always /dev/$scsi >/dev/null 2>&1
partprobe /dev/$scsi 2>/dev/null || blockdev --rereadpt /dev/$scsi 2>/dev/null
run -misaligned-partition virtual-disk -- random-read /dev/${scsi}1 $short
count /dev/${scsi}1
run misaligned-partition -- random-read /dev/${scsi}2 $short

# Through device mapper and a RAID: counted above and beneath.
echo "0 500000 linear /dev/${scsi}1 0" | dmsetup create --noudevsync below-it
dmsetup mknodes
run virtual-disk -served-from-cache -other-users -- random-read /dev/mapper/below-it $short
count /dev/mapper/below-it
dmsetup remove --noudevsync below-it
mdadm --create /dev/md7 --run --level=0 --raid-devices=2 --force /dev/${scsi}1 /dev/$nvme >/dev/null 2>&1
run virtual-disk -served-from-cache -other-users -- random-read /dev/md7 $short
count /dev/md7
mdadm --stop /dev/md7 >/dev/null 2>&1
mdadm --zero-superblock /dev/${scsi}1 /dev/$nvme >/dev/null 2>&1

# Temperature: the limit is set below what the drive says, and requests are slowed down in mid-run.
limit=$(ls /sys/block/$nvme/device/hwmon*/temp1_max /sys/block/$nvme/device/device/hwmon/hwmon*/temp1_max 2>/dev/null | head -n 1)
if [ -n "$limit" ]; then
    usual=$(cat "$limit")
    echo 40000 >"$limit"
    run temperature-high -temperature-throttled -- random-read /dev/$nvme --duration 3s --depth 1 --rate 500 --window-end 256MiB
else
    echo "SKIPPED temperature-high, temperature-throttled: this kernel reports no temperature of $nvme"
fi
[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
echo +io >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/slowed
echo $$ >/sys/fs/cgroup/slowed/cgroup.procs
number=$(cat /sys/block/$nvme/dev)
(
    echo 0 >/sys/fs/cgroup/cgroup.procs
    sleep 5
    echo "$number riops=200" >/sys/fs/cgroup/slowed/io.max
) &
cliff="--duration 10s --depth 1 --window-end 256MiB"
if [ -n "$limit" ]; then
    run temperature-throttled throughput-cliff -- random-read /dev/$nvme $cliff
else
    run throughput-cliff -- random-read /dev/$nvme $cliff
fi
wait
[ -n "$limit" ] && echo "$usual" >"$limit"

# The link of 250 MB/s: not held at all, then held just below its ceiling.
large="--duration 4s --block-size 64KiB --depth 8 --window-end 256MiB"
echo "$number riops=max" >/sys/fs/cgroup/slowed/io.max
diskscope run random-read /dev/$nvme $large --json /tmp/run.json >/dev/null 2>&1
rate=$(tr -d '\n ' </tmp/run.json | grep -o '"name":"throughput","value":[0-9]*' | head -n 1 | grep -o '[0-9]*$')
if [ "${rate:-0}" -gt 260000000 ]; then
    run faster-than-link -link-bound -- random-read /dev/$nvme $large
    echo "$number riops=3600" >/sys/fs/cgroup/slowed/io.max
    run link-bound -faster-than-link -- random-read /dev/$nvme $large
else
    echo "SKIPPED link-bound, faster-than-link: $nvme reads ${rate:-?} bytes/s here, its link carries 250000000"
fi

echo "$failed failed"
exit $failed
