#!/bin/sh
# Attributes of an existing output on file systems that other machines do not have: exFAT (hidden), NTFS of
# the kernel (hidden, access control list), ext4 (chattr +j, +A). Run by hand, as root, in a virtual machine.
#
# usage: outputs.sh
#
# Wanted: kernel modules loop, exfat (before Linux 6.8 it does not report the attributes), ext4 and, where there is one, ntfs3; mkfs.exfat, mkfs.ntfs, mkfs.ext4, lsattr, chattr, getfattr, setfattr and
# diskscope in the PATH. Prints one line for every check; its exit status is the number of those that
# failed.

failed=0
export XDG_STATE_HOME=/tmp/state
mkdir -p /tmp/m
# mounted TYPE COMMAND...: runs the command with the image mounted on /tmp/m.
mounted() {
    type=$1
    shift
    device=$(losetup -f)
    losetup $device /tmp/image && mount -t $type $device /tmp/m || echo "FAILED  mount of $type"
    "$@"
    umount /tmp/m
    losetup -d $device
}
# check WHAT BEFORE AFTER
check() {
    if [ -n "$2" ] && [ "$2" = "$3" ]; then
        echo "ok      $1: $2"
    else
        echo "FAILED  $1: $2, then $3"
        failed=$((failed + 1))
    fi
}
write_output() { diskscope config -o /tmp/m/OUT >/tmp/out 2>&1 && grep -q interval /tmp/m/OUT || cat /tmp/out; }
make_file() { echo before >/tmp/m/OUT; }
truncate_image() {
    rm -f /tmp/image
    truncate -s 64M /tmp/image
}

uname -r

# The entry of a file in the root directory has the type 0x85, and the attributes at offset 4.
entry_offset() {
    offset=$(hexdump -C /tmp/image | grep -E '^[0-9a-f]{8}  85 0[0-9a-f] ' | head -n 1 | cut -d' ' -f1)
    echo $((0x$offset))
}
exfat_attributes() { dd if=/tmp/image bs=1 skip=$(($(entry_offset) + 4)) count=1 2>/dev/null | hexdump -e '1/1 "%02x"'; }
truncate_image
mkfs.exfat /tmp/image >/dev/null
mounted exfat make_file
printf '\042' | dd of=/tmp/image bs=1 seek=$(($(entry_offset) + 4)) conv=notrunc 2>/dev/null
before=$(exfat_attributes)
mounted exfat write_output
check "attributes on exFAT" "$before" "$(exfat_attributes)"

ntfs_attributes() {
    getfattr -e hex --only-values -n system.ntfs_attrib /tmp/m/OUT | hexdump -e '1/1 "%02x"'
    getfattr -e hex -n system.ntfs_security /tmp/m/OUT 2>/dev/null | tail -n 2
}
acl=0x0100048014000000200000000000000030000000010100000000000512000000010200000000000520000000200200000200340002000000000014008900120001010000000000010000000000001800ff011f0001020000000000052000000020020000
ntfs() {
    make_file
    setfattr -n system.ntfs_attrib -v 0x26000000 /tmp/m/OUT
    setfattr -n system.ntfs_security -v $acl /tmp/m/OUT
    before=$(ntfs_attributes)
    write_output
    check "attributes on NTFS" "$before" "$(ntfs_attributes)"
}
truncate_image
mkfs.ntfs -q -F -Q /tmp/image >/dev/null 2>&1
grep -qw ntfs3 /proc/filesystems && mounted ntfs3 ntfs

ext4() {
    for flag in j A; do
        make_file
        sync
        chattr +$flag /tmp/m/OUT
        before=$(lsattr /tmp/m/OUT)
        write_output
        check "chattr +$flag on ext4" "$before" "$(lsattr /tmp/m/OUT)"
        chattr -$flag /tmp/m/OUT
        rm /tmp/m/OUT
    done
}
truncate_image
mkfs.ext4 -q /tmp/image
mounted ext4 ext4

echo "$failed failed"
exit $failed
