#!/bin/sh
# Stages what the demo and the pictures show, and records it: a nightly copy onto a hard disk that a
# database writes to as well. Run by hand, as root, in a virtual machine that holds nothing else:
#
#   usage: stage.sh DISK SSD
#
# DISK: an empty rotational disk, overwritten, limited by the hypervisor to 120 requests and 25 MB per
# second. SSD: a disk with ext4 that contains images/vm7.raw (1.2 GB); it is only read.
# Programs of coreutils and util-linux are called by path: the applets of busybox differ.
# Wanted: diskscope, mkfs.ext4, dd, cp, setpriv and script (util-linux) in the PATH, cgroup2 at
# /sys/fs/cgroup. Writes /tmp/stage/: the recording, the sessions, and everything that the terminal
# received, with its times (`script --log-out --log-timing`).

set -u
disk=$1
ssd=$2
stage=/tmp/stage
groups=/sys/fs/cgroup/system.slice
export XDG_STATE_HOME=/root/.local/state LC_ALL=C.UTF-8 TERM=xterm-256color TZ=UTC0

hostname web-07
date -s "2026-11-21 02:10:00" >/dev/null
printf 'root:x:0:0::/root:/bin/sh\nbackup:x:34:34::/srv:/bin/sh\npostgres:x:105:105::/data:/bin/sh\n' >/etc/passwd
mkdir -p $stage /srv /data "$groups" $groups/nightly-backup.service $groups/postgresql.service
echo +io >/sys/fs/cgroup/cgroup.subtree_control
echo +io >$groups/cgroup.subtree_control
mount -o ro /dev/"$ssd" /srv
mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/"$disk"
mount /dev/"$disk" /data
mkdir -p /data/backup /data/wal
chown 34:34 /data/backup
chown 105:105 /data/wal

# service NAME USER COMMAND...: runs it in the control group of a service.
service() {
    unit=$1 user=$2
    shift 2
    sh -c 'echo $$ >"$0"; exec "$@"' $groups/"$unit".service/cgroup.procs \
        /bin/setpriv --reuid="$user" --regid="$user" --clear-groups "$@" &
}

# Sessions of the disks before the copy.
cd /data || exit 1
diskscope run random-read /dev/"$disk" --duration 8s --depth 1 >/dev/null 2>&1
diskscope run random-read /dev/"$disk" --duration 8s --depth 8 >/dev/null 2>&1
diskscope run write-sync-close /data --scratch-size 64MiB --duration 6s >/dev/null 2>&1
diskscope run sequential-read /dev/"$ssd" --duration 6s >/dev/null 2>&1
sync
echo 3 >/proc/sys/vm/drop_caches

echo 1 >/proc/sys/kernel/task_delayacct

# A database that waits for each of its writes.
service postgresql 105 /bin/dd if=/dev/zero of=/data/wal/segment bs=8k count=1000000 oflag=dsync status=none
sleep 3
diskscope record $stage/demo.rec --interval 1s --duration 60s --requests "$disk" >/dev/null 2>&1 &
recorder=$!
sleep 2
keys() {
    sleep 6
    # The list of devices; the copy begins while the Live screen is shown.
    printf '\t'
    service nightly-backup 34 /bin/cp /srv/images/vm7.raw /data/backup/vm7.raw >/dev/null 2>&1
    # Both disks are listed by then; the second is the one that is copied to.
    sleep 4
    printf '\033[B'
    sleep 20
    printf 5
    sleep 8
    printf 3
    sleep 7
    printf 2
    sleep 3
    printf '/%s' "$disk"
    sleep 1
    printf '\r'
    sleep 1
    printf '/random-read'
    sleep 1
    printf '\r'
    sleep 1
    printf 's'
    sleep 20
    printf 4
    sleep 4
    # A mark moves on to the next session.
    printf '\033[B\033[B\033[B  '
    sleep 2
    printf 'c'
    sleep 4
    printf 'i'
    sleep 4
    printf '\033'
    sleep 1
    printf 'q'
    sleep 2
}
keys | /bin/script -q -E never -O $stage/screen.out -T $stage/screen.timing \
    -c 'stty rows 40 cols 120; COLORFGBG="15;0" diskscope' >/dev/null 2>&1
wait $recorder
{
    sleep 3
    printf m
    sleep 4
    printf q
    sleep 1
} | /bin/script -q -E never -O $stage/replay.out -T $stage/replay.timing \
    -c "stty rows 40 cols 120; COLORFGBG='15;0' diskscope replay $stage/demo.rec" >/dev/null 2>&1
cp $XDG_STATE_HOME/diskscope/sessions/*.json $stage/
