#!/usr/bin/env bash
# annotate.sh [VISITS [ROUNDS]]: a recording to the instructions of a routine.
#
# Records the page faults of tests/programs/list.c, VISITS of them in one
# routine and each at an address of its own, and shows that routine by
# ebs annotate and by perf annotate --stdio, which starts objdump, from the
# same file; and, as ebs-large and perf-large, a routine of 2 MB. Prints wall
# seconds and peak memory (VmHWM, looked at every 10 ms), and compares the
# counts of both.
#
# EBS names another program than that in target/release.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
visits=${1:-200000}
rounds=${2:-5}
ebs=$(realpath "${EBS:-$here/../target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release --workspace" >&2; exit 1; }
command -v perf > /dev/null || { echo "$0: no perf to compare with" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
gcc -O2 -static -no-pie -fno-pie -pthread -o list "$here/../tests/programs/list.c"
cat > large.s <<'END'
.globl large
.type large, @function
large:
.rept 400000
add $1, %eax
.endr
movb $1, (%rdi)
.rept 300000
add $1, %eax
.endr
ret
.size large, .-large
.section .note.GNU-stack,"",@progbits
END
cat > main.c <<'END'
#include <sys/mman.h>
void large(char *);
int main(void) { large(mmap(0, 4096, 3, 0x22, -1, 0)); }
END
gcc -O1 -static -no-pie -o prog main.c large.s
"$ebs" -u -t page_fault -c all -o list.data ./list "$visits" > record.log 2>&1
"$ebs" -u -t page_fault -c all -o large.data ./prog >> record.log 2>&1

one_round() { # NAME COMMAND...: appends "NAME seconds MiB"
    local name=$1 begin end pid now high=0
    shift
    begin=$(date +%s%N)
    "$@" > "$name.text" 2> "$name.log" &
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
for round in $(seq "$rounds"); do
    one_round ebs "$ebs" annotate list_insert list.data
    one_round perf perf annotate --stdio -n -i list.data list_insert
    one_round ebs-large "$ebs" annotate large large.data
    one_round perf-large perf annotate --stdio -n -i large.data large
done
ours=$(awk '/mov +%rdx,\(%rcx\)/ { print $1; exit }' ebs.text)
theirs=$(awk '/mov +%rdx,\(%rcx\)/ { print $1; exit }' perf.text)
[ "$ours" = "$theirs" ] || { echo "$0: $ours samples here, $theirs by perf" >&2; exit 1; }

"$here/machine.sh"
echo "$visits faults of list_insert ($ours counted by both), and a routine of 2 MB; $rounds rounds"
for base in perf perf-large; do
    grep -E "^(${base/perf/ebs}|$base) " rounds |
        awk -v base="$base" -v head="name  rounds      seconds          MiB" -f "$here/median.awk"
done
