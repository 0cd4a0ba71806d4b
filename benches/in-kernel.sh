#!/usr/bin/env bash
# in-kernel.sh [HITS [ROUNDS [RATE]]]: what a sample costs that is counted in
# the kernel, and what one costs that goes through a ring.
#
# A storm of page faults, and one of system calls at a tracepoint, RATE hits a
# second (0: as fast as they come), BATCH of them after each sleep; bare,
# under `ebs --in-kernel`, and under `ebs -o FILE`, in turn, each round in
# another order. The cost of a hit is the user and system time of everything
# together, the storm's and the recorder's, less the bare storm's of the same
# round, and less what the same takes with one hit, which is what starting and
# ending cost (the median of all rounds). Of the ratios the last column has
# those of each round, so that what slows a round down as a whole is in both.
#
# EBS names another ebs than the one in target/release; EVENTS some of
# `page_fault tracepoint`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hits=${1:-500000}
rounds=${2:-5}
rate=${3:-100000}
batch=${BATCH:-100}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -static -no-pie -fno-pie -pthread "-DBATCH=${batch}ULL" -o "$work/storm" \
    "$here/../tests/programs/storm.c"
gcc -O2 -static "-DBATCH=${batch}ULL" -o "$work/calls" "$here/../tests/programs/calls.c"
cd "$work"

TIMEFORMAT='%U %S'
spent() { # HITS NAME EBS-WORD...: seconds of user and system time
    local count=$1 name=$2
    shift 2
    # shellcheck disable=SC2086
    { time "$@" ./${program/HITS/$count} > told 2> "$name.log"; } 2> time
    [ $# = 0 ] || grep -q ', 0 lost' "$name.log" || tail -1 "$name.log" >&2
    awk '{ print $1 + $2 }' time
}
run() { # NAME HITS: one of the three
    case $1 in
        bare) spent "$2" bare ;;
        kernel) spent "$2" kernel "$ebs" "${event_words[@]}" --in-kernel --no-rings -o kernel.data ;;
        ring) spent "$2" ring "$ebs" "${event_words[@]}" -c all -o ring.data ;;
    esac
}
measure() { # EVENT PROGRAM EBS-WORD...
    event=$1 program=$2
    shift 2
    event_words=("$@")
    local orders=("bare kernel ring" "ring bare kernel" "kernel ring bare")
    for round in $(seq "$rounds"); do
        for name in ${orders[round % 3]}; do
            echo "$round $name $(run "$name" 1) $(run "$name" "$hits")" >> "$event"
        done
    done
    echo
    echo "$event: $hits hits, $rate a second, $batch a sleep, $rounds rounds; last: $(tail -1 kernel.log)"
    awk -v hits="$hits" '
        function median(list, n,    i, j, swap) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                    swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
                }
            return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
        }
        { if ($1 > rounds) rounds = $1; once[$2, $1] = $3; all[$2, $1] = $4 }
        END {
            print "name             cpu    start+end       ns/hit"
            split("bare kernel ring", names, " ")
            for (n = 1; n <= 3; n++) {
                for (r = 1; r <= rounds; r++) { list[r] = once[names[n], r] }
                start[names[n]] = median(list, rounds)
            }
            for (n = 1; n <= 3; n++) {
                name = names[n]
                for (r = 1; r <= rounds; r++) {
                    cost[name, r] = (all[name, r] - start[name] - all["bare", r] + start["bare"]) / hits * 1e9
                    list[r] = cost[name, r]
                    cpu[r] = all[name, r]
                }
                costs[name] = median(list, rounds)
                printf "%-8s %11.3f %12.3f %12.1f\n", name, median(cpu, rounds), start[name], costs[name]
            }
            for (r = 1; r <= rounds; r++) list[r] = cost["kernel", r] / cost["ring", r]
            middle = median(list, rounds)
            printf "kernel / ring %.3f; of each round %.3f (%.3f to %.3f)\n", \
                costs["kernel"] / costs["ring"], middle, list[1], list[rounds]
        }' "$event"
}

"$here/machine.sh"
for wanted in ${EVENTS:-page_fault tracepoint}; do
    case $wanted in
        page_fault) measure page_fault "storm HITS 1 run $rate" -u -t page_fault -i 1 ;;
        tracepoint) measure tracepoint "calls HITS $rate" -u -t syscalls:sys_enter_getpid -i 1 ;;
    esac
done
