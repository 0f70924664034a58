#!/bin/sh
# Whether the command of `diskscope why` limits the resync of a RAID whose minimum speed is above that limit. Run by
# hand, as root, in a virtual machine.
#
# usage: resync.sh
#
# Wanted: kernel modules raid1 and loop; diskscope and mdadm in the PATH; 1.3 GB of memory for the files of the array.
# Prints one line for every check; its exit status is the number of those that failed.

set -u
failed=0
export XDG_STATE_HOME=/tmp/state LC_ALL=C.UTF-8
array=/sys/block/md0/md

# check WHAT CONDITION...: a command that has to succeed.
check() {
    what=$1
    shift
    if "$@"; then
        echo "ok      $what"
    else
        echo "FAILED  $what"
        failed=$((failed + 1))
    fi
}

# Megabytes that are done within five seconds.
progress() {
    before=$(cut -d ' ' -f 1 <$array/sync_completed)
    sleep 5
    after=$(cut -d ' ' -f 1 <$array/sync_completed)
    echo $(((after - before) / 2048))
}

for member in one two; do
    truncate -s 900M /tmp/$member
done
one=$(losetup -f) && losetup "$one" /tmp/one
two=$(losetup -f) && losetup "$two" /tmp/two
# As an administrator sets it who wants faster rebuilds.
echo 30000 >/proc/sys/dev/raid/speed_limit_min
echo 30000 >/proc/sys/dev/raid/speed_limit_max
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.0 --bitmap=none "$one" "$two" >/tmp/log 2>&1 ||
    cat /tmp/log
diskscope why --duration 3s >/tmp/why 2>/tmp/why.err
command=$(sed -n 's/^ *\(echo .*sync_speed_max\)$/\1/p' /tmp/why | head -n 1)
check "why prints a command: $command" [ -n "$command" ]
done_before=$(progress)
check "the array is resynchronized at its minimum: $done_before MB" [ "$done_before" -gt 90 ]
sh -c "$command"
done_after=$(progress)
check "not faster than 10 MB/s after the command: $done_after MB" [ "$done_after" -le 60 ]
check "the resync goes on" grep -q resync $array/sync_action
echo system >$array/sync_speed_min
echo system >$array/sync_speed_max
check "the word system restores both" grep -q system $array/sync_speed_min $array/sync_speed_max

mdadm --stop /dev/md0 >/dev/null 2>&1
losetup -d "$one" "$two"
rm -f /tmp/one /tmp/two

echo "== $failed failed"
exit $failed
