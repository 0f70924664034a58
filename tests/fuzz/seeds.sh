#!/bin/sh
# Makes seeds/ from the literal files of the other tests.
set -eu
cd "$(dirname "$0")"
rm -rf seeds
mkdir -p seeds/medium seeds/guard seeds/proc_file seeds/trace seeds/units seeds/condition seeds/session seeds/recording seeds/units_and_volumes seeds/netlink seeds/command_line seeds/kernel_tree seeds/device_tables
copy() { # FROM... into the directory $1, each under a name of its own
	into=$1
	shift
	for file; do
		cp "$file" "$into/$(printf %s "${file#../}" | tr / _)"
	done
}
find ../kernels -path '*/proc/*' -type f -size +0 | while read -r file; do copy seeds/proc_file "$file"; done
copy seeds/trace ../traces/*/events/header_page ../traces/*/events/block/*/format
copy seeds/session ../sessions/*.json
for text in 'sim:hdd,rpm=5400' 'mail -s "disk full" root' 22:26:19 4096 4KiB 1.5GB 10ms 2.5k/s 'p95<=500ms' 10% 4KiB-64KiB; do
	printf %s "$text" >"seeds/units/$(printf %s "$text" | tr -c 'a-zA-Z0-9\n' _)"
done
for text in 'await(sda)>50ms for 3s' 'pressure_full(unit:any)>=20%' 'free(/srv)<5GiB' 'iops(any)<2.5k/s'; do
	printf %s "$text" >"seeds/condition/$(printf %s "$text" | tr -c 'a-zA-Z0-9\n' _)"
done
find ../kernels -name mountinfo | while read -r file; do copy seeds/device_tables "$file"; done
printf 'Filename Type Size Used Priority\n/dev/sda1 partition 1000 10 -2\n' >seeds/device_tables/swaps
printf 'S:disk/by-id/ata-DISK_1\nE:ID_MODEL_ENC=DISK\\x20ONE\nE:ID_FS_TYPE=ext4\nE:MD_DEVNAME=data\n' >seeds/device_tables/udev
# Boot records by hand, and what the programs of this machine make of 2 MiB.
printf 'EFI PART' | dd of=seeds/medium/gpt bs=512 seek=1 2>/dev/null
printf '\125\252' | dd of=seeds/medium/dos bs=1 seek=510 2>/dev/null
for command in 'sfdisk -q' mkfs.ext4 mkswap; do
	file=seeds/medium/$(printf %s "$command" | tr -c 'a-z0-9\n' _)
	truncate -s 2M "$file"
	printf 'label: gpt\nsize=1MiB\n' | $command "$file" >/dev/null 2>&1 || rm -f "$file"
done
printf '8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n254:0 rbytes=1\n' >seeds/units_and_volumes/io.stat
printf '8:16 rbps=2097152 wbps=max riops=max wiops=120\n' >seeds/units_and_volumes/io.max
printf '{"Name":"/shop-db"}' >seeds/units_and_volumes/docker
printf '{"annotations":{"io.kubernetes.cri.sandbox-namespace":"shop","io.kubernetes.cri.sandbox-name":"db-0"}}' >seeds/units_and_volumes/oci
printf '[{"id":"0123456789ab","names":["web"]}]' >seeds/units_and_volumes/podman
number() { # A letter of Perl's pack(), numbers: in this machine's byte order
	perl -e 'print pack(shift @ARGV, @ARGV)' "$@"
}
# A reply of taskstats for a process, and the record of a thread (struct taskstats of version 14).
stats() { number 'S x30 Q x40 Z32 x256 L x60' 14 7 dd 4711; }
{
	number 'L S x14 S S S S L S S' 468 28 448 5 8 2 4711 436 3
	stats
} >seeds/netlink/reply
{
	number 'L S x14 S S S S' 460 28 440 4 436 3
	stats
} >seeds/netlink/record
for line in 'cp -rt /srv/b /home/a' 'rsync -a -e ssh /srv/www/ host:/srv/www' 'tar -C /srv -czf a.gz www' \
	'install -m 644 -t /usr/lib a.so' 'dd if=/dev/sda of=a bs=1M count=4k skip=8B iflag=count_bytes'; do
	printf '%s ' "$line" | tr ' ' '\0' >"seeds/command_line/${line%% *}"
done
find ../kernels/4.15/before -type f -size +0 | sort | {
	index=0
	while read -r file; do
		{
			number C "$index"
			cat "$file"
		} >"seeds/kernel_tree/$index"
		index=$((index + 1))
	done
}
cd ../..
program=${DISKSCOPE:-target/debug/diskscope}
[ -x "$program" ] || cargo build --quiet
"$program" record tests/fuzz/seeds/recording/short.rec --interval 100ms --duration 500ms 2>/dev/null
zcat tests/fuzz/seeds/recording/short.rec >tests/fuzz/seeds/recording/short.ndjson
