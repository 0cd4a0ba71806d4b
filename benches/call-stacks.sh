#!/usr/bin/env bash
# call-stacks.sh [PASSES [ROUNDS]]: page faults with 8 KiB of stack each,
# recorded, unwound and counted by caller; perf has rings of 4 MiB, or it would lose more.
#
# Records the page faults of a Python program (deep recursion, memory touched
# at several depths; some 180 samples a pass) with ebs and with perf, both with
# --call-graph dwarf,8192, and prints the CPU seconds of the whole command, and
# of the recorder: those of the command less those of the program on its own.
# Then makes tables of perf's recording: ebs report --by caller, --folded,
# --children and --tree beside perf report --stdio -g caller --no-inline,
# with CPU seconds and peak memory as wait4(2) tells it.
#
# EBS names another program than that in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
passes=${1:-100}
rounds=${2:-3}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release --workspace" >&2; exit 1; }
for program in perf python3; do
    command -v "$program" > /dev/null || { echo "$0: no $program" >&2; exit 1; }
done
[ -x /usr/bin/time ] || { echo "$0: no /usr/bin/time: apt install time" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > deep.py << 'END'
import mmap, sys

def touch(pages):
    memory = mmap.mmap(-1, pages * 4096)
    for page in range(pages):
        memory[page * 4096] = 1

def allocate(blocks):
    return [bytes(5000) for _ in range(blocks)]

def recurse(depth, then, amount):
    if depth == 0:
        then(amount)
    else:
        recurse(depth - 1, then, amount)

for turn in range(int(sys.argv[1])):
    recurse(5, touch, 100)
    recurse(12, allocate, 60)
    recurse(turn % 15, touch, 100)
END

one_round() { # FILE NAME COMMAND...: appends "NAME wall cpu MiB" to FILE
    local file=$1 name=$2
    shift 2
    /usr/bin/time -o "$name.time" -f '%e %U %S %M' "$@" > "$name.out" 2> "$name.log" \
        || { echo "$0: $name failed" >&2; tail -5 "$name.log" >&2; exit 1; }
    awk -v name="$name" '{ print name, $1, $2 + $3, $4 / 1024 }' "$name.time" >> "$file"
}
python=$(python3 -c 'import sys; print(sys.executable)') # not what finds it
program=("$python" deep.py "$passes")
for round in $(seq "$rounds"); do
    one_round recording bare "${program[@]}"
    one_round recording ebs "$ebs" -u --call-graph dwarf,8192 -t page_fault -i =1 -o ebs.data -- "${program[@]}"
    one_round recording perf perf record -q -m 4M -e page-faults:u -c 1 --call-graph dwarf,8192 -o perf.data \
        -- "${program[@]}"
done
cat perf.data > cached && rm cached # in the page cache for both
for round in $(seq "$rounds"); do
    one_round tables by-caller "$ebs" report --by caller --top 100000 perf.data
    one_round tables folded "$ebs" report --folded perf.data
    one_round tables children "$ebs" report --children --top 100000 perf.data
    one_round tables tree "$ebs" report --tree perf.data
    one_round tables perf perf report --stdio -g caller --no-inline -i perf.data
done

"$here/machine.sh"
samples=$("$ebs" report --by comm --csv perf.data | awk -F, 'NR > 1 { sum += $2 } END { print sum }')
echo "$samples samples, $(stat -c %s perf.data) bytes, $rounds rounds"
head="name  rounds      seconds  CPU seconds          MiB"
echo "recording:"
awk -v base=perf -v head="$head" -f "$here/median.awk" recording
awk '{ n[$1]++; cpu[$1] += $3 }
    END {
        own = (cpu["ebs"] / n["ebs"] - cpu["bare"] / n["bare"])
        peer = (cpu["perf"] / n["perf"] - cpu["bare"] / n["bare"])
        printf "recorder without the program, mean CPU seconds: ebs %.3f, perf %.3f: %.3f\n", own, peer, own / peer
    }' recording
echo "tables:"
awk -v base=perf -v head="$head" -f "$here/median.awk" tables
