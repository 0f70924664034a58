#!/bin/sh
# Control groups of version 2 on a real kernel: a service below nested slices with a limit, its rates, its
# pressure and how near it is to the limit. Run by hand, as root, in a virtual machine.
#
# usage: units.sh NVME      name without /dev; it is only read
#
# Wanted: cgroup2 at /sys/fs/cgroup with the controller io; diskscope and dd in the PATH. Prints one line for
# every check; its exit status is the number of those that failed.

nvme=$1
failed=0
number=$(cat /sys/class/block/$nvme/dev)
root=/sys/fs/cgroup
slice=$root/system.slice/system-backup.slice
service=$slice/nightly-backup.service

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

id=3f4a1c9b27d85e60a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778
container=$root/system.slice/docker-$id.scope
mkdir -p $service $root/user.slice $container /var/lib/docker/containers/$id
echo '{"ID":"'$id'","Name":"/shop-db"}' >/var/lib/docker/containers/$id/config.v2.json
echo +io >$root/cgroup.subtree_control
echo +io >$root/system.slice/cgroup.subtree_control
echo +io >$slice/cgroup.subtree_control
echo "$number rbps=4194304 riops=200" >$service/io.max

(
    sh -c "echo \$\$ >$service/cgroup.procs; exec dd if=/dev/$nvme of=/dev/null bs=64k iflag=direct"
) 2>/dev/null &
(
    sh -c "echo \$\$ >$container/cgroup.procs; exec dd if=/dev/$nvme of=/dev/null bs=16k iflag=direct"
) 2>/dev/null &
sleep 3
diskscope watch --units --interval 2s --count 1 >/tmp/units 2>/dev/null
diskscope watch --json --interval 2s --count 1 >/tmp/json 2>/dev/null
kill $(cat $service/cgroup.procs $container/cgroup.procs)
cat /tmp/units
tr ',' '\n' </tmp/json >/tmp/words
expect "service by its name" " nightly-backup.service$" /tmp/units
expect "container by the name that docker gave it" " shop-db (container)$" /tmp/units
expect "slices in the stream" '"name":"system-backup.slice"' /tmp/words
expect "kind of the service" '"kind":"service"' /tmp/words
expect "unit of the process" '"unit":"nightly-backup.service"' /tmp/words
expect "limit of the service" '"read_bytes_per_s":4194304' /tmp/words
# 64 KiB at 4 MiB/s are 64 requests a second: the limit of bytes is the nearer one.
# The throttle lets less through on an emulated machine.
expect "near its limit" '"usage":\(0.[6-9]\|1.0\)' /tmp/words
if [ -e $service/io.pressure ]; then
    expect "pressure of the service" " [1-9][0-9]* *[1-9][0-9]* *[0-9]*  nightly-backup.service$" /tmp/units
else
    echo "-       pressure of the service: this kernel has no io.pressure"
fi
exit $failed
