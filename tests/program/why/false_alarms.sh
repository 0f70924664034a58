#!/bin/sh
# Counts false alarms of `diskscope why`: runs it RUNS times for 10 s each, on a quiet machine or beside load that is fine,
# PARALLEL observers at a time. By hand; prints one line per kind of load and what was named. Needs about
# RUNS * 11 s / PARALLEL, and 2 GB in DIRECTORY.
#
#   false_alarms.sh PROGRAM quiet|harmless RUNS PARALLEL DIRECTORY
set -eu
program=$1 kind=$2 runs=$3 parallel=$4 directory=$5
mkdir -p "$directory/results"
load= # its process id

# Ordinary work: none of it is a problem.
start_load() {
    data=$directory/data
    case $(($1 % 8)) in
    0) name=cp; line="while :; do cp $data/big $data/copy; rm $data/copy; done" ;;
    1) name=dd-read; line="while :; do dd if=$data/big of=/dev/null bs=1M 2>/dev/null; done" ;;
    2) name=tar; line="while :; do tar -cf - -C $data tree | cat > /dev/null; done" ;;
    3) name=sqlite-like; line="while :; do dd if=/dev/zero of=$data/log bs=4k count=1 conv=fsync 2>/dev/null; sleep 0.05; done" ;;
    4) name=find; line="while :; do find / -xdev -name core > /dev/null 2>&1; sleep 1; done" ;;
    5) name=unpack; line="while :; do rm -rf $data/unpacked; mkdir $data/unpacked; tar -xf $data/tree.tar -C $data/unpacked; sync $data/unpacked; done" ;;
    6) name=sha256sum; line="while :; do dd if=$data/big iflag=nocache count=0 2>/dev/null; sha256sum $data/big; done" ;;
    7) name=scrub; line="while :; do dd if=$data/big of=/dev/null bs=256k iflag=direct 2>/dev/null; done" ;;
    esac
    # A process group of its own, which ends as a whole.
    setsid sh -c "$line" > /dev/null &
    load=$!
}

stop_load() {
    [ -z "$load" ] && return
    kill -- "-$load" 2>/dev/null || :
    wait "$load" 2>/dev/null || :
    load=
}
trap stop_load EXIT

if [ "$kind" = harmless ]; then
    mkdir -p "$directory/data/tree"
    dd if=/dev/urandom of="$directory/data/big" bs=1M count=500 2>/dev/null
    for file in $(seq 2000); do
        dd if="$directory/data/big" of="$directory/data/tree/$file" bs=4k count=$((file % 9 + 1)) skip="$file" 2>/dev/null
    done
    tar -cf "$directory/data/tree.tar" -C "$directory/data" tree
fi

run=0
while [ "$run" -lt "$runs" ]; do
    name=quiet
    [ "$kind" = harmless ] && start_load $((run / parallel))
    observers=
    for observer in $(seq "$parallel"); do
        run=$((run + 1))
        "$program" why --duration 10s --json > "$directory/results/$name-$run.json" 2>/dev/null &
        observers="$observers $!"
    done
    # Word splitting is meant.
    wait $observers || :
    stop_load
done

# Each cause of severity warning or critical is an alarm.
python3 - "$directory/results" <<'PYTHON'
import collections, glob, json, sys
runs, alarms = collections.Counter(), collections.Counter()
for path in sorted(glob.glob(sys.argv[1] + "/*.json")):
    name = path.rsplit("/", 1)[1].rsplit("-", 1)[0]
    runs[name] += 1
    document = json.load(open(path))
    for cause in document["causes"]:
        if cause["severity"] != "note":
            alarms[name, cause["code"]] += 1
            print(name, cause["code"], cause["sentence"])
for name, count in runs.items():
    named = {code: number for (of, code), number in alarms.items() if of == name}
    print(f"{name}: {count} runs, alarms: {named or 'none'}")
PYTHON
