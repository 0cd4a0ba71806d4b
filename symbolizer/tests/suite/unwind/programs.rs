//! Programs whose stacks are hard to unwind.

use symbolizer::ChainEnd;

/// A program, how it is built as `p`, and where gdb stops it first.
pub(super) struct TestProgram {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) text: &'static str,
    pub(super) build: &'static [&'static str],
    pub(super) stop_at: &'static str,
    /// Why its stacks may end before gdb's do.
    ends: &'static [ChainEnd],
}

impl TestProgram {
    pub(super) fn may_end(&self, end: ChainEnd) -> bool {
        self.ends.contains(&end)
    }
}

const TREE: &str = r"
#include <stdlib.h>
#include <string.h>
volatile long seen;
__attribute__((noinline)) static void leaf(char *text, int of) { memset(text, of, 64); seen += text[of & 63]; }
__attribute__((noinline)) static int odd(int of, char *text);
__attribute__((noinline)) static int even(int of, char *text) {
    char own[of % 5 * 32 + 8];
    own[0] = of;
    leaf(text, of);
    return of <= 0 ? own[0] : odd(of - 1, text) + own[0];
}
__attribute__((noinline)) static int odd(int of, char *text) {
    leaf(text, of);
    return of <= 0 ? 0 : even(of - 1, text) + 1;
}
static int compare(const void *a, const void *b) {
    char text[64];
    leaf(text, *(const int *)a);
    return *(const int *)a - *(const int *)b;
}
int main(int count, char **words) {
    char text[64];
    int list[40];
    (void)words;
    for (int round = 0; round < 1000; round++) {
        for (int at = 0; at < 40; at++) list[at] = (at * 7 + round) % 41;
        qsort(list, 40, sizeof *list, compare);
        seen += even(30 + count, text);
    }
    return 0;
}
";

const DEEP: &str = r"
volatile long seen;
__attribute__((noinline)) long deeper(long of) {
    seen = of;
    if (of > 700) { for (int at = 0; at < 100000; at++) seen += at; return 0; }
    return deeper(of + 1) + seen;
}
int main(void) { return deeper(0); }
";

const SIGNAL: &str = r"
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
volatile long seen;
__attribute__((noinline)) void inner(long of) { for (int at = 0; at < 50; at++) seen += of; }
void handler(int number) { inner(number); }
__attribute__((noinline)) void work(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    inner(now.tv_nsec);
    raise(SIGUSR1);
}
int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    for (int at = 0; at < 10000; at++) work();
    return 0;
}
";

const CLOCK: &str = r"
#include <time.h>
volatile long seen;
__attribute__((noinline)) void work(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seen += now.tv_nsec;
}
int main(void) { for (int at = 0; at < 100000; at++) work(); return 0; }
";

const EXCEPTION: &str = r#"
#include <stdexcept>
#include <string>
#include <vector>
#include <algorithm>
volatile long seen;
struct Guard { std::string text; ~Guard() { seen += text.size(); } };
__attribute__((noinline)) int thrower(int of) {
    Guard guard{std::string(of % 40 + 1, 'x')};
    if (of % 3 == 0) throw std::runtime_error("of three");
    return of;
}
struct Base { virtual int go(int of) = 0; virtual ~Base() {} };
struct Derived : Base { int go(int of) override { return thrower(of) + 1; } };
int main() {
    Derived derived;
    Base *base = &derived;
    std::vector<int> list;
    for (int at = 0; at < 100000; at++) {
        try { list.push_back(base->go(at)); } catch (const std::exception &what) { seen += what.what()[0]; }
        if (list.size() > 50) { std::sort(list.rbegin(), list.rend()); list.clear(); }
    }
}
"#;

const THREADS: &str = r"
#include <pthread.h>
volatile long seen;
__attribute__((noinline)) void work(long of) { for (int at = 0; at < 3; at++) seen += of; }
void *run(void *of) { for (int at = 0; at < 100000; at++) work((long)of); return 0; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)1);
    pthread_join(thread, 0);
    return 0;
}
";

const RUST: &str = r#"
use std::collections::BTreeMap;
use std::hint::black_box;
#[inline(never)]
fn insert(map: &mut BTreeMap<String, u64>, of: u64) { map.insert(format!("{of:x}"), of); }
fn main() {
    let mut map = BTreeMap::new();
    for round in 0..1000 {
        (0..50_u64).for_each(|of| insert(&mut map, of * 7 + round));
        let caught = std::panic::catch_unwind(|| black_box(round) + 1);
        map.retain(|_, of| *of % 3 != caught.as_ref().copied().unwrap_or_default() % 3);
        black_box(&mut map);
    }
}
"#;

const GO: &str = r#"
package main

