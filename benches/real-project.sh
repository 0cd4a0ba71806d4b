#!/usr/bin/env bash
# real-project.sh [PACKAGE]: the original's main job on a real C project.
#
# Unpacks the source of a Debian package and builds it under ebs: the table of
# the kernel's fault sites, the same for user code, and the original's text
# pipeline, whose counts must be those of ebs report. Exits 1 when they differ.
#
# EBS and EIP2R name other programs than those in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package=${1:-zlib}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
eip2r=$(realpath "${EIP2R:-$here/../target/release/eip2r}")
for program in "$ebs" "$eip2r"; do
    [ -x "$program" ] || { echo "$0: no $program: cargo build --release" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/unpack.sh" "$package" "$work"
cd "$work/source"
build() { make clean > clean.log 2>&1; "$@" -- make -j; }

"$here/machine.sh"
for mode in -k -u; do
    echo
    echo "ebs $mode -t page_fault -c 50000 -- make -j"
    # The build's own output is not the table.
    build "$ebs" "$mode" -t page_fault -c 50000 2> "$work/stderr" | sed -n '/^ *count/I,$p'
    tail -1 "$work/stderr"
done

echo
echo "ebs -k -t page_fault -c 50000 -o f.data -- make -j, through the text pipeline"
build "$ebs" -k -t page_fault -c 50000 -o "$work/f.data" > "$work/make.log" 2>&1
"$ebs" script --format text "$work/f.data" > "$work/f.1"
grep -v '#' "$work/f.1" | awk '{print $2}' | "$eip2r" | sort | uniq -c | sort -nr > "$work/piped"
head "$work/piped"
total() { awk '{ name = $NF; sub(/\+.*/, "", name); n[name] += $1 } END { for (r in n) print n[r], r }' | sort; }
total < "$work/piped" > "$work/by-pipeline"
"$ebs" report --by routine --csv "$work/f.data" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { gsub(/"/, ""); print $column["count"], $column["routine"] }' | total > "$work/by-report"
if diff "$work/by-pipeline" "$work/by-report"; then
    echo "the pipeline and ebs report count the same, $(wc -l < "$work/by-report") routines"
else
    echo "the pipeline and ebs report differ" >&2
    exit 1
fi
