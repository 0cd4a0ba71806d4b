#!/usr/bin/env bash
# emulator.sh [ROUNDS [WORKLOAD...]]: what the emulated PMU costs, beside
# cachegrind, on the same caches.
#
# Each round runs each workload natively, under the emulated PMU (recording
# every 100th miss of the first-level data cache) and under cachegrind, in
# turn. Prints medians of CPU seconds (user and system, children and tracer
# with it), the slowdowns and their ratio, the misses that both counted; then
# the memory of cc1b at its most, and the time to attach to a running program,
# take 2,000 records and let it go.
#
# sharedN are N threads that read one array; node, java and go are left out
# where they are not installed.
#
# EBS names another ebs than the one in target/release.
# needs: gcc, python3, valgrind, /usr/bin/time
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
rounds=${1:-3}
shift || true
workloads=("$@")
[ ${#workloads[@]} -gt 0 ] || workloads=(chase row col product ls py pyb cc1 cc1b
    shared1 shared2 shared4 shared8 shared32 shared256 node java go)
ebs=$(realpath "${EBS:-$target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
for needed in gcc python3 valgrind /usr/bin/time; do
    command -v "$needed" > /dev/null || { echo "$0: no $needed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=benches/emulated/workloads.sh
. "$here/emulated/workloads.sh"
cache="l1d=32k,8,64 l1i=32k,8,64 l2=off l3=512k,8,64 dtlb=off stlb=off"
emulated=("$ebs" --source emulated --cache "$cache" -u -t l1_cache_miss -c 1000000000)
grind=(valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=524288,8,64
    --cachegrind-out-file=/dev/null)

timed() { # NAME COMMAND...: appends "NAME cpu"
    local name=$1
    shift
    /usr/bin/time -q -o time -f '%U %S' "$@" > "$name.out" 2> "$name.err" < /dev/null \
        || { echo "$0: failed: $*" >&2; tail -5 "$name.err" >&2; exit 1; }
    awk -v name="$name" '{ print name, $1 + $2 }' time >> rounds
}
"$here/machine.sh"
echo "$rounds rounds; CPU seconds; cachegrind $(valgrind --version)"
printf '%-9s %9s %9s %11s %8s %10s %8s   %s\n' "" native emulated cachegrind slowdown cachegrind ratio "D1 misses: emulated, cachegrind"
for workload in "${workloads[@]}"; do
    command_of "$workload" || { echo "$workload: ${command[0]} is not installed here: left out"; continue; }
    rm -f rounds
    for round in $(seq "$rounds"); do
        timed native "${command[@]}"
        timed emulated "${emulated[@]}" -i =100 -o records.data -- "${command[@]}"
        timed cachegrind "${grind[@]}" "${command[@]}"
    done
    misses=$(awk '/D1  misses:/ { gsub(/,/, ""); print $4 }' cachegrind.err)
    events=$(awk '/^ebs: .* records, / { print "about", $2 * 100 }' emulated.err)
    awk -v workload="$workload" -v misses="$misses" -v events="$events" -f "$here/median.awk" rounds | awk -v workload="$workload" -v misses="$misses" -v events="$events" '
        $2 ~ /^[0-9]+$/ { median[$1] = $3 }
        END {
            ours = median["emulated"] / median["native"]; theirs = median["cachegrind"] / median["native"]
            printf "%-9s %9.3f %9.3f %11.3f %8.1f %10.1f %8.2f   %s %s\n", workload, median["native"], median["emulated"],
                median["cachegrind"], ours, theirs, ours / theirs, events, misses
        }'
done

# Memory: the proportional set size of all processes together, at its most.
most() { # COMMAND...: KiB
    "$@" > /dev/null 2>&1 < /dev/null &
    local first=$! largest=0 sum pid
    while kill -0 "$first" 2> /dev/null; do
        sum=0
        for pid in $first $(pgrep -P "$first" || true); do
            sum=$((sum + $(awk '/^Pss:/ { print $2; exit }' "/proc/$pid/smaps_rollup" 2> /dev/null || echo 0)))
        done
        [ "$sum" -gt "$largest" ] && largest=$sum
        sleep 0.02
    done
    echo "$largest"
}
command_of cc1b
native=$(most "${command[@]}")
with=$(most "${emulated[@]}" -i =100 -o records.data -- "${command[@]}")
echo "memory of cc1b: $((native / 1024)) MiB natively, $((with / 1024)) MiB with the emulated PMU, $(((with - native) / 1024)) more"

./matrix col 600 > col.out &
running=$!
sleep 0.3
TIMEFORMAT=%R
attached=("$ebs" --source emulated --cache "$cache" -u -t l1_cache_miss -i 100 -c 2000 -o attached.data)
seconds=$({ time "${attached[@]}" "$running" > attach.out 2> attach.err; } 2>&1)
echo "attach, 2,000 records, detach: $seconds s"
tail -1 attach.err
alive=no
kill -0 "$running" 2> /dev/null && alive=yes
echo "the program runs on: $alive, tracer $(awk '/TracerPid/ { print $2 }' "/proc/$running/status" 2> /dev/null)"
kill "$running" 2> /dev/null || true