import (
    "fmt"
    "sort"
)

//go:noinline
func work(list []int, of int) string {
    sort.Slice(list, func(a, b int) bool { return list[a]*of%7 < list[b]*of%7 })
    return fmt.Sprintf("%d %v", of, list[0])
}

func main() {
    list := make([]int, 50)
    for at := range list { list[at] = at * 13 % 50 }
    length := 0
    for at := 0; at < 100000; at++ { length += len(work(list, at)) }
    fmt.Println(length)
}
"#;

const COROUTINE: &str = r"
#include <ucontext.h>
volatile long seen;
static ucontext_t outer, inner;
static char stack[1 << 15];
__attribute__((noinline)) void work(long of) { for (int at = 0; at < 9; at++) seen += of; }
void run(void) { for (;;) { work(1); swapcontext(&inner, &outer); } }
int main(void) {
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof stack;
    makecontext(&inner, run, 0);
    for (int at = 0; at < 10000; at++) { swapcontext(&outer, &inner); work(2); }
    return 0;
}
";

const ALTERNATE: &str = r"
#include <signal.h>
#include <string.h>
volatile long seen;
static char stack[1 << 15];
__attribute__((noinline)) void inner(long of) { for (int at = 0; at < 50; at++) seen += of; }
void handler(int number) { inner(number); }
int main(void) {
    struct sigaction action;
    stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&own, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, 0);
    for (int at = 0; at < 10000; at++) raise(SIGUSR1);
    return 0;
}
";

/// The stack is in memory that goes on behind it, so that copies of it are never short.
const ALLOCATED: &str = r"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
volatile long seen;
__attribute__((noinline)) void inner(long of) { for (int at = 0; at < 50; at++) seen += of; }
void handler(int number) { inner(number); }
int main(void) {
    struct sigaction action;
    stack_t own = { .ss_sp = malloc(1 << 20), .ss_size = 1 << 15 };
    sigaltstack(&own, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, 0);
    for (int at = 0; at < 10000; at++) raise(SIGUSR1);
    return 0;
}
";

macro_rules! c {
    ($name:literal, $text:expr, $at:literal, $ends:expr, $($flag:literal),*) => {
        TestProgram {
            name: $name,
            source: "p.c",
            text: $text,
            build: &["gcc", "-g", "-o", "p", "p.c", $($flag),*],
            stop_at: $at,
            ends: $ends,
        }
    };
}

/// Stacks of 64 KiB and more are copied in part; what a signal with a stack of
/// its own interrupted is on another one; where coroutines begin there is no table.
pub(super) const PROGRAMS: &[TestProgram] = &[
    c!("C, no frame pointers", TREE, "leaf", &[], "-O2", "-fomit-frame-pointer"),
    c!("C, unoptimized", TREE, "leaf", &[], "-O0"),
    c!("C, at fixed addresses", TREE, "leaf", &[], "-O2", "-no-pie"),
    c!("C, static", TREE, "leaf", &[], "-O2", "-static"),
    c!("C, stack realigned", TREE, "leaf", &[], "-O2", "-mstackrealign", "-mavx"),
    c!(
        "C, .debug_frame alone",
        TREE,
        "leaf",
        &[],
        "-O1",
        "-fomit-frame-pointer",
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables"
    ),
    c!(
        "deep recursion",
        DEEP,
        "deeper if of == 700",
        &[ChainEnd::CopyTooShort],
        "-O1",
        "-fomit-frame-pointer"
    ),
    c!("signal handler", SIGNAL, "handler", &[], "-O2"),
    c!("signal with a stack of its own", ALTERNATE, "handler", &[ChainEnd::OtherStack], "-O2"),
    c!("signal with an allocated stack", ALLOCATED, "handler", &[ChainEnd::OtherStack], "-O2"),
    c!("vdso", CLOCK, "work", &[], "-O2"),
    c!("threads", THREADS, "work", &[], "-O2", "-pthread"),
    c!("coroutine", COROUTINE, "work", &[ChainEnd::NoTable], "-O2"),
    TestProgram {
        name: "C++ with exceptions",
        source: "p.cc",
        text: EXCEPTION,
        build: &["g++", "-g", "-O2", "-o", "p", "p.cc"],
        stop_at: "thrower",
        ends: &[],
    },
    TestProgram {
        name: "Rust",
        source: "p.rs",
        text: RUST,
        build: &["rustc", "-g", "-O", "-o", "p", "p.rs"],
        stop_at: "p::insert",
        ends: &[],
    },
    TestProgram {
        name: "Go",
        source: "p.go",
        text: GO,
        build: &["go", "build", "-o", "p", "p.go"],
        stop_at: "main.work",
        ends: &[ChainEnd::NoTable],
    },
];
