#!/bin/sh
# What quotas of users and projects leave on XFS and ext4. Run by hand, as root, in a virtual machine.
#
# usage: quotas.sh DISK      name without /dev, of 4 GB or more; WHAT IS ON IT IS LOST
#
# Wanted: kernel modules xfs, ext4, quota_v2, loop; diskscope, mkfs.xfs, mkfs.ext4, xfs_quota, setquota,
# chattr, fallocate, setpriv and unshare of util-linux (or SETPRIV=, UNSHARE=) in the PATH. Prints one line for every check; its exit status is
# the number of those that failed.

disk=$1
failed=0
export XDG_STATE_HOME=/tmp/state
mkdir -p /tmp/point /tmp/state /tmp/run
ln -sf /proc/self/mounts /etc/mtab
chmod 1777 /tmp/state
# An ordinary user runs programs here too.
chmod 755 / /bin /lib /lib64

# expect STATUS REASON COMMAND...: ends like that, and says so.
expect() {
    status_wanted=$1 reason=$2
    shift 2
    "$@" >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$status_wanted" ] && { [ -z "$reason" ] || grep -q "$reason" /tmp/err; }; then
        echo "ok      $what: $status ${reason:-written}"
    else
        echo "FAILED  $what: $status instead of $status_wanted (${reason:-written}): $(tail -n 4 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
scratch() {
    size=$1
    shift
    "$@" diskscope run random-read /tmp/point/customer --scratch-size $size --requests 20
}
as_user() { ${SETPRIV:-setpriv} --reuid 1000 --regid 1000 --clear-groups env XDG_STATE_HOME=/tmp/state/user "$@"; }
# The image of somebody else in the same project.
image() {
    truncate -s 200M /tmp/point/customer/image
    losetup /dev/loop0 /tmp/point/customer/image
    what="$1, sparse image"
    expect 0 "" diskscope run random-write /dev/loop0 --overwrite /dev/loop0 --ramp 0s --requests 20
    expect 3 "counts for the quota of project 42" \
        diskscope run random-write /dev/loop0 --overwrite /dev/loop0 --ramp 0s --duration 60s
    losetup -d /dev/loop0
    rm /tmp/point/customer/image
}

# Recordings and results that grow. outputs WHAT QUOTA COMMAND: of so many MiB; run by the command, as user 1000.
outputs() {
    what="$1, outputs that grow" quota=$2
    shift 2
    recording=/tmp/point/customer/recording
    record="$* diskscope record $recording --interval 0.1 --duration 0.5s"
    expect 0 "" $record --ring 4MB
    rm $recording
    expect 1 "a quota" $record --ring $((quota - 20))MiB
    rm -f $recording
    expect 0 "" $record
    rm $recording
    fallocate -l $(((quota - 30) << 20)) /tmp/point/customer/filler
    chown 1000 /tmp/point/customer/filler
    expect 1 "a quota" $record
    expect 1 "a quota" "$@" diskscope watch --json --interval 0.1 --count 2 -o /tmp/point/customer/lines
    rm -f $recording /tmp/point/customer/lines /tmp/point/customer/filler
}

mkfs.xfs -q -f /dev/$disk && mount -t xfs -o uquota,prjquota /dev/$disk /tmp/point || exit 99
mkdir /tmp/point/customer
xfs_quota -x -c 'project -s -p /tmp/point/customer 42' -c 'limit -p bhard=300m 42' /tmp/point >/dev/null
what="XFS, project"
expect 1 "counts for the quota of project 42, which has 30.* left" scratch 250MiB
expect 0 "" scratch 100MiB
what="XFS, project, as a user"
chown 1000 /tmp/point/customer
expect 1 "counts for the quota of project 42, which has 30.* left" scratch 250MiB as_user
expect 0 "" scratch 100MiB as_user
image XFS
outputs "XFS, project" 300 as_user
what="XFS, user"
xfs_quota -x -c 'limit -p bhard=0 42' -c 'limit -u bsoft=100m 1000' /tmp/point
expect 1 "counts for the quota of user 1000" scratch 80MiB as_user
expect 0 "" scratch 80MiB
outputs "XFS, user" 100 as_user
what="XFS, user who is root in a user namespace"
as_root_of_namespace() { as_user ${UNSHARE:-unshare} -r "$@"; }
expect 1 "counts for the quota of user 0" scratch 80MiB as_root_of_namespace
umount /tmp/point

mkfs.ext4 -q -F -O quota,project -E quotatype=usrquota:prjquota /dev/$disk
mount -t ext4 -o usrquota,prjquota /dev/$disk /tmp/point || exit 99
mkdir /tmp/point/customer
chattr -p 42 +P /tmp/point/customer
setquota -P 42 0 307200 0 0 /tmp/point
what="ext4, project"
expect 1 "counts for the quota of project 42" scratch 250MiB
expect 0 "" scratch 100MiB
what="ext4, project, as a user"
chown 1000 /tmp/point/customer
expect 1 "counts for the quota of project 42" scratch 250MiB as_user
expect 0 "" scratch 100MiB as_user
image ext4
outputs "ext4, project" 300 as_user
what="ext4, user"
setquota -P 42 0 0 0 0 /tmp/point
setquota -u 1000 0 102400 0 0 /tmp/point
expect 1 "counts for the quota of user 1000" scratch 80MiB as_user
expect 0 "" scratch 80MiB
umount /tmp/point

echo "$failed failed"
exit $failed
