#!/bin/sh
# A network mount on a real kernel: NFSv4 from the machine to itself, while it works and while its
# server does not answer. Run by hand, as root, in a virtual machine.
#
# usage: network_mount.sh
#
# Wanted: kernel modules nfsd, nfsv4, loop, ext4 with what they need; diskscope, mkfs.ext4, timeout and
# a mount that knows -i in the PATH; 2 GiB free in /tmp. No server in user space: the exports are written into the kernel's
# tables. Prints one line for every check; its exit status is the number of those that failed.

failed=0

# expect WHAT TEXT FILE: the file contains the text.
expect() {
    if grep -q -e "$2" "$3"; then
        echo "ok      $1"
    else
        echo "FAILED  $1: no '$2' in:"
        cut -c 1-300 "$3" | tail -n 20
        failed=$((failed + 1))
    fi
}

ip link set lo up
mkdir -p /tmp/served /tmp/mounted
dd if=/dev/zero of=/tmp/image bs=1M count=160 2>/dev/null
mkfs.ext4 -q /tmp/image
losetup /dev/loop4 /tmp/image
mount /dev/loop4 /tmp/served
dd if=/dev/urandom of=/tmp/source bs=1M count=60 2>/dev/null

mount -t nfsd nfsd /proc/fs/nfsd
echo "-2 -3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
# Each table takes one line in one write(2): exports(5), nfsd(7).
printf 'nfsd 127.0.0.1 2147483647 *\n' >/proc/net/rpc/auth.unix.ip/channel
printf '* /tmp/served 2147483647 9250 65534 65534 0\n' >/proc/net/rpc/nfsd.export/channel
printf '* 1 \\x00000000 2147483647 /tmp/served\n' >/proc/net/rpc/nfsd.fh/channel
echo "tcp 2049" >/proc/fs/nfsd/portlist
echo 2 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
timeout 40 mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.1,sec=sys,soft,timeo=600 \
    127.0.0.1:/ /tmp/mounted || { echo "FAILED  the mount"; exit 1; }

# A copy onto the mount, slow enough for several samples.
cat >/tmp/copies <<'COPIES'
while :; do
    dd if=/tmp/source of=/tmp/mounted/copy bs=64k conv=fsync 2>/dev/null
done
COPIES
sh /tmp/copies &
copies=$!
# The grace period of the server is over by then: it answers reclaims only.
sleep 14
diskscope watch --mounts --interval 2s --count 4 >/tmp/text 2>&1
diskscope watch --mounts --interval 500ms --count 16 --json >/tmp/json 2>&1
expect "the mount is listed" "/tmp/mounted" /tmp/text
expect "with its server" '"source":"127.0.0.1:/"' /tmp/json
expect "and its version" "nfs 4.1" /tmp/text
expect "with what is written" 'nfs4",.*"write_bytes_per_s":[1-9]' /tmp/json
expect "with its requests" 'nfs4",.*"requests_per_s":[1-9]' /tmp/json
expect "with its round trip" '"round_trip_ns":[0-9]' /tmp/json
expect "the copy is a transfer" '"destination":"/tmp/mounted/copy"' /tmp/json
grep "^nfs\|^FS" /tmp/text | tail -n 2

# A client opens a file that is being overwritten on the server: no process shows that.
kill $copies
wait $copies
export XDG_STATE_HOME=/tmp/state
dd if=/dev/zero of=/tmp/served/disk.img bs=1M count=20 conv=fsync 2>/dev/null
diskscope run random-write /tmp/served/disk.img --overwrite /tmp/served/disk.img --duration 40s \
    >/tmp/run 2>&1 &
running=$!
sleep 10
exec 5<>/tmp/mounted/disk.img
wait $running
echo "status $?" >>/tmp/run
exec 5>&-
expect "a client that opens the file during a run is named" "NFS client" /tmp/run
expect "and ends the run" "status 3" /tmp/run
sh /tmp/copies &
copies=$!
sleep 2

# The server does not answer any more.
echo 0 >/proc/fs/nfsd/threads
diskscope why --duration 12s >/tmp/why 2>&1
expect "a server that does not answer is the cause" "does not answer\|has not answered" /tmp/why
expect "with its mount" "/tmp/mounted" /tmp/why
expect "whose unmount ends the waiting" "umount -f -l -- /tmp/mounted" /tmp/why
sed -n '/ && umount -f -l -- /p' /tmp/why >/tmp/unmount
sed 's/ && umount -f -l -- .*//' /tmp/unmount >/tmp/condition
sh /tmp/condition >/tmp/met 2>&1 && echo met >>/tmp/met
expect "whose condition is met while a process waits" "^met" /tmp/met
head -n 12 /tmp/why
# A process that is given a path may wait for any server.
cat /tmp/mounted/nothing >/tmp/output 2>&1 &
reader=$!
diskscope why --duration 12s >/tmp/why 2>&1
expect "of a process that is given a path, the mount is possible only" "possibly" /tmp/why
grep "umount -f -l --" /tmp/why >/tmp/command && echo umount >>/tmp/command || echo none >/tmp/command
expect "and no unmount is offered" "^none" /tmp/command
head -n 12 /tmp/why
timeout 20 diskscope watch --count 1 >/tmp/text 2>&1
expect "the list still answers" "COMMAND" /tmp/text

# The same process still waits.
timeout 20 sh /tmp/unmount >/tmp/unmounted 2>&1
kill -9 $copies $reader
grep " /tmp/mounted " /proc/self/mountinfo >>/tmp/unmounted || echo "not mounted" >>/tmp/unmounted
expect "the unmount is done" "^not mounted" /tmp/unmounted
sleep 2
sh /tmp/condition >/tmp/met 2>&1 || echo "not met" >>/tmp/met
expect "and its condition is not met any more" "^not met" /tmp/met
echo 2 >/proc/fs/nfsd/threads
echo "failed: $failed"
exit $failed
