#!/bin/sh
# Counts instruction pointers by address and routine: eip2r --count against a
# binary search in mawk, in one run, on the same saved /proc/kallsyms.
#
# usage: benches/eip2r-count.sh [LINES [MAWK_LINES [ROUNDS]]]
#   LINES       lines for eip2r          (default 10000000)
#   MAWK_LINES  lines for mawk, its time is scaled to LINES (default 1000000)
#   ROUNDS      runs of eip2r; the median counts (default 5)
# EIP2R names the program (default: target/release/eip2r, built if absent).
set -eu

lines=${1:-10000000}
mawk_lines=${2:-1000000}
rounds=${3:-5}
here=$(cd "$(dirname "$0")/.." && pwd)
eip2r=${EIP2R:-${CARGO_TARGET_DIR:-$here/target}/release/eip2r}
[ -x "$eip2r" ] || (cd "$here" && cargo build --release --bin eip2r)
command -v mawk >/dev/null || { echo "eip2r-count: skipped: no mawk here"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat /proc/kallsyms >"$work/kallsyms"
if ! grep -q '^[0-9a-f]*[1-9a-f][0-9a-f]* [tT] ' "$work/kallsyms"; then
    echo "eip2r-count: skipped: kptr_restrict hides kernel addresses; be root"
    exit 0
fi

# Which routine is hot follows Zipf's law (log-uniform rank, ranks spread over
# the text); within one, any of its 16-byte steps.
mawk -v lines="$lines" '
    BEGIN { for (i = 0; i < 16; i++) value[sprintf("%x", i)] = i; srand(1) }
    function low(text,   i, sum) {
        for (i = 9; i <= 16; i++) sum = sum * 16 + value[substr(text, i, 1)]
        return sum
    }
    $2 ~ /^[tT]$/ && !/\[/ && $1 != last { start[n] = low($1); high[n++] = substr($1, 1, 8); last = $1 }
    END {
        n--
        for (line = 0; line < lines; line++) {
            rank = int(exp(rand() * log(n)))
            routine = (rank * 40503) % n
            size = start[routine + 1] - start[routine]
            if (size > 4096 || size < 1) size = 16
            printf "%s%08x\n", high[routine], start[routine] + 16 * int(rand() * size / 16)
        }
    }' "$work/kallsyms" >"$work/eips"
head -n "$mawk_lines" "$work/eips" >"$work/eips.mawk"

seconds() { # the wall time of a command, in milliseconds
    begin=$(date +%s%N)
    "$@"
    end=$(date +%s%N)
    echo $(((end - begin) / 1000000))
}

by_mawk() {
    mawk '
        BEGIN { for (i = 0; i < 16; i++) value[sprintf("%x", i)] = i }
        function number(text,   i, sum) {
            for (i = 5; i <= 16; i++) sum = sum * 16 + value[substr(text, i, 1)]
            return sum
        }
        FNR == NR {
            if ($2 ~ /^[tTwW]$/) { if ($1 != last) start[++n] = number(last = $1); name[n] = $3 }
            next
        }
        {
            address = number($1); left = 1; right = n
            while (left < right) {
                middle = int((left + right + 1) / 2)
                if (start[middle] <= address) left = middle; else right = middle - 1
            }
            count[$1 " " name[left]]++
        }
        END { for (key in count) printf "%7d %s\n", count[key], key }
    ' "$work/kallsyms" "$work/eips.mawk" | sort -k1,1nr -k2,2 >"$work/mawk.out"
}
by_eip2r() { "$eip2r" -s "$work/kallsyms" --count "$1" >"$2"; }

# The same answers first: a fast wrong one is worth nothing. The names at one
# address may differ (aliases), the counts per address may not.
by_eip2r "$work/eips.mawk" "$work/eip2r.out"
mawk_ms=$(seconds by_mawk)
for who in mawk eip2r; do awk '{print $1, $2}' "$work/$who.out" | sort >"$work/$who.counts"; done
cmp "$work/mawk.counts" "$work/eip2r.counts"

for round in $(seq "$rounds"); do seconds by_eip2r "$work/eips" "$work/eip2r.out"; done | sort -n >"$work/times"
eip2r_ms=$(sed -n "$(((rounds + 1) / 2))p" "$work/times")
awk -v lines="$lines" -v mawk_lines="$mawk_lines" -v mawk="$mawk_ms" -v eip2r="$eip2r_ms" 'BEGIN {
    scaled = mawk * lines / mawk_lines
    printf "eip2r --count: %d lines in %.3f s (%.0f M/s)\n", lines, eip2r / 1000, lines / eip2r / 1000
    printf "mawk: %d lines in %.2f s; %d lines would take %.1f s\n", mawk_lines, mawk / 1000, lines, scaled / 1000
    printf "ratio: %.0f\n", scaled / eip2r
}'
