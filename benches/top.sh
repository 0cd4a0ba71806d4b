#!/usr/bin/env bash
# What `ebs top` costs at 100,000 samples a second: the CPU time of the view and
# of the `ebs` that samples for it, as a share of one core, without the program
# that is sampled. One program makes 100,000 page faults a second; natively.
# Beside it what `ebs -o FILE.data` costs for the same.
#   benches/top.sh [EBS] [SECONDS]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
ebs=$(realpath "${1:-$here/target/release/ebs}")
seconds=${2:-20}
"$here/benches/machine.sh"
place=$(mktemp -d)
socket=$place/tmux
finish() {
    tmux -S "$socket" kill-server 2> /dev/null || true
    [ -z "${program:-}" ] || kill "$program" 2> /dev/null || true
    rm -rf "$place"
}
trap finish EXIT
cat > "$place/faults.c" <<'C'
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
/* RATE faults a second on fresh pages, in bursts of a millisecond. */
__attribute__((noipa)) void touch(volatile char *at) { *at = 1; }
int main(int argc, char **argv)
{
    long rate = atol(argv[1]), batch = rate / 1000, pages = 4096, at = pages;
    char *all = 0;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        for (long i = 0; i < batch; i++, at++) {
            if (at == pages) {
                if (all) munmap(all, pages * 4096);
                all = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                madvise(all, pages * 4096, MADV_NOHUGEPAGE);
                at = 0;
            }
            touch(all + at * 4096);
        }
        next.tv_nsec += 1000000;
        if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
    }
}
C
gcc -O2 -o "$place/faults" "$place/faults.c"
# Where others use the machine the program may be put before them: NICE=-15.
nice -n "${NICE:-0}" "$place/faults" 100000 & program=$!

ticks() { # PID...: CPU time of processes, user and system, in ticks
    local pid
    for pid; do cat "/proc/$pid/stat"; done |
        awk '{ sub(/.*\) /, ""); user += $12; kernel += $13 } END { print user + 0, kernel + 0 }'
}
share() { # TICKS BEFORE, AFTER: per cent of a core over the seconds
    awk -v before="$1" -v after="$2" -v hz="$(getconf CLK_TCK)" -v s="$seconds" 'BEGIN {
        split(before, b); split(after, a); per = 100 / hz / s
        user = (a[1] - b[1]) * per; kernel = (a[2] - b[2]) * per
        printf "%.1f %% of a core, %.1f user and %.1f system\n", user + kernel, user, kernel }'
}

"$ebs" -u -t page_fault -i =1 -o "$place/x.data" -p "$program" 2> "$place/said" & recorder=$!
sleep 2
before=$(ticks "$recorder")
sleep "$seconds"
printf 'ebs -o FILE.data       %s\n' "$(share "$before" "$(ticks "$recorder")")"
kill -INT "$recorder"
wait "$recorder" || true
tail -n 1 "$place/said"
rm -f "$place/x.data"

tmux -f /dev/null -S "$socket" new-session -d -x 120 -y 40 \
    "$ebs top -u -t page_fault -i =1 -p $program 2> $place/said"
sleep 3
view=$(tmux -S "$socket" list-panes -F '#{pane_pid}')
# The shell of tmux may have become the view, or have it as its child.
[ "$(cat "/proc/$view/comm")" = ebs ] || view=$(cat "/proc/$view/task/$view/children")
view=${view// /}
sampler=$(cat "/proc/$view/task/$view/children")
sampler=${sampler// /}
told() { # samples that the screen tells
    tmux -S "$socket" capture-pane -p | sed -n 's/^kernel \([0-9]*\) so far.*/\1/p'
}
sleep 2
of_view=$(ticks "$view") of_sampler=$(ticks "$sampler") samples=$(told)
sleep "$seconds"
view_after=$(ticks "$view") sampler_after=$(ticks "$sampler")
printf 'samples a second       %s\n' $((($(told) - samples) / seconds))
printf 'the view               %s\n' "$(share "$of_view" "$view_after")"
printf 'the ebs that samples   %s\n' "$(share "$of_sampler" "$sampler_after")"
both() { echo "$1 $2" | awk '{ print $1 + $3, $2 + $4 }'; }
printf 'ebs top, both          %s\n' \
    "$(share "$(both "$of_view" "$of_sampler")" "$(both "$view_after" "$sampler_after")")"
tmux -S "$socket" capture-pane -p | head -n 8
tmux -S "$socket" send-keys q
for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$view" 2> /dev/null || break
    sleep 0.5
done
tail -n 1 "$place/said"
