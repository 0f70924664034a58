#!/bin/sh
# The write guard on a disk that this machine serves to itself: a SCSI target by tcm_loop, an NVMe target over TCP. Run by
# hand, as root, in a virtual machine.
#
# usage: own_exports.sh DISK      name without /dev, of 200 MB or more; WHAT IS ON IT IS LOST
#
# Wanted: kernel modules tcm_loop, target_core_file, target_core_iblock, nvmet-tcp, nvme-tcp, ext4, loop, device-mapper;
# diskscope, dmsetup, mkfs.ext4, losetup in the PATH. Prints one line for every check; its exit status is the number of those
# that failed.

disk=$1
failed=0
export XDG_STATE_HOME=/tmp/state
# What is configured by path counts as long as neither the file nor its directory may have been replaced.
mkdir -p /tmp/point /tmp/images
ip link set lo up
mount -t configfs none /sys/kernel/config 2>/dev/null
config=/sys/kernel/config

# expect STATUS REASON TARGET: overwriting it ends like that, and says so.
expect() {
    diskscope run random-write "$3" --overwrite "$3" --overwrite-signatures --requests 20 --ramp 0s >/tmp/out 2>/tmp/err
    status=$?
    if [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" /tmp/err; }; then
        echo "ok      $what: $3: $status ${2:-written}"
    else
        echo "FAILED  $what: $3: $status instead of $1 (${2:-written}): $(tail -n 5 /tmp/err | tr '\n' ' ')"
        failed=$((failed + 1))
    fi
}
refused() { expect 3 "$1" "$2"; }
written() { expect 0 "" "$1"; }
# disk_but NAME...: a whole disk that is none of these.
disk_but() {
    for name in $(ls /sys/block); do
        case " $* " in *" $name "*) continue ;; esac
        case $name in nvme*c*) ;; sd* | nvme*) echo "$name"; return ;; esac
    done
}
known=$(ls /sys/block | tr '\n' ' ')

dd if=/dev/zero of=/tmp/images/one bs=1M count=64 2>/dev/null
dd if=/dev/zero of="/dev/$disk" bs=1M count=100 2>/dev/null

what="SCSI target with a file"
store=$config/target/core/fileio_0/one
mkdir -p "$store"
echo "fd_dev_name=/tmp/images/one,fd_dev_size=67108864" >"$store/control"
echo 3d1f8a52-0c77-4b1e-9d0a-5f6e7d8c9bab >"$store/wwn/vpd_unit_serial"
echo 1 >"$store/enable"
port=$config/target/loopback/naa.5001405aaaaaaaaa/tpgt_1
mkdir -p "$port/lun/lun_0"
echo naa.5001405bbbbbbbbb >"$port/nexus"
ln -s "$store" "$port/lun/lun_0/one"
sleep 2
served=$(disk_but $known)
echo "served as $served: $(cat /sys/block/$served/device/wwid)"
written /dev/$served
losetup /dev/loop1 /tmp/images/one
mkfs.ext4 -qF /dev/loop1
mount /dev/loop1 /tmp/point
refused "is mounted at" /dev/$served
umount /tmp/point
refused "" /tmp/images/one
losetup -d /dev/loop1
written /dev/$served
diskscope run random-write /dev/$served --overwrite /dev/$served --overwrite-signatures --duration 20s --ramp 0s >/tmp/out 2>/tmp/err &
running=$!
sleep 6
losetup /dev/loop1 /tmp/images/one
wait $running
status=$?
if [ $status = 3 ] && grep -q "loop1" /tmp/out; then
    echo "ok      $what: another use of its file ends a run: 3"
else
    echo "FAILED  $what: another use of its file ends a run: $status: $(cat /tmp/out | tr '\n' ' ')"
    failed=$((failed + 1))
fi
losetup -d /dev/loop1
rm "$port/lun/lun_0/one"
sleep 1

what="SCSI target with a disk"
store=$config/target/core/iblock_0/two
mkdir -p "$store"
# Above, a map over other sectors: the target holds its own map only.
echo "0 100000 linear /dev/$disk 0" | dmsetup create --noudevsync lower && dmsetup mknodes
echo "0 50000 linear /dev/$disk 50000" | dmsetup create --noudevsync beside && dmsetup mknodes
echo "udev_path=/dev/mapper/lower" >"$store/control"
echo /dev/mapper/lower >"$store/udev_path"
echo 4d1f8a52-0c77-4b1e-9d0a-5f6e7d8c9bab >"$store/wwn/vpd_unit_serial"
echo 1 >"$store/enable"
ln -s "$store" "$port/lun/lun_0/two"
sleep 2
served=$(disk_but $known)
echo "served as $served: $(cat /sys/block/$served/device/wwid)"
written /dev/$served
mkfs.ext4 -qF /dev/mapper/beside
mount /dev/mapper/beside /tmp/point
refused "is mounted at" /dev/$served
umount /tmp/point
rm "$port/lun/lun_0/two"
sleep 1
rmdir "$store"
dmsetup remove --noudevsync lower
dmsetup remove --noudevsync beside

what="NVMe target"
space=$config/nvmet/subsystems/nqn.one/namespaces/1
mkdir -p "$space"
echo 1 >$config/nvmet/subsystems/nqn.one/attr_allow_any_host
echo "/dev/$disk" >"$space/device_path"
echo 1 >"$space/enable"
mkdir $config/nvmet/ports/1
echo tcp >$config/nvmet/ports/1/addr_trtype
echo ipv4 >$config/nvmet/ports/1/addr_adrfam
echo 127.0.0.1 >$config/nvmet/ports/1/addr_traddr
echo 4420 >$config/nvmet/ports/1/addr_trsvcid
ln -s $config/nvmet/subsystems/nqn.one $config/nvmet/ports/1/subsystems/nqn.one
echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.one,hostnqn=nqn.host" >/dev/nvme-fabrics
sleep 2
served=$(disk_but $known)
echo "served as $served: $(cat /sys/block/$served/wwid)"
written /dev/$served
mkfs.ext4 -qF "/dev/$disk" 100M
mount "/dev/$disk" /tmp/point
refused "is mounted at" /dev/$served
umount /tmp/point
written /dev/$served
diskscope run random-write /dev/$served --overwrite /dev/$served --overwrite-signatures --duration 8s --ramp 0s >/tmp/out 2>&1 &
running=$!
sleep 4
if mount "/dev/$disk" /tmp/point 2>/dev/null; then
    umount /tmp/point
    echo "FAILED  $what: the disk was mounted while it was written"
    failed=$((failed + 1))
else
    echo "ok      $what: the disk cannot be mounted while it is written"
fi
wait $running
echo "failed: $failed"
exit $failed
