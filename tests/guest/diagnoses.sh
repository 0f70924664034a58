#!/bin/sh
# The six faults of docs/sessions.md, staged one after the other, with the commands that diagnose them. Run by hand, as
# root, in a virtual machine that holds nothing else; prints the transcripts.
#
#   usage: diagnoses.sh DISK SSD      as tests/pictures/stage.sh; scsi_debug.ko in /mods for the dying disk

set -u
disk=$1
ssd=$2
groups=/sys/fs/cgroup/system.slice
export XDG_STATE_HOME=/root/.local/state LC_ALL=C.UTF-8 TERM=dumb TZ=UTC0
hostname web-07
# The users of the services enter the root directory.
chmod 755 /
printf 'root:x:0:0::/root:/bin/sh\nbackup:x:34:34::/srv:/bin/sh\npostgres:x:105:105::/data:/bin/sh\n' >/etc/passwd
mkdir -p /srv /data "$groups" $groups/nightly-backup.service $groups/postgresql.service $groups/report.service
echo +io >/sys/fs/cgroup/cgroup.subtree_control
echo +io >$groups/cgroup.subtree_control
mount -o ro /dev/"$ssd" /srv
mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0,nodiscard /dev/"$disk"
mount /dev/"$disk" /data
mkdir -p /data/backup /data/wal
chown 34:34 /data/backup
chown 105:105 /data/wal
echo 1 >/proc/sys/kernel/task_delayacct

# service NAME USER COMMAND...: runs it in the control group of a service.
service() {
    unit=$1 user=$2
    shift 2
    sh -c 'echo $$ >"$0"; exec "$@"' $groups/"$unit".service/cgroup.procs \
        /bin/setpriv --reuid="$user" --regid="$user" --clear-groups "$@" &
}
writer() { service postgresql 105 /bin/dd if=/dev/zero of=/data/wal/"$1" bs=8k count=1000000 oflag=dsync status=none; }
say() {
    printf '\n$ %s\n' "$*"
    "$@" 2>&1
}
stop() { for name in "$@"; do killall "$name" 2>/dev/null; done; sync; sleep 1; }

echo "== a benchmark of the cache"
dd if=/dev/urandom of=/data/file bs=1M count=64 2>/dev/null
sync
say diskscope run random-read /data/file --cache keep --duration 3s

echo "== too many flushes"
writer segment1
writer segment2
writer segment3
sleep 2
say diskscope why --duration 12s
stop dd

echo "== which process"
writer segment
sleep 1
service nightly-backup 34 /bin/cp /srv/images/vm7.raw /data/backup/vm7.raw
sleep 8
say diskscope watch --count 2 --interval 3s

echo "== is the copy done"
stop cp
service nightly-backup 34 /bin/dd if=/srv/images/vm7.raw of=/data/backup/part bs=1M count=150 status=none
sleep 4
say diskscope watch --count 3 --interval 2s
stop dd

echo "== a limit of the service"
echo "$(cat /sys/class/block/"$ssd"/dev) rbps=2097152" >$groups/report.service/io.max
service report 105 /bin/dd if=/srv/images/vm7.raw of=/dev/null bs=64k iflag=direct status=none
sleep 2
say diskscope why --duration 12s
stop dd

echo "== a disk that fails"
rmmod scsi_debug 2>/dev/null
insmod /mods/scsi_debug.ko dev_size_mb=64 opts=2 medium_error_start=4660 medium_error_count=64 delay=1
sleep 2
for bad in /sys/block/sd*; do
    [ "$(cat "$bad"/device/vendor)" = "Linux   " ] && failing=$(basename "$bad")
done
while :; do
    dd if=/dev/"$failing" of=/dev/null bs=4k skip=500 count=200 iflag=direct 2>/dev/null
    sleep 0.3
done &
reader=$!
say diskscope why --duration 12s
say diskscope run sequential-read /dev/"$failing" --duration 5s --block-size 64KiB --depth 1
kill $reader
