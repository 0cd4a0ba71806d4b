#!/usr/bin/env bash
# call-stacks.sh [PASSES [ROUNDS]]: page faults with 8 KiB of stack each,
# recorded, unwound and counted by caller; perf has rings of 4 MiB, or it would lose more.
#
# Records the page faults of a Python program (deep recursion, memory touched
# at several depths; some 180 samples a pass) with ebs and with perf, both with
# --call-graph dwarf,8192 and attached to it, so that a recorder's CPU seconds are
# its own; and how many records came of it. ebs unwinds meanwhile, but with
# --keep-stacks.
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

sys.stdin.readline()
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
mkfifo begin
attached() { # NAME COMMAND...: the command gets the program's number
    local name=$1 program
    shift
    "$python" deep.py "$passes" < begin &
    program=$!
    exec 7> begin
    one_round recording "$name" "$@" "$program" &
    # Nobody samples but the recorder: it has attached when the program's faults
    # are counted, which nobody is told; a second does.
    sleep 1.5
    echo >&7
    exec 7>&-
    wait
}
for round in $(seq "$rounds"); do
    attached ebs "$ebs" -u --call-graph dwarf,8192 -t page_fault -i =1 -o ebs.data
    attached keep "$ebs" -u --call-graph dwarf,8192 --keep-stacks -t page_fault -i =1 -o keep.data
    attached perf perf record -q -m 4M -e page-faults:u -c 1 --call-graph dwarf,8192 -o perf.data -p
    for name in ebs keep perf; do
        records=$("$ebs" report --by comm --csv "$name.data" | awk -F, 'NR > 1 { sum += $2 } END { print sum }')
        echo "$name $records $(stat -c %s "$name.data")" >> records
    done
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
awk 'FNR == NR { n[$1]++; records[$1] += $2; bytes[$1] += $3; next } { cpu[$1] += $3 }
    END {
        for (name in n) {
            cost[name] = cpu[name] / records[name] * 1e6
            printf "%s: %d records, %d MB, mean of a round; %.2f CPU us a record\n", name, records[name] / n[name], bytes[name] / n[name] / 1e6, cost[name]
        }
        printf "ebs / perf: CPU seconds %.3f, a record %.3f\n", cpu["ebs"] / cpu["perf"], cost["ebs"] / cost["perf"]
    }' records recording
echo "tables:"
awk -v base=perf -v head="$head" -f "$here/median.awk" tables
