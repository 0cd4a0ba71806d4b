#!/usr/bin/env bash
# in-kernel.sh [HITS [ROUNDS [RATE]]]: what a sample costs that is counted in
# the kernel, and what one costs that goes through a ring.
#
# A storm of page faults, and one of system calls at a tracepoint, RATE hits a
# second; bare, under `ebs --in-kernel`, and under `ebs -o FILE`, in turn; and
# each with one hit, which is what starting and ending cost. The cost of a hit
# is the user and system time of everything together, the storm's and the
# recorder's, without that and without what the bare storm takes in the same
# round.
#
# EBS names another ebs than the one in target/release; EVENTS some of
# `page_fault tracepoint`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hits=${1:-1000000}
rounds=${2:-5}
rate=${3:-100000}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -static -no-pie -fno-pie -pthread -o "$work/storm" "$here/../tests/workloads/storm.c"
gcc -O2 -static -o "$work/calls" "$here/../tests/workloads/calls.c"
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
one_round() { # NAME EBS-WORD...: appends "NAME cpu start-and-end ns-a-hit"
    local name=$1 all once
    shift
    once=$(spent 1 "$name" "$@")
    all=$(spent "$hits" "$name" "$@")
    [ $# = 0 ] && bare=$(awk "BEGIN { print $all - $once }")
    awk -v name="$name" -v all="$all" -v once="$once" -v bare="$bare" -v hits="$hits" \
        'BEGIN { print name, all, once, (all - once - bare) / hits * 1e9 }' >> "$event"
}
measure() { # EVENT PROGRAM EBS-WORD...
    event=$1 program=$2
    shift 2
    for round in $(seq "$rounds"); do
        one_round bare
        one_round kernel "$ebs" "$@" --in-kernel --no-rings -o kernel.data
        one_round ring "$ebs" "$@" -c all -o ring.data
    done
    echo
    echo "$event: $hits hits, $rate a second, $rounds rounds; last: $(tail -1 kernel.log)"
    awk -v base=ring -v head="name  rounds          cpu    start+end       ns/hit" \
        -f "$here/median.awk" "$event"
}

"$here/machine.sh"
for wanted in ${EVENTS:-page_fault tracepoint}; do
    case $wanted in
        page_fault) measure page_fault "storm HITS 1 run $rate" -u -t page_fault -i 1 ;;
        tracepoint) measure tracepoint "calls HITS $rate" -u -t syscalls:sys_enter_getpid -i 1 ;;
    esac
done
