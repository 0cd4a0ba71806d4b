#!/bin/sh
# How long memory takes: ebs memlat against google's multichase (levels) and the
# crate core-to-core-latency (cores), in turns, on one machine.
#
# usage: benches/memlat.sh [ROUNDS]
#   ROUNDS  runs of each; medians count (default 5)
# EBS names the program (default: target/release/ebs, built if absent),
# MULTICHASE and CORES the peers; one that is not there is left out:
#   git clone https://github.com/google/multichase && make -C multichase multichase
#   cargo install core-to-core-latency
set -eu

rounds=${1:-5}
here=$(cd "$(dirname "$0")/.." && pwd)
ebs=${EBS:-${CARGO_TARGET_DIR:-$here/target}/release/ebs}
multichase=${MULTICHASE:-multichase}
cores=${CORES:-core-to-core-latency}
[ -x "$ebs" ] || (cd "$here" && cargo build --release --bin ebs)
command -v python3 >/dev/null || { echo "memlat: skipped: no python3 reads JSON here"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Sizes that each level of most machines of the decade holds, and memory.
sizes="16 128 2048 65536"
for round in $(seq "$rounds"); do
    "$ebs" memlat --only levels,cores --largest 64m --quick --json >"$work/ours"
    python3 - "$work/ours" "$sizes" >>"$work/figures" <<'PYTHON'
import json, sys
study = json.load(open(sys.argv[1]))
_, random, local = study["levels"]["curves"]
# multichase's own order stays in 64 pages for a while: between both of ours.
for size in sys.argv[2].split():
    for name, curve in ("random", random), ("local", local):
        for point in curve["points"]:
            if point["size"] == int(size) * 1024:
                print(size + "k", name, point["load"]["nanoseconds"]["median"])
for pair in study["cores"]["pairs"]:
    print("cores", "ebs", pair["way"]["nanoseconds"]["median"])
PYTHON
    if command -v "$multichase" >/dev/null; then
        for size in $sizes; do
            echo "${size}k multichase $("$multichase" -m "${size}k" -s 64 -n 5 | tail -1)"
        done >>"$work/figures"
    fi
    if command -v "$cores" >/dev/null; then
        "$cores" 1000 100 2>&1 | sed 's/\x1b\[[0-9;]*m//g' |
            sed -n 's/.*Mean latency: *\([0-9.]*\)ns.*/cores crate \1/p' >>"$work/figures"
    fi
done
for what in 16k 128k 2048k 65536k cores; do
    base=random
    [ "$what" = cores ] && base=ebs
    echo "$what, ns:"
    sed -n "s/^$what //p" "$work/figures" | awk -v base=$base -f "$here/benches/median.awk"
done
