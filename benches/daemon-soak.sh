#!/usr/bin/env bash
# daemon-soak.sh [SECONDS [CONFIG]]: whether ebsd keeps what it takes.
#
# A daemon serves one session for the whole time, and beside it rounds of
# everything that takes memory, descriptors or threads: commands, attaching
# and leaving, second clients, clients that are killed, stopped, or say
# nothing, users without rights, refused requests, reloads. After each round,
# when only the long session is left, the resident memory, descriptors and
# threads of the supervisor and its workers are added up. Prints the idle
# daemon's memory and CPU time, and the line of least squares through the
# samples of the last three quarters of the time, as change per hour; exits
# with 1 where descriptors or threads grow, or memory by more than 1 MiB.
#
# BIN names another folder of ebs and ebsd than target/release.
set -eEuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-3600}
bin=$(realpath "${BIN:-$here/../target/release}")
[ -x "$bin/ebsd" ] || { echo "$0: no $bin/ebsd: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
chmod 755 "$work"
config=${2:-}
if [ -z "$config" ]; then
    config=$work/ebsd.toml
    printf '[limits]\nconnections_per_user = 64\nsessions_per_user = 16\n' > "$config"
fi
gcc -O2 -o "$work/storm" "$here/../tests/programs/storm.c" -pthread
cd "$work"
touch round.log left.log
socket=$work/ebsd.sock
ended() {
    trap - EXIT
    kill $(jobs -p) 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap ended EXIT
trap 'echo "$0:$LINENO: failed with $?: $BASH_COMMAND" >&2' ERR

family() { echo "$daemon"; cat "/proc/$daemon/task/$daemon/children"; }
sizes() { # resident KiB, descriptors, threads of the daemon's processes
    local pid rss=0 fds=0 threads=0
    for pid in $(family); do
        # A worker may end while it is looked at.
        [ -r "/proc/$pid/fd" ] || continue
        rss=$((rss + $(awk '/^VmRSS/ { kib = $2 } END { print kib + 0 }' "/proc/$pid/status")))
        fds=$((fds + $(ls "/proc/$pid/fd" | wc -l)))
        threads=$((threads + $(ls "/proc/$pid/task" | wc -l)))
    done
    echo "$rss $fds $threads"
}
ticks() { # clock ticks of CPU time
    local pid
    for pid in $(family); do awk '{ print $14 + $15 + $16 + $17 }' "/proc/$pid/stat"; done \
        | awk '{ sum += $1 } END { print sum }'
}

"$bin/ebsd" --socket "$socket" --config "$config" 2> daemon.log &
daemon=$!
until [ -S "$socket" ]; do sleep 0.1; done

"$here/machine.sh"
# Somebody was there, and has gone.
"$bin/ebs" --socket "$socket" --daemon -u -t page_fault -c all -o first.data -- true 2> first.log
sleep 40
before=$(ticks)
sleep 30
after=$(ticks)
read -r rss fds threads <<< "$(sizes)"
echo "idle: $rss KiB resident, $fds descriptors, $threads threads," \
    "$(awk -v t="$((after - before))" -v hz="$(getconf CLK_TCK)" \
        'BEGIN { printf "%.3f", t / hz / 30 * 100 }') % of a CPU over 30 s"

# Ten thousand page faults a second, for as long as it takes.
echo go > go
./storm 1000000000000 1 wait 10000 < go > trickle.out &
trickle=$!
ask() { timeout -k 1 30 "$bin/ebs" --socket "$socket" --daemon "$@"; }
"$bin/ebs" --socket "$socket" --daemon -u -t page_fault -i 1 -c all "$trickle" > long.out 2> long.log &
long=$!
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

leave() { # FILE SIGNAL: a client that goes in the middle, or stops to read
    "$bin/ebs" --socket "$socket" --daemon -u -t page_fault -c all -o "$1" "$trickle" \
        > left.log 2>&1 &
    local client=$!
    sleep 0.3
    must kill -"$2" "$client"
    sleep 0.5
    kill -KILL "$client" 2> /dev/null || true
    # The shell says who was killed.
    { wait "$client" || true; } 2> /dev/null
}
missed=0
must() { # A command that may fail where this machine has too much to do.
    if ! "$@" > round.log 2>&1; then
        missed=$((missed + 1))
        { echo "after $((SECONDS - start)) s: $*"; tail -3 round.log left.log; } >&2
    fi
}
one_round() {
    must ask -u -t page_fault -i 1 -c all -o command.data -- ./storm 50000 1
    must ask -u -t page_fault -i 7 -c 500 "$trickle"
    must "${nobody[@]}" "$bin/ebs" --socket "$socket" --daemon -u -t page_fault -c all -- true
    ask -u -t page_fault -c 10 1 > round.log 2>&1 || true
    ask -u -t no_such_type -c 10 "$trickle" > round.log 2>&1 || true
    "${nobody[@]}" "$bin/ebs" --socket "$socket" --daemon -k -t page_fault -c 10 "$trickle" \
        > round.log 2>&1 || true
    # One is killed, one stopped and killed, some say nothing or nonsense.
    leave killed.data KILL
    leave stopped.data STOP
    must python3 - "$socket" << 'PY'
import socket, sys
for words in [b"", b"\xff" * 8, b"\x05\0\0\0\1\0\1\0{}{}{", b"\x02\0\0\0\1\0\1\0{}"] * 2:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1])
        client.sendall(words)
PY
    kill -HUP "$daemon"
    sleep 0.5
}

start=$SECONDS
rounds=0
while [ $((SECONDS - start)) -lt "$seconds" ]; do
    one_round
    rounds=$((rounds + 1))
    kill -0 "$daemon" 2> /dev/null || { echo "the daemon has gone"; tail -5 daemon.log; exit 1; }
    kill -0 "$long" 2> /dev/null || { echo "the long session has ended"; cat long.log; exit 1; }
    echo "$((SECONDS - start)) $(sizes)" >> sizes
done
kill -INT "$long"
wait "$long" || true
echo "$rounds rounds in $((SECONDS - start)) s, $missed commands failed; the long session:"
tail -1 long.log
cp sizes "${SIZES:-/dev/null}"
awk -v seconds="$seconds" '
    $1 >= seconds / 4 {
        n++; x += $1; xx += $1 * $1
        for (k = 2; k <= 4; k++) { y[k] += $k; xy[k] += $1 * $k }
    }
    END {
        if (n < 3) { print "too few samples for a slope"; exit 1 }
        name[2] = "KiB resident"; name[3] = "descriptors"; name[4] = "threads"
        for (k = 2; k <= 4; k++) {
            slope = (n * xy[k] - x * y[k]) / (n * xx - x * x) * 3600
            printf "%s: mean %.1f, %+.2f per hour\n", name[k], y[k] / n, slope
            if (slope > (k == 2 ? 1024 : 0.5)) grown = 1
        }
        exit grown
    }' sizes
