#!/bin/sh
# Who uses a device or a file keeps its bytes: for each kind of user, overwriting is refused (exit status 3) and changes no
# byte, and once the user is gone the same command writes, so that the use was the reason. Sentences 1 to 4 of docs/safety.md.
# Run by hand, as root, in a virtual machine.
#
# usage: claims.sh DISK [USER]      name without /dev, at least 512 MB; WHAT IS ON IT IS LOST
#                                   USER: only the users in whose name that is, such as swap
#
# Wanted: kernel modules ext4, xfs, btrfs, raid1, dm-crypt, xts, bcache, loop, nvmet, target_core_file, mtdram, mtdblock, device-mapper;
# diskscope, mkfs.ext4, mkfs.xfs, mkfs.btrfs, mdadm, lvm, dmsetup, cryptsetup, make-bcache, qemu-storage-daemon, sfdisk, losetup,
# unshare in the PATH. What the kernel has no module for is skipped. Prints one line for every check; its exit status is the number of
# those that failed.

disk=/dev/$1 only=$2
case $1 in *[0-9]) part=${disk}p1 spare=${disk}p2 ;; *) part=${disk}1 spare=${disk}2 ;; esac
file=/tmp/image
failed=0
export XDG_STATE_HOME=/tmp/state DM_DISABLE_UDEV=1
# The smallest xfs that mkfs.xfs makes otherwise is larger than a partition here.
export TEST_DIR=/tmp TEST_DEV=/tmp QA_CHECK_FS=yes
mkdir -p /tmp/point /tmp/files /etc/lvm /run/lock/lvm /run/cryptsetup /var/lock
mount -t configfs none /sys/kernel/config 2>/dev/null

