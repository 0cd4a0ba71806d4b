# widely.sh: more programs for emulator-programs.sh, which reads this file: each
# `try` runs one natively and emulated. What is not installed is named; apt install
# --no-install-recommends ruby php-cli lua5.4 tcl guile-3.0 ocaml-nox ghc erlang-base
# r-base-core octave sbcl redis-server ffmpeg imagemagick rsync zstd vim-tiny clang
# cmake ninja-build busybox-static musl-tools default-jdk zsh fish strace npm bc jq nasm.
# shellcheck shell=bash disable=SC2016

for name in tasks memory; do build "$name"; try "$name" '' "\$under \$work/$name"; done
try ruby ruby '$under ruby -e "
h = Hash.new(0); 50000.times { |i| h[(i * 7919) % 1013] += i }; puts h.values.sum
puts (1..2000).map { |i| i.to_s * 3 }.select { |s| s =~ /(\\d)\\1/ }.size
t = 4.times.map { |k| Thread.new { (1..5000).inject(:+) * k } }; p t.map(&:value)
f = Fiber.new { 3.times { |i| Fiber.yield i }; :done }; p 4.times.map { f.resume }
p IO.popen([\"echo\", \"child\"]).read; pid = fork { exit 7 }; Process.wait pid; p \$?.exitstatus
begin; def deep(n) = deep(n + 1); deep(0); rescue SystemStackError => e; p e.class; end
Signal.trap(\"USR1\") { puts \"usr1\" }; Process.kill(\"USR1\", \$\$); sleep 0.05; GC.start; GC.compact rescue 0; p ObjectSpace.count_objects[:TOTAL] > 0"'
try php php '$under php -r "\$a = []; for (\$i = 0; \$i < 100000; \$i++) \$a[\$i % 997] = (\$a[\$i % 997] ?? 0) + \$i; echo array_sum(\$a), PHP_EOL, md5(serialize(\$a)), PHP_EOL; echo preg_match_all(\"/a(b|c)+d/\", str_repeat(\"abcbd xabd\", 1000)), PHP_EOL;"'
try php-jit php '$under php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=32M -d opcache.jit=tracing -r "function f(\$n) { return \$n < 2 ? \$n : f(\$n-1) + f(\$n-2); } echo f(23), PHP_EOL;"'
try lua lua5.4 '$under lua5.4 -e "local t = {} for i = 1, 200000 do t[i % 1009 + 1] = (t[i % 1009 + 1] or 0) + i end local s = 0 for _, v in pairs(t) do s = s + v end print(s) local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(co(), co(), co()) print(pcall(function() local function f() return f() + 1 end f() end))"'
try tcl tclsh 'echo "set s 0; for {set i 0} {\$i < 50000} {incr i} { dict incr d [expr {\$i % 97}] \$i }; puts [dict get \$d 13]; puts [exec echo child]; puts [regexp -all {a+b} [string repeat aab 500]]" > t.tcl; $under tclsh t.tcl'
try guile guile '$under guile --no-auto-compile -c "(display (let loop ((i 0) (s 0)) (if (= i 300000) s (loop (+ i 1) (+ s (* i i)))))) (newline) (use-modules (ice-9 threads)) (display (par-map (lambda (x) (* x x)) (list 1 2 3))) (newline) (display (call/cc (lambda (k) (dynamic-wind (lambda () (display 1)) (lambda () (k 42)) (lambda () (display 2))))))"'
try ocaml ocaml 'echo "let rec f n = if n < 2 then n else f (n-1) + f (n-2);; Printf.printf \"%d\\n\" (f 18);; exception E of int;; let () = try raise (E 3) with E n -> Printf.printf \"%d\\n\" n;; let h = Hashtbl.create 10;; for i = 0 to 20000 do Hashtbl.replace h (i mod 97) i done;; Printf.printf \"%d\\n\" (Hashtbl.length h);;" > a.ml; $under ocaml a.ml; ocamlfind ocamlopt -v > /dev/null 2>&1; ocamlopt -o a a.ml 2> /dev/null && $under ./a; rm -f a'
try ghc ghc 'printf "import qualified Data.Map as M\nimport Control.Concurrent\nmain = do\n  let m = foldr (\\\\i -> M.insertWith (+) (i \`mod\` 101) i) M.empty [1..50000 :: Int]\n  print (M.foldr (+) 0 m)\n  v <- newEmptyMVar\n  mapM_ (\\\\i -> forkIO (putMVar v (i * i))) [1..20 :: Int]\n  xs <- mapM (const (takeMVar v)) [1..20]\n  print (sum xs)\n" > A.hs; ghc -threaded -rtsopts -O -o a A.hs > ghc.log 2>&1; $under ./a; $under ./a +RTS -N2; rm -f a A.hi A.o *.log'
try runghc runghc 'echo "main = print (sum [x*x | x <- [1..2000 :: Int], odd x])" > A.hs; $under runghc A.hs'
try erlang erl '$under erl -noshell -eval "Self = self(), [spawn(fun() -> Self ! {N, lists:sum(lists:seq(1, N * 100))} end) || N <- lists:seq(1, 200)], R = [receive {N, S} -> S end || N <- lists:seq(1, 200)], io:format(\"~p~n\", [lists:sum(R)]), io:format(\"~p~n\", [erlang:phash2(lists:seq(1,1000))]), halt(3)."; echo $?'
try R Rscript '$under Rscript -e "set.seed(1); m <- matrix(rnorm(40000), 200); print(sum(round(solve(m) %*% m, 6))); print(summary(lm(dist ~ speed, cars))\$r.squared); x <- tryCatch(stop(\"no\"), error = function(e) \"caught\"); print(x)"'
try octave octave '$under octave-cli --no-init-file --no-history --eval "A = magic(60); printf(\"%.6f\\n\", sum(svd(A))); printf(\"%.6f\\n\", det(rand(3) * 0 + eye(3) * 2)); try; error(\"x\"); catch e; disp(e.message); end"'
try sbcl sbcl '$under sbcl --noinform --non-interactive --no-userinit --eval "(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 22)) (print (handler-case (error \"x\") (error () :caught))) (gc :full t) (print (length (loop repeat 100000 collect (make-array 10)))) (terpri))"'
try redis redis-server '$under redis-server --port 7391 --save "" --appendonly no --daemonize no > redis.log 2>&1 & s=$!; for i in $(seq 100); do redis-cli -p 7391 ping > /dev/null 2>&1 && break; sleep 0.2; done; redis-cli -p 7391 set a 1; seq 1 300 | while read i; do echo "rpush l $i"; done | redis-cli -p 7391 | tail -1; $under redis-cli -p 7391 lrange l 0 3; redis-cli -p 7391 eval "return redis.call(\"llen\",\"l\")" 0;  redis-benchmark -p 7391 -q -n 2000 -t set,get > bench.log 2>&1; echo $?; redis-cli -p 7391 bgsave; sleep 1; redis-cli -p 7391 shutdown nosave; wait $s; echo $?; rm -f dump.rdb'
try ffmpeg ffmpeg '$under ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -c:v libx264 -threads 2 -f rawvideo - < /dev/null | wc -c; $under ffmpeg -v error -f lavfi -i sine=d=1 -f s16le - < /dev/null | sha256sum; $under ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=5 -vf scale=80x60 -f md5 -'
try convert convert '$under convert -size 120x80 gradient:red-blue -blur 0x3 -rotate 20 rgb:- | sha256sum'
try rsync rsync 'mkdir a; for i in $(seq 60); do seq $i 500 > a/$i; done; $under rsync -a --checksum a/ b/; echo $?; $under rsync -avn a/ b/ | wc -l; rm -rf a'
try zstd zstd 'seq 1 150000 | $under zstd -q -T2 -9 | $under zstd -dc | sha256sum'
try vim vim.tiny 'seq 1 2000 > f; $under vim.tiny -u NONE -N -es -c "%s/1/one/g" -c "g/7/d" -c wq f; echo $?; sha256sum f'
try clang clang '$under clang -O2 -c $work/../src.c -o o.o 2> /dev/null; printf "int f(int a){return a*7;} int main(){return f(6);}" > a.c; $under clang -O2 a.c -o a; echo $?; ./a; echo $?; rm -f a'
try cmake-ninja cmake 'printf "cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(a a.c b.c)\n" > CMakeLists.txt; echo "int f(int); int main(){return f(6);}" > a.c; echo "int f(int a){return a*7;}" > b.c; $under cmake -G Ninja -B build . > cmake.log 2>&1; echo $?; $under ninja -C build > ninja.log 2>&1; echo $?; build/a; echo $?; rm -rf build'
try busybox busybox '$under busybox sh -c "seq 1 3000 | busybox awk \"{s += \\\$1} END {print s}\"; echo abc | busybox sed s/b/X/; busybox ls /usr | wc -l; for i in 1 2 3; do (exit \$i); echo \$?; done"'
try musl musl-gcc 'cat > a.c <<X
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
static void *f(void *a) { long s = 0; for (int i = 0; i < 100000; i++) s += i ^ (long)a; return (void *)s; }
static void h(int s) { puts("sig"); }
int main() { signal(SIGUSR1, h); raise(SIGUSR1); pthread_t t[8]; for (long i = 0; i < 8; i++) pthread_create(t + i, 0, f, (void *)i); long s = 0; for (int i = 0; i < 8; i++) { void *r; pthread_join(t[i], &r); s += (long)r; } printf("%ld %d\n", s, system("exit 3")); }
X
musl-gcc -O2 -o a a.c && $under ./a; musl-gcc -O2 -static -o b a.c && $under ./b; rm -f a b'
try javac javac 'echo "public class A { public static void main(String[] a) { StringBuilder s = new StringBuilder(); java.util.Map<Integer,String> m = new java.util.TreeMap<>(); for (int i = 0; i < 200000; i++) m.put(i % 1000, s.append(i).substring(Math.max(0, s.length() - 10))); System.out.println(m.values().hashCode()); System.gc(); try { f(0); } catch (StackOverflowError e) { System.out.println(\"deep\"); } } static int f(int n) { return f(n + 1) + 1; } }" > A.java; $under javac A.java; $under java A; $under java -XX:+UseSerialGC -Xint -version 2> /dev/null; echo $?; $under java -XX:+UseZGC A; $under java -XX:+UseParallelGC A; rm -f *.class'
try asyncio python3 '$under python3 -c "
import asyncio
async def h(r, w):
    d = await r.readline(); w.write(d.upper()); await w.drain(); w.close()
async def main():
    s = await asyncio.start_server(h, \"127.0.0.1\", 7394)
    async def c(i):
        r, w = await asyncio.open_connection(\"127.0.0.1\", 7394); w.write(b\"hello %d\\n\" % i); x = await r.readline(); w.close(); return x
    print(await asyncio.gather(*[c(i) for i in range(20)]))
    p = await asyncio.create_subprocess_exec(\"sh\", \"-c\", \"echo a; exit 3\", stdout=-1); print(await p.communicate(), p.returncode)
asyncio.run(main())"'
try multiprocessing python3 '$under python3 -c "
import multiprocessing as m, os
def f(x): return x * x
if __name__ == \"__main__\":
    with m.Pool(4) as p: print(sum(p.map(f, range(1000))))
    m.set_start_method(\"spawn\", force=True)
    with m.Pool(2) as p: print(sum(p.map(abs, range(100))))"'
try asan gcc 'cat > a.c <<X
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static long g; static void *f(void *a) { for (int i = 0; i < 1000; i++) __atomic_add_fetch(&g, 1, 5); return malloc(10); }
int main(int n, char **v) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(t + i, 0, f, 0); for (int i = 0; i < 4; i++) { void *p; pthread_join(t[i], &p); free(p); } printf("%ld\n", g); fflush(stdout); if (n > 1) { char *p = malloc(8); free(p); return p[n]; } return 0; }
X
gcc -O1 -g -w -fsanitize=address -pthread -o a a.c && $under ./a 2> e.log; echo $?; ASAN_OPTIONS=detect_leaks=0 $under ./a bad 2> e.log; echo $?; grep -o "heap-use-after-free" e.log | head -1; gcc -O1 -w -fsanitize=undefined -pthread -o u a.c && $under ./u; gcc -O1 -w -static-libasan -fsanitize=address -pthread -o a a.c && $under ./a; rm -f a u'
try leak gcc 'cat > a.c <<X
#include <stdlib.h>
int main() { volatile char *p = malloc(7); p = 0; return 0; }
X
gcc -w -fsanitize=address -o a a.c; $under ./a 2> e.log; echo $?; grep -c "7 byte" e.log; rm -f a'
try tsan gcc 'cat > a.c <<X
#include <stdio.h>
#include <pthread.h>
static int g; static void *f(void *a) { g++; return 0; }
int main() { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(t + i, 0, f, 0); for (int i = 0; i < 4; i++) pthread_join(t[i], 0); printf("%d\n", g > 0); }
X
gcc -O1 -g -w -fsanitize=thread -pthread -o a a.c && $under ./a 2> e.log; echo $?; grep -c "data race" e.log; rm -f a'
try perl-fork perl '$under perl -e "for my \$i (1..8) { my \$p = fork; if (!\$p) { exit \$i } } my \$s = 0; while ((my \$p = wait) > 0) { \$s += \$? >> 8 } print \"\$s\n\"; pipe(R, W); if (!fork) { close R; print W \"hello\"; exit } close W; print <R>, \"\n\"; \$SIG{ALRM} = sub { die \"alarm\n\" }; eval { alarm 1; select undef, undef, undef, 5 }; print \$@; print \`echo sub\`"'
try bash-jobs bash '$under bash -c "set -m; sleep 0.3 & kill -STOP %1; sleep 0.1; jobs; kill -CONT %1; wait; coproc cat; echo hi >&\${COPROC[1]}; read -u \${COPROC[0]} x; echo \$x; exec {COPROC[1]}>&-; cat <(seq 3) <(seq 2); ulimit -n; time true" 2> /dev/null | sed "s/\[1\].*/stopped/"'
try zsh zsh '$under zsh -fc "zmodload zsh/datetime; a=(3 1 2); print \${(o)a}; print =(seq 3)(N) > /dev/null; (( x = 3 ** 4 )); print \$x; sleep 0.05 & wait; print \$?"'
try fish fish '$under fish --no-config -c "for i in (seq 3); echo \$i; end; string replace a b banana; math 3 + 4"'
try strace strace '$under strace -o s.log -f sh -c "echo a; (echo b)"; echo $?; test -s s.log; echo $?'
try sqlite-wal sqlite3 'for i in 1 2 3; do $under sqlite3 d.db "pragma journal_mode=wal; create table if not exists t(a); insert into t select value from json_each(\"[1,2,3]\"); select sum(a) from t;" & wait; done; rm -f d.db*'
try node-threads node '$under node -e "
const { Worker, isMainThread, parentPort } = require(\"worker_threads\"); const cp = require(\"child_process\"), zlib = require(\"zlib\"), crypto = require(\"crypto\");
let left = 3; for (let i = 0; i < 3; i++) new Worker(\"const p=require(\\\"worker_threads\\\").parentPort; let s=0; for (let i=0;i<1e5;i++) s+=i; p.postMessage(s)\", { eval: true }).on(\"message\", m => { if (!--left) console.log(m, cp.execSync(\"echo child\").toString().trim(), zlib.gunzipSync(zlib.gzipSync(\"x\".repeat(1e5))).length, crypto.createHash(\"sha256\").update(\"a\").digest(\"hex\").slice(0, 8)) });
require(\"http\").createServer((q, r) => r.end(\"ok\")).listen(0, function () { require(\"http\").get({ port: this.address().port }, r => r.on(\"data\", d => { console.log(String(d)); this.close() })) });
setTimeout(() => { eval(\"function* g() { yield 1 }; for (const x of g()) x\"); try { (function f() { f() })() } catch (e) { console.log(e.constructor.name) } }, 10)" | sort'
try npm npm '$under npm --version'
try sed-etc sed 'seq 1 20000 | $under sed -n "s/\(1\+\)2/\1x/p" | $under sort -k1.2 | $under uniq -c | $under tr x y | $under cut -c1-9 | $under md5sum; $under bc -l <<< "scale=50; 4*a(1)"; $under jq -c ".a[1]" <<< "{\"a\":[1,{\"b\":2}]}"'
try nasm nasm 'printf "global _start\nsection .text\n_start: mov rax,1\nmov rdi,1\nlea rsi,[rel m]\nmov rdx,3\nsyscall\nmov rax,60\nmov rdi,7\nsyscall\nm: db \"hi\",10\n" > a.asm; $under nasm -felf64 a.asm && ld -o a a.o && $under ./a; echo $?; rm -f a a.o'
