#!/usr/bin/env bash
# diff-calibration.sh [PAIRS]: how often what `ebs diff` says is wrong.
#
# Of PAIRS (200) pairs of recordings of one program that differ by --seed alone: the share with any row
# told apart, which is the rate of false discoveries where nothing changed. Of as many
# pairs of two programs: the share of rows' intervals of 95 % that hold the truth, as
# recordings of each event (-i =1) have it, and the share of discoveries in rows that are
# the same in both. Emulated: no PMU is needed. RUNS (2) recordings of each side are
# compared: of one each `ebs diff` tells nothing apart.
#
# INTERVAL is that of the sampling (20); EBS names another ebs than the one in target/release.
# needs: gcc, python3, setarch
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
pairs=${1:-200} runs=${RUNS:-2} interval=${INTERVAL:-20}
ebs=$(realpath "${EBS:-$target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
[ "$runs" -ge 2 ] || { echo "$0: RUNS=$runs: of one run each nothing is told apart" >&2; exit 2; }
for needed in gcc python3 setarch; do
    command -v "$needed" > /dev/null || { echo "$0: no $needed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# 24 routines of 40 to 6,000 loads, in rounds, so that no routine has its loads in one piece; in B every third has
# others.
cat > rows.c << 'END_OF_PROGRAM'
static volatile int data[256];
#ifdef CHANGED
#define TIMES(a, b) (b)
#else
#define TIMES(a, b) (a)
#endif
#define ROW(name, a, b) \
    __attribute__((noinline)) static void name(void) \
    { \
        for (int at = 0; at < TIMES(a, b); at++) \
            (void)data[at & 255]; \
    }
ROW(r0, 1, 1) ROW(r1, 2, 1) ROW(r2, 2, 2) ROW(r3, 3, 3) ROW(r4, 3, 4) ROW(r5, 4, 4)
ROW(r6, 5, 5) ROW(r7, 5, 7) ROW(r8, 6, 6) ROW(r9, 8, 8) ROW(r10, 9, 10) ROW(r11, 10, 10)
ROW(r12, 12, 12) ROW(r13, 15, 13) ROW(r14, 18, 18) ROW(r15, 22, 22) ROW(r16, 26, 52) ROW(r17, 32, 32)
ROW(r18, 40, 40) ROW(r19, 50, 48) ROW(r20, 60, 60) ROW(r21, 80, 80) ROW(r22, 100, 60) ROW(r23, 150, 150)
int main(void)
{
    for (int round = 0; round < 40; round++) {
        r0(); r1(); r2(); r3(); r4(); r5(); r6(); r7(); r8(); r9(); r10(); r11();
        r12(); r13(); r14(); r15(); r16(); r17(); r18(); r19(); r20(); r21(); r22(); r23();
    }
}
END_OF_PROGRAM
mkdir a b
gcc -O1 -o a/rows rows.c
gcc -O1 -DCHANGED -o b/rows rows.c

# record SIDE FILE SAMPLING...: the same stack and environment each time.
record() {
    (cd "$1" && env -i "PATH=$PATH" setarch -R "$ebs" -u --source emulated -t memory_loads "${@:3}" -c all \
        -o "$work/$2" ./rows) 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
}
record a a.data -i =1
record b b.data -i =1
"$ebs" diff --json a.data b.data > truth.json
# several SIDE SEED DIRECTORY: RUNS recordings.
several() {
    rm -rf "$3"; mkdir "$3"
    for ((run = 0; run < runs; run++)); do record "$1" "$3/$run.data" -i "$interval" --seed $(($2 + run)); done
}
seed=1000
for ((pair = 0; pair < pairs; pair++)); do
    several a $((seed += runs)) first
    several a $((seed += runs)) again
    several b $((seed += runs)) other
    "$ebs" diff --json first again > "alike.$pair"
    "$ebs" diff --json first other > "changed.$pair"
done
"$here/machine.sh"
python3 - "$pairs" "$runs" "$interval" << 'END_OF_PROGRAM'
import json
import sys

pairs, runs, interval = (int(word) for word in sys.argv[1:])


def rows(name):
    return json.load(open(name))["events"][0]["rows"]


def is_told(row):
    return row["q"] is not None and row["q"] <= 0.05


truth = {tuple(row["keys"]): (row["a"]["events"], row["b"]["events"]) for row in rows("truth.json")}
ratios = {keys: b / a for keys, (a, b) in truth.items() if a}
told = tested = samples = 0
counts = {}
for pair in range(pairs):
    alike = rows(f"alike.{pair}")
    told += any(map(is_told, alike))
    tested += sum(row["p"] is not None for row in alike)
    samples += sum(row["a"]["samples"] for row in alike)
    for row in alike:
        counts.setdefault(tuple(row["keys"]), []).extend(row[side]["samples"] for side in "ab")
print(f"{pairs} pairs, {runs} recordings a side, interval {interval}: {samples / pairs:.0f} samples a side, "
      f"{tested / pairs:.0f} rows tested a pair")
print(f"alike: {told} of {pairs} pairs ({100 * told / pairs:.1f} %) have a row told apart")
# Of rows with five samples or more; a row that a pair lacks has none in it.
squares = freedom = 0
for found in counts.values():
    found += [0] * (2 * pairs - len(found))
    mean = sum(found) / len(found)
    if mean >= 5:
        squares += sum((count - mean) ** 2 for count in found) / mean
        freedom += len(found) - 1
print(f"variance of a row's samples over their mean: {squares / freedom:.2f} (chance: 1)")
held = all_rows = found = changed = 0
false = []
for pair in range(pairs):
    discoveries = wrong = 0
    for row in rows(f"changed.{pair}"):
        ratio = ratios.get(tuple(row["keys"]))
        if ratio is None or row["p"] is None:
            continue
        low, high = row["low"] or 0, row["high"] or float("inf")
        holds = low <= ratio <= high
        held, all_rows = held + holds, all_rows + 1
        is_changed = abs(ratio - 1) > 0.02
        changed, found = changed + is_changed, found + (is_changed and is_told(row))
        discoveries += is_told(row)
        wrong += is_told(row) and not is_changed
    false.append(wrong / max(discoveries, 1))
print(f"changed: {held} of {all_rows} intervals ({100 * held / all_rows:.2f} %) hold the truth; "
      f"{found} of {changed} changed rows tested were told apart; "
      f"{100 * sum(false) / pairs:.2f} % of discoveries false")
END_OF_PROGRAM
