#!/usr/bin/env bash
# causes-confusion.sh [INTERVAL...]: programs of known cause, and what `ebs causes`
# says of them at several sampling intervals, by the classes that the emulated PMU
# tells (--classify exact) and by the samples alone.
#
# Each program goes on for so long that some 200 of its misses are sampled.
# EBS names another ebs than the one in target/release.
# needs: gcc, python3
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
ebs=$(realpath "${EBS:-$target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
for needed in gcc python3; do
    command -v "$needed" > /dev/null || { echo "$0: no $needed" >&2; exit 1; }
done
intervals=("$@")
[ ${#intervals[@]} -gt 0 ] || intervals=(1 100 1000 10000)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for program in patterns lines; do
    gcc -O1 -g -static -no-pie -fno-pie -pthread -o $program "$here/../tests/programs/$program.c"
done

# Program, way, routine, its cause, misses of one round.
programs='patterns stream visit capacity 32768
patterns first visit cold 8192
patterns nodes visit conflict 1280
patterns below visit conflict 4800
patterns edge visit edge 5120
patterns above visit capacity 6000
patterns columns visit conflict 65536
patterns padded visit capacity 8192
patterns product multiply conflict 110592
patterns wide visit capacity 38745
patterns pages visit conflict 39689
patterns chase walk capacity 20472
lines true adds sharing 19400
lines false adds sharing 19400'

verdict() { # ROUTINE: cause and grade of the row with most samples
    "$ebs" causes --json misses.data | python3 -c '
import json, sys
rows = json.load(sys.stdin)["events"][0]["rows"]
own = [row for row in rows if row["site"].get("routine") == sys.argv[1]]
verdict = max(own, key=lambda row: row["samples"])["verdict"] if own else {"cause": None, "grade": "undetermined"}
print(verdict["cause"] or "undetermined", verdict["grade"])' "$1"
}

"$here/machine.sh"
for way in exact samples; do
    options=()
    [ $way = samples ] || options=(--classify exact)
    for interval in "${intervals[@]}"; do
        while read -r program name routine truth misses; do
            times=1
            [ "$interval" = 1 ] || times=$((interval * 200 / misses + 1))
            [ $program = patterns ] || times=$((times * 1000000))
            "$ebs" -u --source emulated -t l1_cache_miss -i "$interval" -c all -d --cache l1d=32k,8 \
                "${options[@]}" -o misses.data -- ./$program "$name" "$times" > /dev/null 2>&1
            echo "$way $interval $name $truth $(verdict "$routine")"
        done <<< "$programs"
    done
done > told
python3 - told << 'END'
import sys
told = [line.split() for line in open(sys.argv[1])]
causes = ["cold", "sharing", "conflict", "edge", "capacity"]
for way in ["exact", "samples"]:
    for interval in dict.fromkeys(row[1] for row in told):
        rows = [row for row in told if row[0] == way and row[1] == interval]
        graded = [row for row in rows if row[5] != "undetermined" and row[4] != "undetermined"]
        right = [row for row in graded if row[3] == row[4]]
        print(f"\n{way}, interval {interval}: {len(rows)} programs, {len(graded)} with a cause, {len(right)} of them right")
        print(f"{'is':10}" + "".join(f"{name:>14}" for name in [*causes, "undetermined"]))
        for truth in causes:
            of = [row for row in rows if row[3] == truth]
            counts = [sum(row[4] == said for row in of) for said in [*causes, "undetermined"]]
            print(f"{truth:10}" + "".join(f"{count or '.':>14}" for count in counts))
        for row in rows:
            if row not in right:
                print(f"  {row[2]}: {row[3]}, said {row[4]} ({row[5]})")
END
