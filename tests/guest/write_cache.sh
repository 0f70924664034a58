#!/bin/sh
# Which settings of a disk `run write-cache` leaves changed: the kernel resets some of them when the cache is
# switched. Run by hand, as root, in a virtual machine.
#
# usage: write_cache.sh DISK [MODULE]
#   DISK     name without /dev, of a SCSI or SATA drive (AHCI: revalidated twice) with its write cache on that
#            supports discards; WHAT IS ON IT IS LOST
#   MODULE   file of the module scsi_debug, for a drive with protection information and one that is slow to
#            answer
#
# Wanted: kernel modules sd_mod and that of the host adapter; diskscope and bash in the PATH. Prints one line for every
# check; its exit status is the number of those that failed.

failed=0
use_disk() {
    disk=$1
    queue=/sys/block/$disk/queue
    scsi=$(echo /sys/block/$disk/device/scsi_disk/*)
}
records=/run/diskscope/settings
export XDG_STATE_HOME=/tmp/state

# The settings that can be written, except those of the write cache itself.
settings() {
    for file in $queue/* $scsi/* /sys/block/$disk/integrity/*; do
        case $file in
        */uevent | */cache_type) continue ;;
        esac
        [ -f $file ] && [ -n "$(find $file -perm -200)" ] && echo "${file##*/} $(cat $file 2>/dev/null)"
    done
    echo "cache_type $(cat $scsi/cache_type)"
}
# set FILE VALUE: where this kernel has the setting.
set_value() { [ -e $1 ] && echo $2 >$1; }
# Values that the kernel does not choose by itself. In this order: a write of the first ones changes the others.
change_settings() {
    set_value $scsi/provisioning_mode $1
    set_value $scsi/max_write_same_blocks 100
    set_value $scsi/zeroing_mode write
    set_value $queue/discard_max_bytes $2
    set_value $queue/max_sectors_kb 64
    set_value $queue/rotational 0
    set_value $queue/add_random 0
    set_value $queue/read_ahead_kb 16
    settings >/tmp/before
}
# unchanged WHAT: the settings are those of change_settings, and no record is left.
unchanged() {
    settings >/tmp/after
    if diff /tmp/before /tmp/after >/tmp/difference && ! ls $records/*.json >/dev/null 2>&1; then
        echo "ok      $1"
    else
        echo "FAILED  $1: $(tr '\n' ' ' </tmp/difference) $(ls $records)"
        failed=$((failed + 1))
    fi
}
# contains WHAT TEXT: the output of the last run.
contains() {
    if grep -q -e "$2" /tmp/out; then
        echo "ok      $1"
    else
        echo "FAILED  $1: no '$2' in: $(tail -n 20 /tmp/out)"
        failed=$((failed + 1))
    fi
}
run() { COLUMNS=400 diskscope run write-cache /dev/$disk --overwrite /dev/$disk --seed 1 "$@" >/tmp/out 2>&1; }

uname -r
use_disk $1
# No signature of an earlier file system.
dd if=/dev/zero of=/dev/$disk bs=1M count=4 2>/dev/null
own_mode=$(cat $scsi/provisioning_mode)

change_settings writesame_16 1048576
run --duration 4s
contains "both states measured" "cache off, plain"
unchanged "settings after a run"

# Killed at different times, also while the cache is being switched.
for time in 1.3 2.1 3.4 4.2 5.7 6.3; do
    run --duration 4s &
    sleep $time
    kill -9 $(pidof diskscope) 2>/dev/null
    sleep 1
    diskscope devices >/tmp/out 2>&1
    unchanged "settings after kill -9 at $time s and the next start ($(grep -c again /tmp/out) restored)"
done

# leave_unfinished STATE: as a kill between the write of cache_type and the writes back leaves it.
values='"provisioning_mode":"writesame_16","max_write_same_blocks":"100","zeroing_mode":"write","discard_max_bytes":"1048576","max_sectors_kb":"64","rotational":"0","add_random":"0","read_ahead_kb":"16"'
leave_unfinished() {
    record=$records/write-cache@$disk.json
    run --duration 60s &
    for i in $(seq 100); do
        [ -e $record ] && [ "$(cat $scsi/cache_type)" = "write through" ] && break
        sleep 0.1
    done
    kill -9 $(pidof diskscope)
    sleep 1
    grep -q revalidated $record || sed -i "s/}\$/,\"revalidated\":{$values}}/" $record
    echo "$1" >$scsi/cache_type
    diskscope devices >/tmp/out 2>&1
}
leave_unfinished "write through"
unchanged "settings after a kill between the writes, cache off"
leave_unfinished "write back"
unchanged "settings after a kill between the writes, cache on"
contains "restoration is reported" "have their old values again"

# Stopped by job control while the cache is off: a line says so, and it is on again after the end.
change_settings writesame_16 1048576
cat >/tmp/stop.sh <<'STOP'
set -m
diskscope run write-cache /dev/$1 --overwrite /dev/$1 --duration 60s >/tmp/out 2>&1 &
for i in $(seq 200); do
    [ "$(cat $2/cache_type)" = "write through" ] && break
    sleep 0.1
done
kill -TSTP %1
sleep 2
cat $2/cache_type >/tmp/cache_while_stopped
kill -CONT %1
kill -TERM %1
wait %1
STOP
bash /tmp/stop.sh $disk $scsi
contains "a run that is stopped says that the cache is off" "cache_type stays $(cat /tmp/cache_while_stopped) until"
unchanged "settings after a run that was stopped, continued and ended"

for mode in full disabled; do
    change_settings $mode 0
    run --duration 4s
    unchanged "settings of a drive with provisioning_mode $mode"
    contains "cache of a drive with provisioning_mode $mode is not switched" "discards (TRIM) are switched off"
done
change_settings $own_mode 0
run --duration 4s
unchanged "settings of a drive with discard_max_bytes 0"
contains "cache of a drive with discard_max_bytes 0 is not switched" "discards (TRIM) are switched off"

# attach_debug_disk PARAMETERS...: a drive of the module scsi_debug.
attach_debug_disk() {
    insmod "$@"
    for i in $(seq 60); do
        added=$(grep -l scsi_debug /sys/block/*/device/model | cut -d/ -f4)
        [ -n "$added" ] && [ -e /dev/$added ] && break
        sleep 1
    done
    sleep 10
    use_disk $added
}

