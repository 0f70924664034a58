#!/bin/sh
# Names of volumes and the folding of stacks on a real kernel: LVM on LUKS on md, a mirror by md, a
# loop device. Run by hand, as root, in a virtual machine.
#
# usage: names.sh NVME SCSI      names without /dev; WHAT IS ON BOTH IS LOST
#
# Wanted: kernel modules raid1, dm-crypt, loop, ext4 with what they need; diskscope, mdadm, dmsetup, lvm,
# cryptsetup, mkfs.ext4 in the PATH. Prints one line for every check; its exit status is the number of those that
# failed.

nvme=$1 scsi=$2
failed=0

# expect WHAT TEXT FILE: the file contains the text.
expect() {
    if grep -q -e "$2" "$3"; then
        echo "ok      $1"
    else
        echo "FAILED  $1: no '$2' in:"
        cat "$3"
        failed=$((failed + 1))
    fi
}
# refuse WHAT TEXT FILE: it does not.
refuse() {
    if grep -q -e "$2" "$3"; then
        echo "FAILED  $1: '$2' in:"
        cat "$3"
        failed=$((failed + 1))
    else
        echo "ok      $1"
    fi
}

mkdir -p /tmp/point /run/mdadm /run/cryptsetup
echo y | mdadm --create /dev/md/data --level=1 --raid-devices=2 --metadata=1.2 --assume-clean \
    /dev/$nvme /dev/$scsi --size=400M >/tmp/log 2>&1 || cat /tmp/log
raid=$(ls /sys/block | grep '^md' | head -n 1)
echo "raid $raid: $(ls -l /dev/md 2>/dev/null | tail -n 1), $(cat /run/mdadm/map 2>/dev/null)"
echo secret | cryptsetup luksFormat --type luks1 --pbkdf-force-iterations 1000 -q /dev/$raid - >/tmp/log 2>&1 || cat /tmp/log
echo secret | cryptsetup open /dev/$raid vault --key-file=- >/tmp/log 2>&1 || cat /tmp/log
export LVM_SUPPRESS_FD_WARNINGS=1 DM_DISABLE_UDEV=1
lvm pvcreate -q -y /dev/mapper/vault >/tmp/log 2>&1 || cat /tmp/log
lvm vgcreate -q vg-0 /dev/mapper/vault >/tmp/log 2>&1 || cat /tmp/log
lvm lvcreate -q -y -Zn -Wn -L 100M -n my-data vg-0 >/tmp/log 2>&1 || cat /tmp/log
mkfs.ext4 -q /dev/mapper/vg--0-my--data && mount /dev/mapper/vg--0-my--data /tmp/point
truncate -s 8M /tmp/file && losetup /dev/loop0 /tmp/file

diskscope devices --json >/tmp/devices
expect "LVM volume by name" '"label": "vg--0-my--data"' /tmp/devices
expect "LVM volume by kind" '"kind": "lvm"' /tmp/devices
expect "LUKS volume by name" '"label": "vault"' /tmp/devices
expect "LUKS volume by kind" '"kind": "luks"' /tmp/devices
expect "RAID by name" '"label": "data"' /tmp/devices

dd if=/dev/zero of=/tmp/point/file bs=64k count=200 conv=fsync 2>/dev/null &
diskscope watch --interval 2s --count 1 >/tmp/watch
wait
cat /tmp/watch
expect "mounted volume is listed" "^vg--0-my--data " /tmp/watch
expect "drive is listed" "^$nvme " /tmp/watch
refuse "LUKS below LVM is folded" "^vault " /tmp/watch
refuse "RAID below LUKS is folded" "^data " /tmp/watch
expect "what is folded is told" "2 lower layers" /tmp/watch
expect "idle loops are told" "idle loop" /tmp/watch
refuse "idle loop is not listed" "^loop0 " /tmp/watch
diskscope watch --interval 1s --count 1 --all-devices >/tmp/all
expect "all devices on request" "^vault " /tmp/all
diskscope watch --interval 1s --count 1 --json >/tmp/json
expect "label in the stream" '"label":"vg--0-my--data"' /tmp/json
exit $failed
