#!/bin/sh
# The write guard with what stands between a file and its users: LUKS, network block devices, exports by
# FUSE, encrypted directories, overlays on loop devices; and an export that comes up during a run. Run by hand, as root, in
# a virtual machine.
#
# usage: served.sh NVME SCSI      names without /dev; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules dm-crypt, nbd, fuse, ext4, loop, overlay, xts, cts, cbc, nvmet; diskscope,
# cryptsetup, dmsetup, qemu-nbd, qemu-storage-daemon, e4crypt, mkfs.ext4, losetup, unshare in the PATH. Prints one line for every check; its exit
# status is the number of those that failed.

nvme=$1 scsi=$2
failed=0
export XDG_STATE_HOME=/tmp/state
mkdir -p /tmp/point /tmp/other /tmp/work /run/cryptsetup /var/lock
export DM_DISABLE_UDEV=1
# What the kernel serves cannot be seen without it.
mount -t configfs none /sys/kernel/config 2>/dev/null

# expect STATUS REASON TARGET WORD: overwriting it ends like that, and says so.
expect() {
    diskscope run random-write "$3" --overwrite "$3" --overwrite-signatures --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" /tmp/err; }; then
        echo "ok      $what: $3: $4 $2"
    else
        echo "FAILED  $what: $3: $status instead of $1 ($4 $2): $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
refused() { expect 3 "$1" "$2" refused; }
written() { expect 0 "" "$1" written; }
unsigned() { # without consent to signatures
    diskscope run random-write "$1" --overwrite "$1" --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = 3 ] && grep -qi "$2" /tmp/err; then
        echo "ok      $what: $1: needs consent to $2"
    else
        echo "FAILED  $what: $1: $status: $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
dd if=/dev/zero of=/dev/$nvme bs=1M count=40 2>/dev/null
dd if=/dev/zero of=/dev/$scsi bs=1M count=40 2>/dev/null

what="LUKS on a disk"
luks="--pbkdf-force-iterations 1000 --pbkdf pbkdf2 -q"
echo secret | cryptsetup luksFormat --type luks2 $luks /dev/$nvme - >/tmp/log 2>&1 || cat /tmp/log
unsigned /dev/$nvme luks
echo secret | cryptsetup open /dev/$nvme vault --key-file=- >/tmp/log 2>&1 || cat /tmp/log
dmsetup mknodes
refused "" /dev/$nvme
written /dev/mapper/vault
mkfs.ext4 -q /dev/mapper/vault && mount /dev/mapper/vault /tmp/point
refused "mounted" /dev/mapper/vault
refused "" /dev/$nvme
umount /tmp/point
dmsetup suspend vault
refused "" /dev/$nvme
dmsetup resume vault
cryptsetup close vault >/tmp/log 2>&1 || dmsetup remove vault
what="LUKS with its header in a file"
truncate -s 16M /tmp/header
dd if=/dev/zero of=/dev/$nvme bs=1M count=40 2>/dev/null
echo secret | cryptsetup luksFormat --type luks2 $luks --header /tmp/header /dev/$nvme - >/tmp/log 2>&1 || cat /tmp/log
echo secret | cryptsetup open --header /tmp/header /dev/$nvme apart --key-file=- >/tmp/log 2>&1 || cat /tmp/log
dmsetup mknodes
refused "" /dev/$nvme
written /dev/mapper/apart
cryptsetup close apart >/tmp/log 2>&1 || dmsetup remove apart
what="LUKS in a file"
dd if=/dev/zero of=/tmp/image bs=1M count=60 2>/dev/null
echo secret | cryptsetup luksFormat --type luks2 $luks /tmp/image - >/tmp/log 2>&1 || cat /tmp/log
unsigned /tmp/image luks
echo secret | cryptsetup open /tmp/image inner --key-file=- >/tmp/log 2>&1 || cat /tmp/log
dmsetup mknodes
refused "" /tmp/image
second=$(losetup -f)
losetup "$second" /tmp/image
refused "" "$second"
losetup -d "$second"
cryptsetup close inner >/tmp/log 2>&1 || dmsetup remove inner

what="network block device"
dd if=/dev/zero of=/tmp/exported bs=1M count=60 2>/dev/null
written /tmp/exported
qemu-nbd -c /dev/nbd0 -f raw /tmp/exported
sleep 2
refused "" /tmp/exported
mkfs.ext4 -q /dev/nbd0 && mount /dev/nbd0 /tmp/point
refused "mounted" /dev/nbd0
refused "" /tmp/exported
umount /tmp/point
qemu-nbd -d /dev/nbd0 >/dev/null
sleep 1
what="network block device that is only read, by a server without locks"
unlocked="--image-opts driver=raw,file.driver=file,file.filename=/tmp/exported,file.locking=off"
qemu-nbd -r -c /dev/nbd0 $unlocked
sleep 2
mount -o ro /dev/nbd0 /tmp/point
refused "" /tmp/exported
umount /tmp/point
qemu-nbd -d /dev/nbd0 >/dev/null
sleep 1
what="export by FUSE"
touch /tmp/fuse-file
qemu-storage-daemon --blockdev driver=file,node-name=f,filename=/tmp/exported,read-only=on \
    --export type=fuse,id=e,node-name=f,mountpoint=/tmp/fuse-file &
server=$!
sleep 3
refused "" /tmp/exported
kill $server
wait $server 2>/dev/null

what="overlay on a loop device"
dd if=/dev/zero of=/tmp/image2 bs=1M count=100 2>/dev/null
mkfs.ext4 -q -E nodiscard /tmp/image2 && losetup /dev/loop0 /tmp/image2 && mount /dev/loop0 /tmp/work
mkdir -p /tmp/work/upper /tmp/work/work /tmp/work/lower
dd if=/dev/zero of=/tmp/work/lower/file bs=1M count=8 2>/dev/null
mount -t overlay overlay -o lowerdir=/tmp/work/lower,upperdir=/tmp/work/upper,workdir=/tmp/work/work /tmp/other
refused "" /tmp/image2
refused "mounted" /dev/loop0
umount -l /tmp/work
refused "" /tmp/image2
refused "" /dev/loop0
sleep 600 </tmp/other/file &
holder=$!
umount -l /tmp/other
refused "" /tmp/image2
refused "" /dev/loop0
kill $holder
wait $holder 2>/dev/null
sleep 1
losetup -d /dev/loop0
sleep 1
# mkfs.ext4 has made holes, for which a small file system has no room.
dd if=/dev/zero of=/tmp/image2 bs=1M count=100 conv=notrunc 2>/dev/null
written /tmp/image2

what="encrypted directory"
mkfs.ext4 -q -O encrypt /dev/$scsi && mount /dev/$scsi /tmp/point && mkdir /tmp/point/secret
if echo secret | e4crypt add_key -S s:abcd /tmp/point/secret >/tmp/log 2>&1; then
    dd if=/dev/zero of=/tmp/point/secret/file bs=1M count=8 2>/dev/null
    sleep 600 </dev/null >>/tmp/point/secret/file &
    holder=$!
    sleep 1
    refused "" /tmp/point/secret/file
    kill $holder
    wait $holder 2>/dev/null
    written /tmp/point/secret/file
    if diskscope run random-write /tmp/point/secret --scratch-size 8MiB --requests 20 --ramp 0s >/tmp/out 2>/tmp/err; then
        echo "ok      $what: scratch file"
    else
        echo "FAILED  $what: scratch file: $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
    # Without the key.
    e4crypt new_session >/dev/null 2>&1
    umount /tmp/point
    mount /dev/$scsi /tmp/point
    for target in /tmp/point/secret/* /tmp/point/secret; do
        diskscope run random-write "$target" --overwrite "$target" --scratch-size 8MiB --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
        status=$?
        echo "without the key: $target: $status $(head -n 1 /tmp/err)"
    done
else
    echo "FAILED  no key: $(cat /tmp/log)"
    failed=$((failed + 1))
fi
umount /tmp/point
dd if=/dev/zero of=/dev/$scsi bs=1M count=40 2>/dev/null

# What changes during a run.
# ends TARGET COMMAND: a run on the target ends by itself after the command.
ends() {
    rm -rf /tmp/state
    diskscope run random-write "$1" --overwrite "$1" --overwrite-signatures --duration 120s --ramp 0s --rate 40 >/tmp/out 2>/tmp/err &
    run=$!
    # The target is watched as soon as it may be written.
    while kill -0 $run 2>/dev/null && ! grep -q iops /tmp/state/diskscope/sessions/*.journal 2>/dev/null; do sleep 1; done
    eval "$2"
    wait $run
    status=$?
    if [ $status != 0 ]; then
        echo "ok      $what: $1: $status"
    else
        echo "FAILED  $what: $1: went on"
        failed=$((failed + 1))
    fi
}
served=/sys/kernel/config/nvmet/subsystems/served
if mkdir $served 2>/dev/null; then
    dd if=/dev/urandom of=/tmp/two bs=1M count=32 2>/dev/null
    mkdir $served/namespaces/1
    echo 1 >$served/namespaces/1/buffered_io
    printf /tmp/two >$served/namespaces/1/device_path
    what="file that is exported once it is written"
    ends /tmp/two 'echo 1 >$served/namespaces/1/enable'
    echo 0 >$served/namespaces/1/enable
    rmdir $served/namespaces/1 $served
else
    echo "skipped exports: no nvmet"
fi

# Modules scst, scst_vdisk and scst_local of the SCST project, if they are loaded.
scst=/sys/kernel/scst_tgt
if [ -d $scst ]; then
    for handler in vdisk_fileio vdisk_blockio; do
        what="device that SCST serves ($handler)"
        written /dev/$scsi
        echo "add_device disk1 filename=/dev/$scsi" >$scst/handlers/$handler/mgmt
        refused "SCST" /dev/$scsi
        written /dev/$nvme
        echo "del_device disk1" >$scst/handlers/$handler/mgmt
        sleep 1
    done
    what="device that SCST serves once it is written"
    ends /dev/$scsi "echo 'add_device disk1 filename=/dev/$scsi' >$scst/handlers/vdisk_fileio/mgmt"
    echo "del_device disk1" >$scst/handlers/vdisk_fileio/mgmt
else
    echo "skipped devices that SCST serves"
fi
exit $failed
