#!/usr/bin/env bash
# emulator-misses.sh [WORKLOAD...]: the misses that the emulated PMU counts,
# beside those that cachegrind counts, on the same caches.
#
# Both sides get the same program in the same state, as far as that can be had:
# no address randomization, the same environment (also what valgrind adds to
# it), glibc's routines for a CPU as valgrind shows it, no lazy binding, and a
# stack that begins at the same place of its page. LOOSE=1 leaves all of that
# but the randomization out.
#
# L3 names another last level: BYTES,WAYS. EBS names another ebs than the one
# in target/release.
# needs: gcc, python3, valgrind, setarch
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
workloads=("$@")
[ ${#workloads[@]} -gt 0 ] || workloads=(chase row col ls py pyb cc1 cc1b)
ebs=$(realpath "${EBS:-$target/release/ebs}")
last=${L3:-524288,8}
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
for needed in gcc python3 valgrind setarch; do
    command -v "$needed" > /dev/null || { echo "$0: no $needed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=benches/emulated/workloads.sh
. "$here/emulated/workloads.sh"

# What valgrind puts before LD_PRELOAD, and Debian's wrapper around it sets.
preload=$(find /usr/libexec/valgrind /usr/lib/valgrind -name 'vgpreload_core-amd64-linux.so' 2> /dev/null | head -1)
binary=$(command -v valgrind.bin || command -v valgrind)
# Tells where the stack is.
cat > place.c << 'END'
#include <unistd.h>
__attribute__((constructor)) static void place(void)
{
    unsigned long at = (unsigned long)__builtin_frame_address(0) & 0xfff;
    char text[] = "stack 000\n";
    for (int digit = 8; digit > 5; digit--, at >>= 4)
        text[digit] = "0123456789abcdef"[at & 15];
    if (write(2, text, 10) != 10)
        _exit(127);
}
END
gcc -O1 -shared -fPIC -o place.so place.c
bits=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-XSAVEC,-ERMS,-FSRM,-RTM
bits+=,Prefer_No_AVX512_Probing,Fast_Unaligned_Copy,Fast_Unaligned_Load,Fast_Rep_String,Prefer_PMINUB_for_stringop
tunables=glibc.cpu.hwcaps=$bits:glibc.cpu.x86_data_cache_size=0x8000:glibc.cpu.x86_shared_cache_size=0x800000
tunables+=:glibc.cpu.x86_non_temporal_threshold=0x200000:glibc.cpu.x86_rep_movsb_threshold=0x2000
bare=(env -i "PATH=$PATH" LC_ALL=C PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1)
alike=(LD_LIBRARY_PATH=/usr/lib/debug LD_BIND_NOW=1 "GLIBC_TUNABLES=$tunables")
if [ -n "${LOOSE:-}" ]; then
    theirs=("${bare[@]}")
    ours=("${bare[@]}")
else
    theirs=("${bare[@]}" "${alike[@]}" "LD_PRELOAD=$work/place.so")
    ours=("${bare[@]}" "${alike[@]}" "LD_PRELOAD=$preload:$work/place.so")
fi
caches="l1d=32k,8,64 l1i=32k,8,64 l2=off l3=$last,64 dtlb=off stlb=off"

place() { # FILE: where the program's stack was, last
    awk '/^stack ...$/ { at = $2 } END { print at }' "$1"
}
emulated() { # TYPE INTERVAL: sets `misses`
    "${ours[@]}" "PAD=$pad" setarch -R "$ebs" --source emulated --cache "$caches" -u -t "$1" -i "$2" -c 100000000 \
        -o records.data -- "${command[@]}" > out.emulated 2> err.emulated < /dev/null
    misses=$(awk -v interval="$2" '/^ebs: .* records, / { print $2 * interval }' err.emulated)
}
compare() { # NAME EMULATED CACHEGRIND
    awk -v name="$1" -v ours="$2" -v theirs="$3" 'BEGIN {
        printf "  %s %11d %11d %8.4f %%", name, ours, theirs, theirs ? (ours / theirs - 1) * 100 : 0 }'
}
"$here/machine.sh"
echo "misses: emulated, $(valgrind --version)'s cachegrind, difference; first level 32K/8, last level $last${LOOSE:+, loose}"
for workload in "${workloads[@]}"; do
    command_of "$workload"
    "${theirs[@]}" PAD= setarch -R "$binary" --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 \
        "--LL=$last,64" --cachegrind-out-file=/dev/null "${command[@]}" > out.grind 2> err.grind < /dev/null
    # Few misses are counted one by one, many by the hundred.
    case $workload in
        ls | py | cc1) interval=10 ;;
        *) interval=100 ;;
    esac
    pad=
    emulated l1_cache_miss "$interval"
    stack=$(place err.grind)
    if [ -n "$stack" ] && [ "$(place err.emulated)" != "$stack" ]; then
        gap=$(((0x$(place err.emulated) - 0x$stack + 4096) % 4096))
        pad=$(printf '%*s' "$gap" '' | tr ' ' x)
        emulated l1_cache_miss "$interval"
    fi
    first=$misses
    emulated l3_cache_miss $(((interval + 9) / 10))
    count() { awk -v what="^==[0-9]+== $1 +misses:" '$0 ~ what { gsub(/,/, ""); print $4 }' err.grind; }
    cmp -s out.grind out.emulated || same=" (their outputs differ)"
    printf '%-5s' "$workload"
    compare D1 "$first" "$(count D1)"
    compare LLd "$misses" "$(count LLd)"
    echo "  stack $stack $(place err.emulated)${same:-}"
    same=
done
