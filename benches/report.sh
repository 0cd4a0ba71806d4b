#!/usr/bin/env bash
# report.sh [SAMPLES [ROUNDS [PACKAGE]]]: from a stream to a table.
#
# Records the page faults of a package's build, repeats the samples until
# there are SAMPLES of them (the sites, objects and processes stay those of
# the build), and makes a table of sites with ebs report and one of routines,
# which is less, with perf report, from the same file; and, as ebs-class, a
# table of those samples whose instruction writes memory, which wants their
# code. Prints wall seconds and
# peak memory (VmHWM, looked at every 10 ms).
#
# EBS and REPEAT name other programs than those in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
samples=${1:-10000000}
rounds=${2:-3}
package=${3:-zlib}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
repeat=$(realpath "${REPEAT:-$here/../target/release/repeat-stream}")
for program in "$ebs" "$repeat"; do
    [ -x "$program" ] || { echo "$0: no $program: cargo build --release --workspace" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/unpack.sh" "$package" "$work"
(cd "$work/source" && "$ebs" -u -k -t page_fault -c all -o "$work/build.data" -- make -j \
    > "$work/make.log" 2>&1)
cd "$work"
"$ebs" convert build.data - | "$repeat" "$samples" > many.data

one_round() { # NAME COMMAND...: appends "NAME seconds MiB"
    local name=$1 begin end pid now high=0
    shift
    begin=$(date +%s%N)
    "$@" > "$name.table" 2> "$name.log" &
    pid=$!
    while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2> status.log) && [ -n "$now" ]; do
        high=$now
        sleep 0.01
    done
    wait "$pid" || { echo "$0: $name failed" >&2; tail -5 "$name.log" >&2; exit 1; }
    end=$(date +%s%N)
    awk -v name="$name" -v ns=$((end - begin)) -v kib="$high" \
        'BEGIN { print name, ns / 1e9, kib / 1024 }' >> rounds
}
cat many.data > cached && rm cached # in the page cache for both
for round in $(seq "$rounds"); do
    one_round ebs "$ebs" report --top 100000 many.data
    one_round ebs-class "$ebs" report --class writes_memory --top 100000 many.data
    one_round perf perf report --stdio --sort dso,sym -i many.data
done

"$here/machine.sh"
echo "$samples samples of a build of $package, $(stat -c %s many.data) bytes, $rounds rounds"
awk -v base=perf -v head="name  rounds      seconds          MiB" -f "$here/median.awk" rounds
