#!/usr/bin/env bash
# recording.sh [SAMPLES [ROUNDS]]: a perf.data file to a table and to text.
#
# Synthesises a recording in file form (loads and stores of eight processes,
# data addresses, sources and latencies) of SAMPLES samples in a program whose
# symbols are known. From it: a table of sites with ebs report and of
# routines, which is less, with perf report; and text with ebs script and perf
# script: as they print it unasked (the same lines), and with fewer fields,
# without data source and latency. Prints wall seconds, CPU seconds and peak
# memory, as wait4(2) tells it: perf maps the file, ebs reads it.
#
# EBS and SYNTHESISE name other programs than those in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
samples=${1:-10000000}
rounds=${2:-3}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
synthesise=$(realpath "${SYNTHESISE:-$here/../target/release/synthesise-recording}")
for program in "$ebs" "$synthesise"; do
    [ -x "$program" ] || { echo "$0: no $program: cargo build --release --workspace" >&2; exit 1; }
done
command -v perf > /dev/null || { echo "$0: no perf: apt install linux-perf" >&2; exit 1; }
[ -x /usr/bin/time ] || { echo "$0: no /usr/bin/time: apt install time" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$synthesise" "$samples" many.data "$synthesise"
fields=comm,tid,cpu,time,period,event,ip,sym,symoff,dso

one_round() { # FILE NAME COMMAND...: appends "NAME wall cpu MiB" to FILE
    local file=$1 name=$2
    shift 2
    /usr/bin/time -o "$name.time" -f '%e %U %S %M' "$@" > /dev/null 2> "$name.log" \
        || { echo "$0: $name failed" >&2; tail -5 "$name.log" >&2; exit 1; }
    awk -v name="$name" '{ print name, $1, $2 + $3, $4 / 1024 }' "$name.time" >> "$file"
}
cat many.data > cached && rm cached # in the page cache for both
for round in $(seq "$rounds"); do
    one_round tables ebs "$ebs" report --top 100000 many.data
    one_round tables perf perf report --stdio --sort dso,sym -i many.data
    one_round texts ebs "$ebs" script many.data
    one_round texts perf perf script -i many.data
    one_round fewer-fields ebs "$ebs" script -F "$fields" many.data
    one_round fewer-fields perf perf script -F "$fields" -i many.data
done

"$here/machine.sh"
echo "$samples samples, $(stat -c %s many.data) bytes, $rounds rounds"
for what in tables texts fewer-fields; do
    echo "$what:"
    awk -v base=perf -v head="name  rounds      seconds  CPU seconds          MiB" \
        -f "$here/median.awk" "$what"
done
