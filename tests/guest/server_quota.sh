#!/bin/sh
# A quota on the server of a network file system, which no call of the client tells: the home directory of a user
# by NFSv4 from the machine to itself. Run by hand, as root, in a virtual machine.
#
# usage: server_quota.sh DISK      name without /dev, of 3 GB or more; WHAT IS ON IT IS LOST
#
# Wanted: kernel modules nfsd, nfsv4, ext4, quota_v2; diskscope, mkfs.ext4, setquota, setpriv of util-linux (or SETPRIV=), timeout and
# a mount that knows -i in the PATH. No server in user space: the exports are written into the kernel's tables. Prints
# one line for every check; its exit status is the number of those that failed.

disk=$1
failed=0
# check WHAT COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok      $name"
    else
        echo "FAILED  $name"
        failed=$((failed + 1))
    fi
}

ip link set lo up
ln -sf /proc/self/mounts /etc/mtab
mkdir -p /tmp/served /tmp/mounted /tmp/state /tmp/log
# An ordinary user runs programs here too.
chmod 755 / /bin /lib /lib64 /tmp
chmod 1777 /tmp/state /tmp/log
mkfs.ext4 -q -F -O quota /dev/$disk && mount -t ext4 -o usrquota /dev/$disk /tmp/served || exit 99
mkdir /tmp/served/home
chown 1000:1000 /tmp/served/home
setquota -u 1000 0 204800 0 0 /tmp/served

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
timeout 40 mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2,sec=sys,timeo=600 \
    127.0.0.1:/ /tmp/mounted || { echo "FAILED  the mount"; exit 1; }
# The grace period of the server.
sleep 12

as_user() { ${SETPRIV:-setpriv} --reuid 1000 --regid 1000 --clear-groups env XDG_STATE_HOME=/tmp/state/user "$@"; }
# Another program of the user: appends records to a file that stays open, and notes those that write(2) accepted.
cat >/tmp/application <<'APPLICATION'
exec 3>>/tmp/mounted/home/records
n=100000
while [ ! -e /tmp/log/end ]; do
    n=$((n + 1))
    printf "\nrecord %s %65500s" $n "" >&3 2>/dev/null && echo "record $n" >>/tmp/log/accepted
    usleep 50000
done
APPLICATION
# round WORD...: a command beside that program.
round() {
    rm -f /tmp/log/*
    as_user sh /tmp/application &
    application=$!
    sleep 3
    as_user timeout 200 "$@" >/tmp/out 2>/tmp/err
    status=$?
    sleep 2
    touch /tmp/log/end
    wait $application
    sync
    sleep 1
    tr -d '\000' </tmp/served/home/records | grep -a -o '^record [0-9]*' >/tmp/log/there
    lost=$(grep -v -x -F -f /tmp/log/there /tmp/log/accepted | wc -l)
    accepted=$(wc -l </tmp/log/accepted)
    echo "        $*: status $status, $accepted accepted, $lost lost"
    rm -f /tmp/served/home/records
}
begin=$(date +%s)
for pass in 1 2 3 4 5 6; do
    round diskscope run random-read /tmp/mounted/home --requests 50
    check "filling stops at the quota" [ $status = 1 ]
    check "and names it" grep -q "a quota is used up (on a network file system that of its server" /tmp/err
    check "what another program of the user wrote is there" [ "$accepted" -gt 20 -a $lost = 0 ]
done
echo "        $(($(date +%s) - begin)) s"
round diskscope run random-read /tmp/mounted/home --requests 50 --scratch-size 150MiB
check "a file that leaves others less than it takes is refused" [ $status = 1 ]
round diskscope run random-read /tmp/mounted/home --requests 50 --scratch-size 50MiB
check "a smaller file is measured" [ $status = 0 ]
check "what another program of the user wrote is there" [ "$accepted" -gt 20 -a $lost = 0 ]
# A server that reserves nothing.
umount /tmp/mounted
timeout 40 mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.1,sec=sys,timeo=600 \
    127.0.0.1:/ /tmp/mounted || { echo "FAILED  the mount"; exit 1; }
round diskscope run random-read /tmp/mounted/home --requests 50
check "filling stops at the quota, NFS 4.1" [ $status = 1 ]
check "and names it" grep -q "a quota is used up (on a network file system that of its server" /tmp/err
round diskscope run random-read /tmp/mounted/home --requests 50 --scratch-size 50MiB
check "a smaller file is measured" [ $status = 0 ]
umount -l /tmp/mounted

echo "$failed failed"
exit $failed
