#!/bin/sh
# The write guard on random stacks of devices: maps, stripes, loop devices, partitions and mirrors over ramdisks, on some of which
# file systems are mounted (some of them in no table any more), swap is on, or a process has the device open. Overwriting is tried
# on every device; whatever is in use must have the bytes that it had. Run by hand, as root, in a virtual machine.
#
# usage: random_stacks.sh SEED ROUNDS
#
# Wanted: kernel modules brd (unused; at /mods/brd.ko, or by modprobe), ext4, loop, raid1, device-mapper; diskscope, dmsetup, mkfs.ext4, mdadm,
# losetup and sfdisk in the PATH. Prints one line for every round, with the stack where bytes in use have changed; its exit status is
# the number of such targets.

seed=$1
rounds=$2
failed=0
export XDG_STATE_HOME=/tmp/state
# Less than 16 MiB is no target.
rmmod brd 2>/dev/null
insmod /mods/brd.ko rd_nr=6 rd_size=40960 2>/dev/null || modprobe brd rd_nr=6 rd_size=40960
mkdir -p /tmp/ends
RANDOM=$seed
below() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
sectors() { cat "/sys/class/block/$1/size"; }
any_device() {
    set -- $devices
    shift "$(below $#)"
    echo "$1"
}
# added NAME DESCRIPTION, used NAME DESCRIPTION
added() {
    devices="$devices $1"
    stack="$stack; $1: $2"
}
used() {
    in_use="$in_use $1"
    stack="$stack; $1 $2"
}
# The maps on a device have sectors of their own, as those of LVM: this is where those that it has end.
end() { cat "/tmp/ends/$1" 2>/dev/null || echo 0; }
# mapped TABLE DESCRIPTION
mapped() {
    echo "$1" | dmsetup create --noudevsync "map$number" 2>/dev/null || return
    added "dm-$(dmsetup info -c --noheadings -o minor "map$number" | tr -d ' ')" "$2"
}
mounted() {
    point=/tmp/points/$number
    mkdir -p $point
    mkfs.ext4 -qF -O ^has_journal "/dev/$1" >/dev/null 2>&1 || return
    # Nothing but an overwrite changes it.
    mount -o ro,noload "/dev/$1" $point 2>/dev/null || return
    if [ "$(below 4)" != 0 ]; then
        used "$1" "is mounted"
        return
    fi
    (cd $point && exec sleep 1000) &
    processes="$processes $!"
    sleep 0.1
    umount -l $point
    used "$1" "is mounted where no table shows it"
}
add_layer() {
    number=$((number + 1))
    device=$(any_device)
    size=$(sectors "$device")
    other=$(any_device)
    [ "$size" -ge 4096 ] || return
    case $(below 15) in
    0 | 1 | 2 | 3 | 4 | 5)
        start=$(($(end "$device") + $(below $((size / 64))) * 8))
        [ $start -lt "$size" ] || return
        length=$(((size - start) / 16 * 8 + $(below $(((size - start) / 16 + 1))) * 8))
        [ $length -ge 4096 ] && mapped "0 $length linear /dev/$device $start" "$length sectors of $device from $start" &&
            echo $((start + length)) >"/tmp/ends/$device"
        ;;
    6)
        smaller=$(sectors "$other")
        [ "$smaller" -le "$size" ] || smaller=$size
        smaller=$((smaller / 16 * 16))
        [ "$other" != "$device" ] && [ $smaller -ge 4096 ] && [ "$(end "$device")$(end "$other")" = 00 ] &&
            mapped "0 $((smaller * 2)) striped 2 16 /dev/$device 0 /dev/$other 0" "stripes on $device and $other" &&
            echo $smaller | tee "/tmp/ends/$device" >"/tmp/ends/$other"
        ;;
    7 | 8)
        start=$(($(below $((size / 16))) * 4096))
        free=$(losetup -f)
        limit=0
        [ "$(below 2)" = 0 ] && limit=$(((size * 512 - start) / 8192 * 4096))
        losetup -o $start --sizelimit $limit "$free" "/dev/$device" 2>/dev/null &&
            added "${free#/dev/}" "loop device on $device from byte $start, limit $limit"
        ;;
    9)
        free=$(losetup -f)
        printf 'label: gpt\n,16M\n,3M\n' | sfdisk -q "/dev/$device" >/dev/null 2>&1
        losetup -P "$free" "/dev/$device" 2>/dev/null || return
        sleep 0.2
        added "${free#/dev/}" "loop device on $device with partitions"
        for part in "/sys/class/block/${free#/dev/}"p*; do
            [ -e "$part" ] && added "${part##*/}" "partition"
        done
        ;;
    10)
        # All reads are from the first one: the second has other bytes.
        [ "$other" != "$device" ] &&
            yes | mdadm --create "/dev/md$number" --level=1 --raid-devices=2 --assume-clean --run \
                --metadata=1."$(below 3)" "/dev/$device" --write-mostly "/dev/$other" >/dev/null 2>&1 &&
            added "md$number" "mirror on $device and $other"
        ;;
    11 | 12) mounted "$device" ;;
    13)
        mkswap "/dev/$device" >/dev/null 2>&1
        swapon "/dev/$device" 2>/dev/null && used "$device" "has swap"
        ;;
    14)
        (exec 9<>"/dev/$device" && exec sleep 1000) 2>/dev/null &
        processes="$processes $!"
        used "$device" "is open for writing"
        ;;
    esac
}
contents() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
    for name in $in_use; do
        echo "$name $(dd if="/dev/$name" bs=1M iflag=direct 2>/dev/null | md5sum)"
    done
}
remove_layers() {
    kill $processes 2>/dev/null
    rm -f /tmp/ends/*
    # Each pass removes what the one before has freed.
    for pass in 1 2 3 4 5 6; do
        for point in /tmp/points/*; do umount "$point" 2>/dev/null; done
        for name in $in_use; do swapoff "/dev/$name" 2>/dev/null; done
        for array in /dev/md[0-9]*; do mdadm --stop "$array" >/dev/null 2>&1; done
        for name in $(losetup -a | cut -d: -f1); do losetup -d "$name" 2>/dev/null; done
        for map in $(dmsetup ls | cut -f1); do dmsetup remove --noudevsync "$map" 2>/dev/null; done
        sleep 0.3
    done
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    devices="ram0 ram1 ram2 ram3 ram4 ram5"
    in_use="" processes="" stack="" number=0 written=0 refused=0
    for name in $devices; do dd if=/dev/urandom of="/dev/$name" bs=1M count=40 2>/dev/null; done
    while [ $number -lt 22 ]; do add_layer; done
    sleep 1
    before=$(contents)
    for name in $devices; do
        size=$(sectors "$name" 2>/dev/null) || continue
        diskscope run random-write "/dev/$name" --overwrite "/dev/$name" --overwrite-signatures \
            --requests $((size / 8)) --iodepth 8 --ramp 0s >/tmp/out 2>/tmp/err
        status=$?
        if [ $status = 3 ]; then
            refused=$((refused + 1))
            continue
        fi
        written=$((written + 1))
        after=$(contents)
        if [ "$after" != "$before" ]; then
            echo "FAILED  seed $seed, round $round: $name ($status) changed bytes in use: $stack"
            failed=$((failed + 1))
            before=$after
        fi
    done
    echo "ok      seed $seed, round $round: $written written, $refused refused, in use:$in_use"
    remove_layers
done
echo "failed: $failed"
exit $failed
