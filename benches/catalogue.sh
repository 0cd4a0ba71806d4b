#!/usr/bin/env bash
# catalogue.sh [RUNS]: what looking types up costs, milliseconds: the list of
# types of this machine, plans and the list of all events for machines of the
# fixtures. Median and worst of RUNS.
#
# EBS names another program than that in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-50}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release --workspace" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf "$here/../crates/recorder/fixtures/sysfs/trees.tar.gz" -C "$work"
timed() { # NAME COMMAND...
    local name=$1 begin end
    shift
    for _ in $(seq "$runs"); do
        begin=$(date +%s%N)
        "$@" > "$work/out" 2> "$work/err" || { cat "$work/err" >&2; exit 1; }
        end=$(date +%s%N)
        echo $((end - begin))
    done | sort -n | awk -v name="$name" '
        { ns[NR] = $1 }
        END { printf "%-34s %6.1f %6.1f\n", name, ns[int((NR + 1) / 2)] / 1e6, ns[NR] / 1e6 }'
}
"$here/machine.sh"
printf '%-34s %6s %6s\n' "$runs runs" median worst
timed "ebs -h" "$ebs" -h
for tree in sapphirerapids-rtm alderlake-hybrid zen5; do
    timed "ebs plan, $tree" "$ebs" plan -u -t l1_cache_miss --root "$work/sysfs/$tree"
done
timed "ebs list, sapphirerapids-rtm" "$ebs" list --root "$work/sysfs/sapphirerapids-rtm"
