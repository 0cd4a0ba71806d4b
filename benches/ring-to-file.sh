#!/usr/bin/env bash
# ring-to-file.sh [FAULTS [ROUNDS [THREADS]]]: what it costs to bring records
# from the kernel's rings into a file.
#
# A storm of page faults is recorded by ebs and by perf record, with the same
# event and fields, in turn. Both attach to the storm while it waits, so the
# user and system time of the recorder is its own: the kernel's cost of making
# a record is the storm's, and the storm is no child of the recorder. What the
# recorder does before the first and after the last record counts.
# Prints CPU seconds per million records in the file.
#
# EBS names another ebs than the one in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
faults=${1:-2000000}
rounds=${2:-5}
threads=${3:-1}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -static -no-pie -fno-pie -pthread -o "$work/storm" "$here/../tests/programs/storm.c"
cd "$work"
mkfifo go

registers=AX,BX,CX,DX,SI,DI,BP,SP,IP,FLAGS,R8,R9,R10,R11,R12,R13,R14,R15
TIMEFORMAT='%U %S'
one_round() { # NAME COMMAND...: appends "NAME user sys cpu per-million records"
    local name=$1 storm timer recorder records
    shift
    rm -f "$name.data"
    ./storm "$faults" "$threads" wait < go > told &
    storm=$!
    exec 3> go
    until grep -q ready told; do sleep 0.01; done
    { time "$@" "$storm" > "$name.log" 2>&1; } 2> time &
    timer=$!
    # It has attached when it holds perf events, and a little later at most.
    until recorder=$(cut -d' ' -f1 "/proc/$timer/task/$timer/children") && [ -n "$recorder" ] \
        && ls -l "/proc/$recorder/fd" 2> ls.log | grep -q perf_event; do sleep 0.01; done
    sleep 1
    echo go >&3
    wait "$storm"
    exec 3>&-
    wait "$timer"
    case $name in
        ebs) records=$(sed -n 's/^ebs: \([0-9]*\) record.*/\1/p' "$name.log" | tail -1) ;;
        perf) records=$(perf script -F ip -i perf.data 2> script.log | grep -c '[0-9a-f]') ;;
    esac
    awk -v name="$name" -v records="$records" \
        '{ print name, $1, $2, $1 + $2, ($1 + $2) / records * 1e6, records }' time >> rounds
}
for round in $(seq "$rounds"); do
    one_round ebs "$ebs" -u -t page_fault -c all -o ebs.data
    one_round perf perf record -q -e page-faults:u -c 1 -d --intr-regs="$registers" \
        -o perf.data -p
done

"$here/machine.sh"
echo "$faults faults by $threads threads, $rounds rounds; last ebs: $(tail -1 ebs.log)"
awk -v base=perf -v head="name  rounds         user          sys          cpu  cpu/million      records" \
    -f "$here/median.awk" rounds
