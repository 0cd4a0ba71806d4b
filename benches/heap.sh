#!/usr/bin/env bash
# What `ebs --heap` costs the program natively: one that makes about a million allocations a second with
# work between them, and one that does nothing else, each run in turn without ebs, under ebs, and under
# ebs --heap at the default rate. What is compared is the program's own CPU time, user and system, as it
# tells it; ebs runs beside it. Prints medians, and the median of the ratios of neighbours.
# Usage: benches/heap.sh [PAIRS]; EBS names another ebs, beside which is the library.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-15}
ebs=$(realpath "${EBS:-target/release/ebs}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/alloc.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
/* ALLOCATIONS, STEPS of work between two of them. */
int main(int argc, char **argv) {
    static void *blocks[1024];
    long allocations = atol(argv[1]), steps = argc > 2 ? atol(argv[2]) : 0;
    unsigned random = 1, mixed = 1;
    for (long at = 0; at < allocations; at++) {
        random = random * 1664525u + 1013904223u;
        void **block = &blocks[random >> 22];
        free(*block);
        *block = malloc(16 + (random >> 8 & 255));
        *(volatile char *)*block = 1;
        for (long step = 0; step < steps; step++) mixed = mixed * 1664525u + 1013904223u;
        *(volatile char *)*block = (char)mixed;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.6f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
}
C
gcc -O2 -o "$work/alloc" "$work/alloc.c"
bare() { taskset -c 0 "$work/alloc" "$@"; }
sampled() {
    "$ebs" -u -t major_fault -i 1 $heap -o "$work/out.data" -- taskset -c 0 "$work/alloc" "$@" 2> "$work/said" \
        || { cat "$work/said" >&2; return 1; }
}
# As many steps as make a microsecond.
steps=$(for _ in 1 2 3 4 5; do bare 200000 1000; done | sort -n | awk 'NR == 3 {printf "%d", 1000 / ($1 * 5)}')
middle() { sort -n | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2}'; }
for case in "a million a second, $steps steps between:1000000 $steps" "nothing else:5000000"; do
    read -r -a arguments <<< "${case#*:}"
    for _ in $(seq "$pairs"); do
        plain=$(bare "${arguments[@]}")
        without=$(heap='' sampled "${arguments[@]}")
        with=$(heap=--heap sampled "${arguments[@]}")
        again=$(heap='' sampled "${arguments[@]}")
        echo "$plain $without $with $again"
    done > "$work/times"
    column() { awk "{print $1}" "$work/times" | middle; }
    printf '%s: bare %.3f s, ebs %.3f s, ebs --heap %.3f s; --heap / ebs %.4f (ebs / ebs %.4f), %d runs each\n' \
        "${case%%:*}" "$(column '$1')" "$(column '$2')" "$(column '$3')" \
        "$(column '2 * $3 / ($2 + $4)')" "$(column '$4 / $2')" "$pairs"
done
