#!/usr/bin/env bash
# symbolizer.sh: names of addresses, every gate in one run, each beside the
# peer that it is measured by; ratios are of medians.
#
# usage: benches/symbolizer.sh [LINES [ROUNDS]]
#   LINES   lines of the stream (default 50000000)
#   ROUNDS  runs of each command of ours (default 7); a peer that takes more
#           than ten seconds runs once, one that takes more than one three times
# Environment:
#   EIP2R      the program (default: target/release/eip2r, built if absent)
#   EXAMPLES   folder of draw_addresses (default: target/release/examples)
#   VMLINUX    a vmlinux with DWARF; without, its gates are skipped
#   RUSTPROG   a Rust program with DWARF; without, its gates are skipped
#   LLVM       llvm-symbolizer (default: llvm-symbolizer-19); without, skipped
#   HARDMETER_BLAZESYM  a driver of blazesym's API: `DRIVER KALLSYMS ADDRESSES`
#              prints a line an address; without, skipped
set -euo pipefail
lines=${1:-50000000}
rounds=${2:-7}
here=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$here/target}/release
eip2r=${EIP2R:-$target/eip2r}
examples=${EXAMPLES:-$target/examples}
llvm=${LLVM:-llvm-symbolizer-19}
[ -x "$eip2r" ] || (cd "$here" && cargo build --release -p ebs-cli)
[ -x "$examples/draw_addresses" ] || (cd "$here" && cargo build --release -p symbolizer --examples)
command -v /usr/bin/time > /dev/null || { echo "symbolizer: skipped: no /usr/bin/time here"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "$1: skipped: $2"; }

# run NAME ROUNDS COMMAND [peer]: median seconds into $work/NAME.s, the most
# KiB of memory into $work/NAME.kb. The command is a line for the shell; `exec`
# its last part to have that part's memory.
run() {
    local name=$1 most=$2 round begin
    : > "$work/times"
    for round in $(seq "$most"); do
        begin=$EPOCHREALTIME
        /usr/bin/time -o "$work/memory" -f %M bash -c "$3" > /dev/null 2> "$work/errors" ||
            { echo "$name failed: $(head -3 "$work/errors")" >&2; exit 1; }
        awk -v begin="$begin" -v end="$EPOCHREALTIME" '{ print end - begin, $1 }' "$work/memory" >> "$work/times"
        # Peers that take long are not asked seven times.
        if [ "${4-}" = peer ] && awk -v n="$round" '$1 > 10 || ($1 > 1 && n >= 3) { long = 1 } END { exit !long }' \
            "$work/times"; then break; fi
    done
    keep "$name" 1
}
# run_often NAME ROUNDS COMMAND: the same for what takes milliseconds: twenty
# times a round, by this shell.
run_often() {
    local name=$1 most=$2 round begin
    /usr/bin/time -o "$work/memory" -f %M bash -c "exec $3" > /dev/null 2> "$work/errors" ||
        { echo "$name failed: $(head -3 "$work/errors")" >&2; exit 1; }
    : > "$work/times"
    for round in $(seq "$most"); do
        begin=$EPOCHREALTIME
        for _ in $(seq 20); do $3 > /dev/null 2> /dev/null; done
        awk -v begin="$begin" -v end="$EPOCHREALTIME" '{ print end - begin, $1 }' "$work/memory" >> "$work/times"
    done
    keep "$name" 20
}
keep() {
    sort -n "$work/times" | awk -v by="$2" '{ t[NR] = $1 } END { printf "%.4f\n", t[int((NR + 1) / 2)] / by }' > "$work/$1.s"
    sort -k2,2nr "$work/times" | awk 'NR == 1 { print $2 }' > "$work/$1.kb"
    printf '%-24s %9s s %9s KiB  (%s runs)\n' "$1" "$(cat "$work/$1.s")" "$(cat "$work/$1.kb")" \
        "$(wc -l < "$work/times")"
}
# gate WHAT PEER OURS LIMIT: how many times as long the peer takes.
gate() {
    awk -v what="$1" -v peer="$(cat "$work/$2.s")" -v own="$(cat "$work/$3.s")" -v limit="$4" 'BEGIN {
        ratio = peer / (own > 0 ? own : 0.001)
        printf "  %s: %s%.2f (gate %s): %s\n", what, "ratio ", ratio, limit, (ratio >= limit ? "met" : "MISSED") }'
}
most() { # most WHAT VALUE LIMIT UNIT
    awk -v what="$1" -v value="$2" -v limit="$3" -v unit="$4" 'BEGIN {
        printf "  %s: %s %s (gate %s): %s\n", what, value, unit, limit, (value + 0 <= limit + 0 ? "met" : "MISSED") }'
}

