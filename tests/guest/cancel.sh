#!/bin/sh
# A drive that hangs for good, and a prompt that comes back: what tests/program/robust/cancel.rs shows with a
# slow file system, on a device-mapper device that is suspended, where threads are in state D. By
# hand, in a virtual machine that is thrown away:
#
#     sh tests/guest/cancel.sh DISK
#
# DISK is the kernel's name of a disk of 1 GB or more; what is on it is lost, signatures first:
# without that the runs that write would be refused. diskscope and dmsetup in the PATH. Prints one
# line for every check; its exit status is the number of those that failed.

disk=$1
failed=0
export XDG_STATE_HOME=/tmp/state
target=/dev/mapper/hangs

dd if=/dev/zero of=/dev/"$disk" bs=1M count=65 conv=notrunc 2>/dev/null
last=$(($(cat /sys/class/block/"$disk"/size) / 2048 - 1))
dd if=/dev/zero of=/dev/"$disk" bs=1M seek=$last count=2 conv=notrunc 2>/dev/null

check() {
    if [ "$1" = yes ]; then echo "ok      $2"; else echo "FAILED  $2"; failed=$((failed + 1)); fi
}

# In hundredths of a second.
now() { cut -d' ' -f1 /proc/uptime | tr -d .; }

# (SIGINT would not do: a shell has its background jobs ignore it.)
# leave WHAT SIGNAL SECONDS -- WORDS...: starts `diskscope run WORDS`, suspends the device after so
# many seconds (0: before the start), sends the signal two seconds later, and measures how long the
# program takes to end. With READER set, another process reads the device.
leave() {
    what=$1 signal=$2 after=$3
    shift 4
    rm -rf /tmp/state
    dmsetup create --noudevsync hangs --table "0 1000000 linear /dev/$disk 0" && dmsetup mknodes
    [ -n "$READER" ] && exec 9<$target
    [ "$after" = 0 ] && dmsetup suspend --noflush --nolockfs hangs
    diskscope run "$@" >/tmp/out.txt 2>/tmp/err.txt &
    program=$!
    [ "$after" = 0 ] || { sleep "$after"; dmsetup suspend --noflush --nolockfs hangs; }
    sleep 2
    began=$(now)
    kill -"$signal" $program
    wait $program
    code=$?
    took=$(($(now) - began))
    [ $took -le 120 ] && in_time=yes || in_time=no
    check $in_time "$what: SIG$signal, ended after $took hundredths of a second"
    [ $code = 130 ] && as_promised=yes || as_promised=no
    check $as_promised "$what: exit status $code"
    stays=$(grep -o 'process [0-9]* continues to run' /tmp/err.txt | cut -d' ' -f2)
    if [ -n "$stays" ]; then
        states=$(cat /proc/"$stays"/task/*/stat 2>/dev/null | sed 's/.*) //' | cut -c1 | tr -d '\n')
        [ -n "$states" ] && there=yes || there=no
        check $there "$what: process $stays continues to run and is named; states of its threads: $states"
    else
        echo "        $what: no process continues to run"
    fi
    case $what in
    writing*)
        # What is not written yet must not replace what others write.
        dmsetup create --noudevsync other --table "0 8 linear $target 0" 2>/dev/null && held=no || held=yes
        check $held "$what: nobody else can use the device before all is written"
        [ $held = yes ] || dmsetup remove --noudevsync other
        ;;
    esac
    sed 's/^/        /' /tmp/err.txt
    ls /tmp/state/diskscope/sessions 2>/dev/null | sed "s/^/        saved: /"
    dmsetup resume hangs
    # A slow disk takes a while to write what the cache holds.
    tries=300
    while [ -n "$stays" ] && [ -e /proc/"$stays" ] && [ $tries -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.2
    done
    [ -n "$stays" ] && [ -e /proc/"$stays" ] && gone=no || gone=yes
    check $gone "$what: nothing stays once the drive answers"
    [ -n "$READER" ] && exec 9<&-
    for wait in 1 2 3 4 5 6 7 8 9 10; do
        dmsetup remove --noudevsync hangs 2>/dev/null && break
        sleep 0.2
    done
}

leave "preparing" HUP 0 -- random-read $target
leave "signatures" TERM 0 -- random-write $target
leave "reading, system calls" TERM 3 -- random-read $target --engine pread --depth 4 --duration 60s
leave "reading, io_uring" HUP 3 -- random-read $target --engine uring --depth 4 --duration 60s
leave "writing, system calls" TERM 3 -- random-write $target --engine pread --depth 4 --duration 60s --overwrite $target
leave "writing, io_uring" HUP 3 -- random-write $target --engine uring --depth 4 --duration 60s --overwrite $target
leave "writing through the cache" HUP 3 -- sequential-write $target --engine pread --cache keep --duration 60s --overwrite $target

READER=yes leave "writing through the cache, others read" TERM 3 -- sequential-write $target --engine pread --cache keep --duration 60s --overwrite $target

# The processor is not waited for by a program that was stopped.
diskscope run random-read /dev/"$disk" --duration 12s --depth 2 >/tmp/out.txt 2>/tmp/err.txt &
program=$!
# An emulated machine takes some seconds until the first request.
sleep 6
kill -STOP $program
sleep 2
kill -CONT $program
wait $program
grep -q 'paused: the program did not run' /tmp/out.txt && found=yes || found=no
check $found "a stop of two seconds: $(grep 'paused' /tmp/out.txt)"
[ $found = yes ] || sed 's/^/        /' /tmp/out.txt /tmp/err.txt

echo "$failed failed"
exit $failed
