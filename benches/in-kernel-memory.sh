#!/usr/bin/env bash
# in-kernel-memory.sh [SECONDS [RATE]]: whether ebsd's memory stays as it is
# while a standing session counts in the kernel.
#
# A daemon has one standing session of page faults, mode "aggregate", taken
# every ten seconds; a storm makes RATE faults a second (20000). Every ten
# seconds anonymous resident memory of the supervisor and its workers is added
# up. Prints each quarter's largest and the store's bytes, and exits with 1
# where the last quarter's is more than 256 KiB above the first's.
#
# BIN names another folder of ebs and ebsd than target/release.
set -eEuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-600}
rate=${2:-20000}
[ "$seconds" -ge 40 ] || { echo "$0: $seconds seconds are too few: 40 or more" >&2; exit 2; }
bin=$(realpath "${BIN:-$here/../target/release}")
[ -x "$bin/ebsd" ] || { echo "$0: no $bin/ebsd: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
chmod 755 "$work"
gcc -O2 -static -no-pie -fno-pie -pthread -o "$work/storm" "$here/../tests/programs/storm.c"
cd "$work"
ended() {
    trap - EXIT
    kill $(jobs -p) 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap ended EXIT
trap 'echo "$0:$LINENO: failed with $?: $BASH_COMMAND" >&2' ERR

mkfifo go
./storm $((rate * seconds)) 1 wait "$rate" < go > storm.log &
storm=$!
exec 9> go
until grep -qs ready storm.log; do sleep 0.1; done
echo "$storm" > storm.pid
cat > ebsd.toml << END
[store]
directory = "$work/store"
keep_free = "1 MiB"
[[standing]]
name = "storm"
type = "page_fault"
interval = 1
mode = "aggregate"
aggregate_every = "10s"
target = { pid_file = "$work/storm.pid" }
END
"$bin/ebsd" --socket "$work/ebsd.sock" --config ebsd.toml 2> daemon.log &
daemon=$!
until [ -S ebsd.sock ]; do sleep 0.1; done
state() { "$bin/ebs" sessions --socket "$work/ebsd.sock" 2>&1; }
for _ in $(seq 100); do state | grep -q running && break; sleep 0.1; done
state | grep -q running || { state >&2; cat daemon.log >&2; exit 1; }
echo go >&9

"$here/machine.sh"
for _ in $(seq $((seconds / 10))); do
    sleep 10
    for pid in $daemon $(cat "/proc/$daemon/task/$daemon/children"); do
        awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2> /dev/null || true
    done | awk '{ sum += $1 } END { print sum, NR }' >> kib
done
state
"$bin/ebs" report --daemon storm --since 2h --top 2 --socket "$work/ebsd.sock" | head -12
bytes=$(du -sb store | cut -f1)
awk -v bytes="$bytes" '
    { kib[NR] = $1; processes = $2 }
    function most(from, to,    i, found) {
        for (i = from; i <= to; i++) if (kib[i] > found) found = kib[i]
        return found
    }
    END {
        quarter = int(NR / 4)
        printf "%d looks at %d processes: anonymous KiB, most of each quarter: %d %d %d %d; store %d bytes\n", NR, \
            processes, most(1, quarter), most(quarter + 1, 2 * quarter), most(2 * quarter + 1, 3 * quarter), \
            most(3 * quarter + 1, NR), bytes
        exit most(3 * quarter + 1, NR) > most(1, quarter) + 256
    }' kib