ok() { echo "ok      $*"; }
failure() {
    echo "FAILED  $*"
    failed=$((failed + 1))
}
# overwrite TARGET OPTION...
overwrite() { diskscope run random-write "$1" --overwrite "$1" --overwrite-signatures --ramp 0s "${2:---duration=1s}" >/tmp/out 2>/tmp/err; }
message() { grep -v '^$' /tmp/err | tail -n 3 | tr '\n' ' '; }
# The first partition is within the first 66 MiB of the disk. Past the page cache, which each name has for itself.
bytes() {
    sync
    case $1 in
    /dev/*) dd if="$1" bs=1M count=66 iflag=direct 2>/dev/null | md5sum ;;
    *) md5sum <"$1" ;;
    esac
}
# refused TARGET, written TARGET: what overwriting it does now.
refused() {
    before=$(bytes "$1")
    overwrite "$1"
    status=$?
    if [ "$(bytes "$1")" != "$before" ]; then
        failure "$what: $1: ITS BYTES HAVE CHANGED, status $status"
    elif [ $status != 3 ]; then
        failure "$what: $1: $status instead of 3: $(message)"
    else
        ok "$what: $1: refused: $(message | cut -c 1-150)"
    fi
}
written() {
    overwrite "$1" --requests=20
    status=$?
    if [ $status = 0 ]; then ok "$what: $1: written"; else failure "$what: $1: $status instead of 0: $(message)"; fi
}
# user NAME COMES GOES TARGET...: the targets are refused between the two commands, and the first of them is written after them.
user() {
    what=$1 comes=$2 goes=$3
    case $what in *"$only"*) ;; *) return ;; esac
    shift 3
    fresh
    if eval "$comes" >/tmp/log 2>&1; then
        for used; do refused "$used"; done
    else
        failure "$what: no such user: $(tail -n 3 /tmp/log | tr '\n' ' ')"
    fi
    eval "$goes" >/tmp/log 2>&1
    what="$what, gone"
    written "$1"
}
# has MODULE NAME: whether the kernel has it.
has() { [ -d /sys/module/"$1" ] || { echo "skipped $2: no $1"; false; }; }
# Two empty partitions, of 64 and 20 MiB, on the disk, and a file without holes.
fresh() {
    dd if=/dev/zero of="$disk" bs=1M count=66 conv=notrunc 2>/dev/null
    dd if=/dev/zero of="$disk" bs=1M seek=$(($(cat /sys/class/block/"${disk#/dev/}"/size) / 2048 - 1)) count=1 2>/dev/null
    printf 'label: dos\nstart=2048,size=131072\nstart=133120,size=40960\n' | sfdisk -q --force "$disk" >/dev/null 2>&1
    blockdev --rereadpt "$disk" 2>/dev/null
    [ -e "$part" ] || failure "$what: no partitions on $disk"
    dd if=/dev/zero of=$file bs=1M count=32 2>/dev/null
}
# background COMMAND...: a program until `stop`, which has done by the end of this what it does first.
background() {
    "$@" &
    user=$!
    sleep 2
    kill -0 $user
}
stop() {
    kill $user
    wait $user
    sleep 1
}
format() {
    case $1 in
    ext4) mkfs.ext4 -q -F -E nodiscard "$2" ;;
    xfs) mkfs.xfs -q -f -d size=60m "$2" ;;
    btrfs) mkfs.btrfs -q -f -M -b 60M "$2" ;;
    esac
}
map() { echo "$2" | dmsetup create --noudevsync "$1" && dmsetup mknodes; }
unmap() { dmsetup remove --noudevsync "$1"; }
swap_on() { mkswap "$1" && swapon "$1"; }
# holds DEVICE: a process that has it open for writing and does nothing.
holds() { background sh -c "exec sleep 600 3<>$1"; }

# File systems: mounted read-only, so that nobody but an overwrite changes a byte. The kernel's claim is the same.
for kind in ext4 xfs btrfs; do
    has $kind "file systems of that kind" || continue
    user "$kind on a partition" "format $kind $part && mount -o ro $part /tmp/point" "umount /tmp/point" "$part" "$disk"
    user "$kind on a disk with partitions" "format $kind $disk && mount -o ro $disk /tmp/point" "umount /tmp/point" "$disk" "$part"
done
elsewhere="background unshare -m sh -c 'mount -o ro $part /tmp/point && exec sleep 600'"
user "mounted in another mount namespace" "format ext4 $part && $elsewhere" stop "$part" "$disk"
lazily="mount -o ro $part /tmp/point && { cd /tmp/point; sleep 600 & user=\$!; cd /; umount -l /tmp/point; }"
user "mounted where no table shows it" "format ext4 $part && $lazily" stop "$part" "$disk"
user "swap" "swap_on $part" "swapoff $part" "$part" "$disk"
user "swap, second partition" "swap_on $spare" "swapoff $spare" "$disk"
user "swap in a file" "format ext4 $part && mount $part /tmp/point && dd if=/dev/zero of=/tmp/point/swap bs=1M count=32 && chmod 600 /tmp/point/swap &&
    swap_on /tmp/point/swap" "swapoff /tmp/point/swap" /tmp/point/swap
umount /tmp/point

# Stacked devices.
volume="lvm pvcreate -qq -y $part && lvm vgcreate -qq group $part && lvm lvcreate -qq -y -Wn -Zn -n volume -L 32M group"
export LVM_SUPPRESS_FD_WARNINGS=1
printf 'devices {\nuse_devicesfile=0\n}\nactivation {\nudev_sync=0\nudev_rules=0\n}\n' >/etc/lvm/lvm.conf
user "physical volume of LVM" "$volume" "lvm vgchange -qq -an group" "$part" "$disk"
user "member of md" "mdadm --create /dev/md7 --run --force --level=1 --raid-devices=2 --metadata=1.2 $part missing; sleep 2; [ -e /dev/md7 ]" \
    "mdadm --stop /dev/md7" "$part" "$disk"
user "dm-crypt" "echo secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 $part crypt" \
    "cryptsetup close crypt || unmap crypt" "$part" "$disk"
user "map over a disk" "map whole '0 2048 linear $disk 0'" "unmap whole" "$disk" "$part"
has bcache bcache && user "bcache" "make-bcache -B $part; echo $part >/sys/fs/bcache/register; sleep 1; [ -e /sys/block/bcache0 ]" \
    "echo 1 >/sys/block/bcache0/bcache/stop; sleep 2" "$part" "$disk"
loop=$(losetup -f)
mounted="losetup $loop $part && mount -o ro $loop /tmp/point"
user "loop device over a partition, mounted" "format ext4 $part && $mounted" "umount /tmp/point; losetup -d $loop" "$part" "$disk"
user "loop device over a disk, mounted" "format ext4 $disk && losetup $loop $disk && mount -o ro $loop /tmp/point" \
    "umount /tmp/point; losetup -d $loop" "$part" "$disk"
user "loop device over a file" "losetup $loop $file" "losetup -d $loop" $file
second=/dev/loop7
user "two loop devices over a file, one mounted" "format ext4 $file && losetup $loop $file && losetup $second $file && mount -o ro $second /tmp/point" \
    "umount /tmp/point; losetup -d $second; dd if=/dev/zero of=$file bs=1M count=32 conv=notrunc" $loop $second
losetup -d $loop

# Users that claim nothing.
user "process that has a disk open for writing" "holds $disk" stop "$disk" "$part"
for target in "$part" "$file"; do
    case $target in "$part") same=$disk driver=host_device ;; *) same= driver=file ;; esac
    user "process that has $target open for writing" "holds $target" stop "$target" $same
    daemon="qemu-storage-daemon --blockdev driver=$driver,node-name=one,filename=$target,locking=on"
    user "QEMU with $target" "background $daemon --nbd-server addr.type=unix,addr.path=/tmp/socket --export type=nbd,id=one,node-name=one,writable=on" \
        stop "$target" $same
    subsystem=/sys/kernel/config/nvmet/subsystems/claims
    has nvmet "nvmet" && user "nvmet with $target" "mkdir $subsystem $subsystem/namespaces/1 && echo 1 >$subsystem/namespaces/1/buffered_io &&
        printf $target >$subsystem/namespaces/1/device_path && echo 1 >$subsystem/namespaces/1/enable" \
        "echo 0 >$subsystem/namespaces/1/enable; rmdir $subsystem/namespaces/1 $subsystem" "$target" $same
    store=/sys/kernel/config/target/core/fileio_0/claims
    has target_core_file "LIO" && user "LIO (fileio) with $target" "mkdir -p $store &&
        printf fd_dev_name=$target,fd_dev_size=33554432 >$store/control && echo 1 >$store/enable" "rmdir $store" "$target" $same
done
user "process that reads a file" "background sh -c 'exec sleep 600 3<$file'" stop $file
user "process that has the backing file of a loop device open for writing" "losetup $loop $file && holds $file" stop $loop
losetup -d $loop
user "process that has the device below a map open for writing" "map upper '0 131072 linear $part 0' && holds $part" stop /dev/mapper/upper
unmap upper
what="process that only reads a device"
fresh
background sh -c "exec sleep 600 3<$part"
written "$part"
stop

# What is no target.
what="device of less than 16 MiB"
map small "0 30000 linear $part 0"
refused /dev/mapper/small
unmap small
map large "0 32768 linear $part 0"
what="device of 16 MiB"
written /dev/mapper/large
unmap large
for target in /dev/null /dev/mtd0 /dev/mtdblock0; do
    what="no target of a benchmark"
    [ -e $target ] || { echo "skipped $target"; continue; }
    overwrite $target
    status=$?
    # A character device may also be no target at all (2).
    if [ $status = 3 ] || [ $status = 2 ]; then ok "$what: $target: $(message | cut -c 1-150)"; else failure "$what: $target: $status"; fi
done

# During a run: nobody can claim what it writes, and a process that opens it ends the run.
# running TARGET: has begun when it writes.
running() {
    rm -rf /tmp/state
    overwrite "$1" --duration=60s &
    run=$!
    while kill -0 $run 2>/dev/null && ! grep -q iops /tmp/state/diskscope/sessions/*.journal 2>/dev/null; do sleep 0.5; done
}
fresh
what="while it is written"
running "$part"
for command in "mount -t ext4 $part /tmp/point" "mount -t ext4 $disk /tmp/point" "swapon $part" "map held '0 2048 linear $part 0'" "map held '0 2048 linear $disk 0'"; do
    if ! eval "$command" >/tmp/log 2>&1 && grep -qi busy /tmp/log; then ok "$what: $command: busy"; else failure "$what: $command: $(cat /tmp/log)"; fi
    kill -0 $run || failure "$what: $command: the run has ended"
done
# Not SIGINT, which a shell has its background jobs ignore.
kill $run
wait $run
what="run whose device a process opens for writing"
for opened in "$part" "$disk"; do
    running "$part"
    holds "$opened"
    seconds=2
    while kill -0 $run 2>/dev/null && [ $seconds -lt 30 ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
    [ $seconds -lt 30 ] || kill $run
    wait $run
    status=$?
    if [ $seconds -le 11 ] && [ $status != 0 ]; then ok "$what: $opened: ended ($status)"; else failure "$what: $opened: $status after $seconds s"; fi
    stop
done
echo "$failed failed"
exit $failed