# Verification and generation of protection information, both on, and one of them off.
if [ -n "$2" ]; then
    attach_debug_disk $2 dev_size_mb=32 dif=1 dix=1 lbpu=1
    integrity=/sys/block/$disk/integrity
    echo "protection information: $(cat $integrity/format)"
    change_settings writesame_16 1048576
    run --duration 4s
    contains "both states measured on a drive with protection information" "cache off, plain"
    unchanged "settings of a drive with protection information"
    for switch in read_verify write_generate; do
        echo 0 >$integrity/$switch
        settings >/tmp/before
        run --duration 4s
        unchanged "settings of a drive with $switch off"
        contains "cache of a drive with $switch off is not switched" "protection information (T10 DIF) is switched off"
        echo 1 >$integrity/$switch
    done
    # Switched off during the run: written back after each switch.
    change_settings writesame_16 1048576
    run --duration 8s &
    for i in $(seq 200); do
        [ "$(cat $scsi/cache_type)" = "write through" ] && break
        sleep 0.1
    done
    echo 0 >$integrity/read_verify
    echo 0 >$integrity/write_generate
    settings | grep -v cache_type >/tmp/before
    echo "cache_type write back" >>/tmp/before
    wait $!
    unchanged "protection information that is switched off during a run"
    rmmod scsi_debug
fi

# Ended while a drive answers late: the process stays until the write of cache_type returns, and a later
# start writes back what that reset.
if [ -n "$2" ]; then
    attach_debug_disk $2 delay=150 dev_size_mb=32 lbpu=1
    change_settings writesame_16 1048576
    COLUMNS=400 diskscope run write-cache /dev/$disk --overwrite /dev/$disk --requests 40 --duration 60s >/tmp/out 2>&1 &
    run=$!
    for i in $(seq 400); do
        grep -q revalidated $records/write-cache@$disk.json 2>/dev/null && break
        sleep 0.1
    done
    kill -TERM $run
    wait $run
    contains "process that waits for a slow drive is named" "continues to run"
    for i in $(seq 60); do
        pidof diskscope >/dev/null || break
        sleep 1
    done
    diskscope devices >/tmp/out 2>&1
    unchanged "settings of a slow drive after the end of the process and the next start"
fi

echo "$failed failed"
exit $failed
