#!/usr/bin/env bash
# emulator-programs.sh [NAME...]: do programs under the emulated PMU do what
# they do natively?
#
# Runs each program twice at the same place, natively and emulated, and
# compares stdout, exit status and the files that it made. Prints a table;
# exits 1 when one differs. Programs that are not installed are named.
# Installs nothing: apt install gcc g++ make git sqlite3 python3 nodejs golang luajit
# default-jdk curl zsh perl, and what emulated/widely.sh names.
#
# EMULATE: the command put before a program's; see `ebs -h`.
# LIMIT: seconds for one program (300).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
export EMULATE=${EMULATE:-$target/release/ebs --source emulated -u -t l1_cache_miss -i 1000 -c 1000000000 -o /dev/null --}
limit=${LIMIT:-300}
export ours=$root/tests/programs/emulated inputs=$here/emulated
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work LC_ALL=C.UTF-8 HOME=$work
differing=0 compared=0
wanted=("$@")

# try NAME PROGRAM SCRIPT: SCRIPT runs in an empty directory, with $under
# before the program under test.
try() {
    local name=$1 program=$2 script=$3 chosen=${#wanted[@]}
    for one in "${wanted[@]}"; do [[ $name == $one ]] && chosen=0; done
    [ "$chosen" = 0 ] || return 0
    if [ -n "$program" ] && ! command -v "$program" > /dev/null; then
        printf '%-24s not installed: %s\n' "$name" "$program"
        return 0
    fi
    local kind under
    for kind in native emulated; do
        under=; [ $kind = emulated ] && under=$EMULATE
        rm -rf "$work/here" "$work/$kind"; mkdir -p "$work/here" "$work/$kind"
        (cd "$work/here" && under=$under /usr/bin/time -q -f '%e %U %S' -o "$work/$kind/time" \
            timeout -k 5 "$limit" bash -c "$script" \
            > "$work/$kind/out" 2> "$work/$kind/err" < /dev/null; echo $? > "$work/$kind/status")
        (cd "$work/here" && find . -type f ! -name '*.log' ! -path '*/.git/*' -print0 | sort -z \
            | xargs -0r sha256sum) > "$work/$kind/files" 2> /dev/null
    done
    local verdict=ok
    for part in status out files; do
        cmp -s "$work/native/$part" "$work/emulated/$part" || verdict="differs ($part)"
    done
    [ "$(cat "$work/emulated/status")" = 124 ] && verdict="too long ($limit s)"
    compared=$((compared + 1))
    [ "$verdict" = ok ] || differing=$((differing + 1))
    awk -v name="$name" -v verdict="$verdict" '
        NR == FNR { wall = $1; cpu = $2 + $3; next }
        { printf "%-24s %-18s %8.2f s %8.2f s  cpu %8.2f s %8.2f s  x%.1f\n", name, verdict, wall, $1, cpu, $2 + $3,
            (cpu > 0 ? ($2 + $3) / cpu : 0) }' "$work/native/time" "$work/emulated/time"
    if [ "$verdict" != ok ]; then
        echo "  status: $(cat "$work/native/status") natively, $(cat "$work/emulated/status") emulated"
        diff "$work/native/out" "$work/emulated/out" | head -6 | cut -c1-160 | sed 's/^/  /'
        tail -4 "$work/emulated/err" | cut -c1-300 | sed 's/^/  stderr: /'
        if [ -n "${KEEP:-}" ]; then mkdir -p "$KEEP"; rm -rf "${KEEP:?}/$name"; cp -r "$work/emulated" "$KEEP/$name"; cp "$work/native/out" "$KEEP/$name/native.out"; fi
    fi
}

build() { # NAME [FLAGS]: a program of ours
    local source=$ours/$1.c compiler=gcc
    [ -e "$source" ] || { source=$ours/$1.cc compiler=g++; }
    $compiler -O2 -w -pthread "${@:2}" -o "$work/$1" "$source" -ldl || exit 1
}
for name in crowd frames jumps children objects generator filter waits churn surroundings thrown die; do
    build "$name"
done
gcc -O2 -shared -fPIC -DKIND=3 -o "$work/a.so" "$ours/object.c"
gcc -O2 -shared -fPIC -DKIND=5 -o "$work/b.so" "$ours/object.c"
for shape in "static -static" "static-pie -static-pie" "no-pie -no-pie" "pie -pie" "nonlazy -Wl,-z,now"; do
    gcc -O2 -w -pthread ${shape#* } -o "$work/jumps-${shape%% *}" "$ours/jumps.c"
done
python3 "$inputs/generate.py" 480 > "$work/5000.c"
python3 "$inputs/generate.py" 120 > "$work/1200.c"

"$here/machine.sh"
printf '%-24s %-18s %10s %10s\n' program verdict native emulated

# The list of the acceptance.
try ls ls '$under ls -lR /usr/share'
try json python3 '$under python3 -m test.test_json > json.log 2>&1; echo $?; grep -v ^ebs: json.log | tail -1'
try json-work python3 '$under python3 -c "
import json, random
random.seed(1)
d = {str(i): [random.random(), {\"a\": [None, True, i]}] for i in range(3000)}
t = json.dumps(d); assert json.loads(t) == d; print(len(t), hash(t) != 0)"'
try gcc gcc '$under gcc -O2 -o program $work/5000.c && ./program'
try git git 'git init -q a && cd a && git config user.name a && git config user.email a@b && for i in 1 2 3 4 5; do seq $i 2000 > f$i; git add . ; GIT_AUTHOR_DATE="2020-01-0$i 00:00" GIT_COMMITTER_DATE="2020-01-0$i 00:00" git commit -qm $i; done; git gc -q; cd ..; $under git clone --no-local -q a b; echo $?; cd b && $under git log --stat | cat; git fsck; $under git grep -c 77'
try sqlite sqlite3 '$under sqlite3 data.db < $inputs/tables.sql'
try node node '$under node $inputs/jit.js'
if command -v go > /dev/null; then (cd "$work" && GOCACHE=$work/go-cache GOFLAGS= GO111MODULE=off go build -o "$work/goroutines" "$inputs/goroutines.go"); fi
try go "$work/goroutines" '$under $work/goroutines'
if command -v cargo > /dev/null || [ -x /root/.cargo/bin/cargo ]; then
    (cp -r "$inputs/parallel" "$work/parallel" && cd "$work/parallel" && CARGO_HOME=${CARGO_HOME:-$(eval echo ~"$(id -un)")/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$(eval echo ~"$(id -un)")/.rustup} CARGO_TARGET_DIR=$work/parallel/target cargo build -q --release) \
        && cp "$work/parallel/target/release/parallel" "$work/rayon"
fi
try rayon "$work/rayon" '$under $work/rayon'
try thrown '' '$under $work/thrown'
if [ -z "${wanted[*]}" ] || [[ " ${wanted[*]} " == *" make "* ]]; then "$here/unpack.sh" zlib "$work" > "$work/unpack.log" 2>&1; fi
try make make 'cp -r $work/source/. . && ./configure > configure.log 2>&1 && $under make -j2 > make.log 2>&1; echo $?; rm -f *.log; ./example | head -3'
try crowd '' '$under $work/crowd'

# What breaks translators.
for name in frames jumps churn generator filter waits; do try "$name" '' "\$under \$work/$name"; done
try surroundings '' 'SURROUNDINGS=here $under $work/surroundings one "two words" ""'
try children '' '$under $work/children'
try generator-endless '' '$under $work/generator 3000'
try objects '' '$under $work/objects $work'
for shape in static static-pie no-pie pie nonlazy; do try "jumps-$shape" '' "\$under \$work/jumps-$shape"; done
for how in 0 3 255 segv abrt ill fpe trap kill term pipe hlt jump exec stack sys; do
    try "die-$how" '' "\$under \$work/die $how"
done
try pipeline bash '$under bash -c "yes | head -1000 | sort | uniq -c; seq 1 100000 | head -2; (exit 7)"; echo $?'
try shell bash '$under bash -c "trap \"echo got\" USR1; kill -USR1 \$\$; sleep 0.05 & wait; for i in 1 2 3; do (echo \$i; exit \$i); echo \$?; done; kill -9 \$\$"'
try under-time bash 'timeout 1 $under sleep 100; echo $?'
try gcc-children gcc '$under gcc -O2 -c $work/1200.c -o o.o && objdump -d o.o | sha256sum'
try g++ g++ '$under g++ -O1 -c $ours/thrown.cc -o o.o && objdump -d o.o | sha256sum'
try as-ld ld 'gcc -c $work/1200.c -o o.o && $under gcc o.o -o program && ./program'
try perl perl '$under perl -e "my %h; \$h{\$_ % 1009} .= chr(65 + \$_ % 26) for 1 .. 100000; print join(q(,), map { length \$h{\$_} } sort { \$a <=> \$b } keys %h), qq(\n); my \$s = join(q(), values %h); print scalar(() = \$s =~ /A[B-D]+?E/g) >= 0, qq(\n)"'
try python-threads python3 '$under python3 -c "
import threading, subprocess, hashlib, signal, os, multiprocessing
r = []
t = [threading.Thread(target=lambda k=k: r.append(hashlib.sha256(bytes([k]) * 100000).hexdigest())) for k in range(8)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r)[0]); print(subprocess.check_output([\"sh\", \"-c\", \"echo from a child; exit 0\"]))
def f(q): q.put(os.getpid() > 0)
q = multiprocessing.Queue(); p = multiprocessing.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join(); print(p.exitcode)
signal.signal(signal.SIGALRM, lambda *a: print(\"alarm\")); signal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause()"'
try luajit luajit '$under luajit $inputs/many.lua'
if command -v javac > /dev/null; then (cd "$work" && javac -d "$work" "$inputs/Sorted.java"); fi
try java java '$under java -cp $work Sorted'
try node-wasm node '$under node -e "
const b = Uint8Array.from([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]);
const f = new WebAssembly.Instance(new WebAssembly.Module(b)).exports.add; let s = 0; for (let i = 0; i < 1e6; i++) s = f(s, i) | 0; console.log(s)"'
try gdb-batch gdb '$under gdb -q -batch -ex "info line main" -ex "disassemble main" $work/crowd | head -5'
try tar tar 'mkdir a; seq 1 50000 > a/f; $under tar -czf t.gz --mtime=2020-01-01 -C a f && tar -xOzf t.gz | sha256sum; rm t.gz'
try xz xz 'seq 1 100000 | $under xz -T2 -6 | $under xz -dc | sha256sum'
try sort sort 'seq 1 200000 | $under sort -R --random-source=/bin/ls --parallel=2 | $under sort -n | sha256sum'
try openssl openssl '$under openssl dgst -sha512 /bin/bash; $under openssl enc -aes-256-ctr -k pass -pbkdf2 -S 0102030405060708 -in /bin/bash | sha256sum'
try awk awk '$under awk "BEGIN { for (i = 0; i < 200000; i++) a[i % 1000] += sqrt(i); for (i = 0; i < 1000; i++) s += a[i]; printf \"%.6f\n\", s }"'
try find find '$under find /usr/include -name "*.h" -newer /etc/hostname -o -name "std*.h" | sort | head -30'
try dd dd '$under dd if=/dev/zero bs=64k count=200 status=none | $under md5sum'
try ssh-keygen ssh-keygen '$under ssh-keygen -q -t ed25519 -N "" -f key < /dev/null; echo $?; wc -l < key.pub; rm -f key key.pub'
try objdump objdump '$under objdump -d /bin/true | sha256sum'
try rustc rustc "cp $inputs/parallel/src/main.rs . ; printf 'fn main() { let v: Vec<u64> = (0..1000).collect(); println!(\"{}\", v.iter().sum::<u64>()); }' > main.rs; HOME=$(eval echo ~"$(id -un)") \$under \$(HOME=$(eval echo ~"$(id -un)") rustup which rustc 2> /dev/null || command -v rustc) -O main.rs -o program && ./program; rm -f program"

. "$inputs/widely.sh"
echo
echo "$compared programs, $differing differ"
[ "$differing" = 0 ]