echo "# $("$here/benches/machine.sh" | tr '\n' ';')"
cat /proc/kallsyms > "$work/kallsyms"
if grep -q '^[0-9a-f]*[1-9a-f][0-9a-f]* [tT] ' "$work/kallsyms"; then
    "$examples/draw_addresses" --kernel "$work/kallsyms" "$lines" > "$work/stream"
    head -n 1000000 "$work/stream" > "$work/million"
    head -n 1 "$work/stream" > "$work/one"
    name="$eip2r -s $work/kallsyms"

    echo "# $lines lines -> histogram of kernel routines"
    run read "$rounds" "cat $work/stream | wc"
    run count "$rounds" "exec $name --count --by routine $work/stream"
    gate "beside reading" read count 0.10
    most "memory" "$(cat "$work/count.kb")" 65536 KiB
    run pipe-count "$rounds" "cat $work/stream | $name --count --by routine"
    gate "from a pipe" read pipe-count 0.10

    echo "# a line for each of 1,000,000 kernel addresses"
    run line "$rounds" "exec $name $work/million"
    run lines "$rounds" "exec $name $work/stream"
    awk -v lines="$lines" -v s="$(cat "$work/lines.s")" 'BEGIN {
        rate = lines / s / 1e6
        printf "  %.1f million lines a second (gate 2): %s\n", rate, (rate >= 2 ? "met" : "MISSED") }'
    if command -v mawk > /dev/null; then
        cat > "$work/names.awk" << 'AWK'
BEGIN { for (i = 0; i < 16; i++) value[sprintf("%x", i)] = i }
function number(text,   i, sum) {
    for (i = 5; i <= 16; i++) sum = sum * 16 + value[substr(text, i, 1)]
    return sum
}
FNR == NR { if ($2 ~ /^[tTwW]$/) { if ($1 != last) start[++n] = number(last = $1); name[n] = $3 } next }
{
    address = number($1); left = 1; right = n
    while (left < right) {
        middle = int((left + right + 1) / 2)
        if (start[middle] <= address) left = middle; else right = middle - 1
    }
    print $1, name[left]
}
AWK
        run mawk 3 "exec mawk -f $work/names.awk $work/kallsyms $work/million" peer
        gate "beside a binary search in mawk" mawk line 10
    else skip mawk "not here"; fi
    if [ -n "${HARDMETER_BLAZESYM:-}" ]; then
        run blazesym "$rounds" "exec $HARDMETER_BLAZESYM $work/kallsyms $work/million" peer
        gate "beside blazesym" blazesym line 2
    else skip blazesym "HARDMETER_BLAZESYM names no driver"; fi
    run_often one-kallsyms "$rounds" "$name $work/one"
    most "one address of a saved kallsyms" "$(cat "$work/one-kallsyms.s")" 0.025 s
else
    skip "kernel addresses" "kptr_restrict hides them; be root"
fi

# elf NAME FILE RATIO SHARE: a million addresses with lines and inlined
# callers, beside llvm-symbolizer; SHARE is how much of its memory is ours to
# take.
elf() {
    local name=$1 file=$2
    "$examples/draw_addresses" --elf "$file" 1000000 0x > "$work/$name"
    head -n 1 "$work/$name" > "$work/$name.one"
    run "$name" "$rounds" "exec $eip2r -l -e $file $work/$name"
    if command -v "$llvm" > /dev/null; then
        run "$name-llvm" 3 "exec $llvm --obj=$file < $work/$name" peer
        gate "$name beside $llvm" "$name-llvm" "$name" "$3"
        most "$name memory" "$(cat "$work/$name.kb")" \
            "$(awk -v share="$4" '{ printf "%d", $1 * share }' "$work/$name-llvm.kb")" KiB
    else skip "$llvm" "not here"; fi
    run_often "$name-one" "$rounds" "$eip2r -l -e $file $work/$name.one"
}
if [ -n "${RUSTPROG:-}" ]; then
    echo "# $RUSTPROG: 1,000,000 addresses with lines and inlined callers"
    elf rust "$RUSTPROG" 2 1
    most "rust, one address" "$(cat "$work/rust-one.s")" 0.030 s
else skip rust "RUSTPROG names no program"; fi
if [ -n "${VMLINUX:-}" ]; then
    echo "# $VMLINUX: 1,000,000 addresses"
    strip --strip-debug -o "$work/symbols" "$VMLINUX"
    "$examples/draw_addresses" --elf "$work/symbols" 1000000 0x > "$work/symtab"
    run symtab "$rounds" "exec $eip2r -e $work/symbols $work/symtab"
    if command -v "$llvm" > /dev/null; then
        run symtab-llvm 3 "exec $llvm --obj=$work/symbols < $work/symtab" peer
        gate "by symbol table beside $llvm" symtab-llvm symtab 5
    fi
    elf vmlinux "$VMLINUX" 2 0.5
    most "vmlinux, one address, cold" "$(cat "$work/vmlinux-one.s")" 0.300 s
    most "its memory" "$(cat "$work/vmlinux-one.kb")" 409600 KiB
else skip vmlinux "VMLINUX names none"; fi
