#!/usr/bin/env bash
# make-overhead.sh [ROUNDS [PACKAGE]]: what sampling costs a build.
#
# Builds a Debian package's source with `make -j`: bare, under ebs, and under
# perf record with the same event and fields, in turn, ROUNDS times. User and
# system time are those of the build and of the tool together. Prints medians
# and their ratios to the bare build, then ebs to perf.
#
# EBS names another ebs than the one in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-10}
package=${2:-zlib}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/unpack.sh" "$package" "$work"
cd "$work/source"

registers=AX,BX,CX,DX,SI,DI,BP,SP,IP,FLAGS,R8,R9,R10,R11,R12,R13,R14,R15
TIMEFORMAT='%R %U %S'
one_round() { # NAME COMMAND...: appends "NAME real user sys"
    local name=$1
    shift
    make clean > clean.log 2>&1
    sync
    { time "$@" > "$work/$name.log" 2>&1; } 2> "$work/time" \
        || { echo "$0: $name failed" >&2; tail -20 "$work/$name.log" >&2; exit 1; }
    echo "$name $(cat "$work/time")" >> "$work/rounds"
}
sampled_by_ebs() {
    one_round ebs "$ebs" -k -t page_fault -c all -o "$work/ebs.data" -- make -j
}
sampled_by_perf() {
    one_round perf perf record -q -e page-faults:k -c 1 -d --intr-regs="$registers" \
        -o "$work/perf.data" -- make -j
}
make -j > make.log 2>&1 || { tail -20 make.log >&2; exit 1; } # warm the caches
for round in $(seq "$rounds"); do
    # Each tool comes first every other time.
    one_round bare make -j
    if [ $((round % 2)) = 0 ]; then
        sampled_by_ebs
        sampled_by_perf
    else
        sampled_by_perf
        sampled_by_ebs
    fi
done

"$here/machine.sh"
echo "make -j of $package, $rounds rounds; last ebs: $(tail -1 "$work/ebs.log")"
awk '{ print $0, $3 + $4 }' "$work/rounds" > "$work/table"
awk -v base=bare -v head="name  rounds         real         user          sys     user+sys" \
    -f "$here/median.awk" "$work/table"
grep -v '^bare' "$work/table" | awk -v base=perf -f "$here/median.awk" | tail -1
