#!/bin/sh
# Volumes of ZFS: without a reservation a write takes space of the pool, and when that is full the file systems
# on all such volumes lose data that the kernel has accepted. Run by hand, as root, in a virtual machine.
#
# usage: zfs_volumes.sh
#
# Wanted: kernel modules zfs, ext4, dm-mod; diskscope, zpool and zfs (found by diskscope in /sbin),
# mkfs.ext4, dmsetup in the PATH; 2 GB of memory. Prints one line for every check; its exit status is the
# number of those that failed.

failed=0
export XDG_STATE_HOME=/tmp/state DM_DISABLE_UDEV=1
mkdir -p /tmp/state /tmp/point /tmp/machine
ln -sf /proc/self/mounts /etc/mtab

# expect STATUS REASON WORD...: running that ends like that, and says so.
expect() {
    status_wanted=$1 reason=$2
    shift 2
    diskscope run "$@" >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$status_wanted" ] && { [ -z "$reason" ] || grep -q "$reason" /tmp/err /tmp/out; }; then
        echo "ok      $what: $*: $status ${reason:-written}"
    else
        echo "FAILED  $what: $*: $status instead of $status_wanted (${reason:-written}): $(tail -n 4 /tmp/err /tmp/out | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
# overwrite STATUS REASON TARGET WORD...
overwrite() {
    status_wanted=$1 reason=$2 target=$3
    shift 3
    expect "$status_wanted" "$reason" random-write "$target" --overwrite "$target" --overwrite-signatures --ramp 0s "$@"
}
# check WHAT COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok      $what: $name"
    else
        echo "FAILED  $what: $name"
        failed=$((failed + 1))
    fi
}
available() { zfs get -Hp -o value available "$1"; }
# volume NAME WORD...: the new device of a volume.
volume() {
    name=$1
    shift
    before=$(ls /sys/block)
    zfs create "$@" "tank/$name" || exit 99
    sleep 2
    for device in $(ls /sys/block); do
        case " $(echo $before) " in
            *" $device "*) ;;
            *) echo "/dev/$device" ;;
        esac
    done
}
few="--requests 20"
large="--bytes 400MiB"
pool="the ZFS pool of tank/[a-z/]* has"

# pool WHERE: of 512 MB, its file system mounted there or nowhere.
make_pool() {
    rm -f /tmp/disk
    truncate -s 512M /tmp/disk
    zpool create -O mountpoint=$1 tank /tmp/disk || exit 99
}
for where in /tmp/tank none; do
    make_pool $where
    thin=$(volume thin -s -V 3G)
    what="volume without a reservation, file system of the pool at $where"
    overwrite 3 "$pool" $thin $large
    overwrite 0 "" $thin $few

    what="device-mapper on such a volume"
    echo "0 1000000 linear $thin 0" | dmsetup create --noudevsync map && dmsetup mknodes
    overwrite 3 "$pool" /dev/mapper/map $large
    overwrite 0 "" /dev/mapper/map $few
    dmsetup remove --noudevsync map

    what="file system on such a volume"
    mkfs.ext4 -q -F -E lazy_itable_init=1 -O ^has_journal $thin && mount -t ext4 $thin /tmp/point || exit 99
    sync
    expect 1 "$pool" random-read /tmp/point --scratch-size 400MiB $few
    expect 0 "" random-read /tmp/point --scratch-size 16MiB $few
    umount /tmp/point
    zpool destroy tank
done

make_pool none
what="quota above a volume"
zfs create -o mountpoint=/tmp/tank tank/data
zfs create -o quota=150M tank/customer
limited=$(volume customer/thin -s -V 3G)
overwrite 3 "$pool" $limited --window-end 148MiB --bytes 148MiB
overwrite 0 "" $limited $few
free=$(volume free -s -V 3G)
overwrite 0 "" $free --window-end 120MiB --bytes 20MiB
zfs destroy -r tank/customer
zfs destroy tank/free

what="volume with a reservation, where the pool has nothing else"
thick=$(volume thick -V 160M)
dd if=/dev/urandom of=$thick bs=1M count=160 2>/dev/null
sync
zfs create -o mountpoint=none -o refreservation=$(($(available tank) - 1000000)) tank/rest
check "nothing is left ($(available tank))" [ "$(available tank)" -lt 20000000 ]
overwrite 0 "" $thick $few
overwrite 0 "" $thick --window-end 100MiB --bytes 100MiB
what="volume without a reservation there"
thin=$(volume late -s -V 700M)
overwrite 3 "$pool" $thin $few
zpool destroy tank

echo "$failed failed"
exit $failed
