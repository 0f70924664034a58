#!/bin/bash
# Captures the screens of the running program for the pictures of assets/:
#   tests/pictures/capture.sh PROGRAM CAPTURES && cargo run --example pictures -- CAPTURES
# Needs root, tmux, and 2 GB in DISKSCOPE_PICTURES (default /var/tmp), where files are copied while the
# Live and the Requests screen are captured. Every number in a picture was measured: of this machine,
# or of a simulated drive.
set -eu
program=$(realpath "$1") captures=$2
mkdir -p "$captures"
work=$(mktemp -d "${DISKSCOPE_PICTURES:-/var/tmp}/disk.XXX")
server=diskscope-pictures-$$
loads=()
finish() {
    tmux -L "$server" kill-server 2> /dev/null || true
    for load in "${loads[@]}"; do kill "$load" 2> /dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config TERM=xterm-256color LC_ALL=C.UTF-8
mkdir -p "$work/images"

start() { # arguments of the program
    tmux -L "$server" -f /dev/null new-session -d -s screen -x 120 -y 40 "COLORFGBG='15;0' $program $*"
    tmux -L "$server" set-option -g status off > /dev/null
    tmux -L "$server" resize-window -t screen -x 120 -y 40
}
keys() { for key in "$@"; do tmux -L "$server" send-keys -t screen "$key"; sleep 0.2; done; }
text() { tmux -L "$server" send-keys -t screen -l "$1"; sleep 0.3; }
await() { # a text on the screen
    for _ in $(seq 600); do
        tmux -L "$server" capture-pane -p -t screen | grep -q -- "$1" && return
        sleep 0.1
    done
    echo "not on the screen: $1" >&2
    tmux -L "$server" capture-pane -p -t screen >&2
    exit 1
}
picture() { sleep 0.5; tmux -L "$server" capture-pane -e -p -t screen > "$captures/$1.ansi"; echo "$1"; }
end() { tmux -L "$server" kill-session -t screen; sleep 0.3; }
copies() {
    while :; do
        rm -rf "$work/backup"
        cp -r "$work/images" "$work/backup"
        sleep 2
    done
}

for number in 1 2 3; do
    dd if=/dev/urandom of="$work/images/vm$number.raw" bs=1M count=400 status=none
done
sync

# The launcher, and runs on simulated drives.
start
await DEVICES
keys 2
await "in flight"
keys End
await "of sim:ssd"
picture launcher
keys /
text random-read
keys Enter s
await export
picture result
keys Escape /
text sequential-read
keys Enter s
await export
keys Escape 4
await "main metric"
picture sessions
# A simulated drive takes no time: the picture of a run is of this machine's disk.
keys 2 /
text "$work"
keys Enter /
text random-read
keys Enter s
await "p99"
sleep 6
picture run
end

# Two sessions of one simulated drive at two queue depths.
for depth in 8 16; do
    "$program" run random-read sim:ssd --duration 3s --depth "$depth" > /dev/null 2>&1
done
start
await DEVICES
keys 4
await "main metric"
# A mark moves on to the next session.
keys space space c i
await "95 % CI"
picture comparison
end

# This machine's disk under a copy of files and random reads.
copies & loads+=($!)
"$program" run random-read "$work" --scratch-size 256MiB --depth 4 --rate 300/s --duration 3m > /dev/null 2>&1 & loads+=($!)
start
await TRANSFERS
sleep 45
picture live
keys 3
await OPERATIONS
sleep 20
picture requests
end
"$program" record "$work/minute.rec" --interval 1s --duration 60s --requests "$(findmnt -no SOURCE -T "$work" | sed 's,/dev/,,')" > /dev/null 2>&1
start replay "$work/minute.rec"
await DEVICES
keys m
picture replay
end
