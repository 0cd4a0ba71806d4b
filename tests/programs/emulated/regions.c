/* regions: stores in regions that the program marks, whose numbers it tells.
 *
 *   regions            each way to be in a region; a line "stores PATH NUMBER" for each of them
 *   regions marks N    a region with one store, N times; says what CPU time that took
 *   regions filtered   regions behind a filter of system calls (root)
 *
 * Nothing else stores between the marks: all is done in registers. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALWAYS static inline __attribute__((always_inline))
/* nopl 0x484d5200 + operation (%rax,%rax,1) */
#define MARK(operation) ".byte 0x0f, 0x1f, 0x84, 0x00, " #operation ", 0x52, 0x4d, 0x48"

ALWAYS void begin(const char *name) { __asm__ volatile(MARK(1) ::"D"(name) : "memory"); }
ALWAYS void end(const char *name) { __asm__ volatile(MARK(2) ::"D"(name) : "memory"); }
/* Operations that there are not. */
ALWAYS void other(const char *name)
{
    __asm__ volatile(MARK(0) "\n" MARK(3) "\n" MARK(255) ::"D"(name) : "memory");
}

static long there;

ALWAYS void store(long times)
{
    __asm__ volatile("1: mov %0, (%1)\n dec %0\n jnz 1b" : "+r"(times) : "r"(&there) : "memory");
}

ALWAYS long call(long number, long first, long second)
{
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(first), "S"(second)
                     : "rcx", "r11", "memory");
    return number;
}

static void *nested(void *of)
{
    if (of) {
        begin("first");
        store(1000);
    } else {
        begin("second");
        store(300);
    }
    begin("inner");
    store(20);
    begin("innermost");
    store(7);
    end("innermost");
    store(1);
    if (of) {
        /* The outer one: it is still in the inner one. */
        end("first");
        store(9);
    } else {
        end(NULL);
        store(5);
    }
    end("");
    return NULL;
}

static void forked(void)
{
    begin("forking");
    store(40);
    long child = call(SYS_fork, 0, 0);
    if (child == 0) {
        store(7);
        begin("child");
        store(500);
        end("child");
        store(3);
        call(SYS_exit_group, 0, 0);
    }
    store(2);
    end("forking");
    waitpid(-1, NULL, 0);
}

static void on_signal(int number)
{
    (void)number;
    begin("handler");
    store(77);
    end("handler");
}

static void handled(void)
{
    signal(SIGUSR1, on_signal);
    begin("handled");
    raise(SIGUSR1);
    end("handled");
}

/* No name can be read there, or none that ends. */
static void wild(void)
{
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page, 'x', 4096);
    char *longest = page + 4096 - 95;
    begin("wild");
    store(11);
    begin((char *)8);
    store(12);
    end((char *)8);
    store(13);
    begin((char *)0xdead000000000000);
    begin((char *)-1);
    end((char *)-1);
    begin(NULL);
    begin("");
    other("wild");
    begin(longest);
    end(longest);
    store(14);
    /* As long as a name may be: no NUL is needed where 96 bytes can be read. */
    begin(longest - 1);
    store(15);
    end(NULL);
    end("wild");
}

static void marks(long times)
{
    while (times--) {
        begin("loop");
        store(1);
        end("loop");
    }
}

static int filtered(void)
{
#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    begin("before");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 1;
    end("before");
    begin("behind");
    store(21);
    begin((char *)8);
    begin("a filter");
    store(22);
    end(NULL);
    end("behind");
    call(SYS_exit_group, 0, 0);
    return 1;
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";
    if (strcmp(how, "marks") == 0) {
        long times = atol(words[2]);
        clock_t before = clock();
        marks(times);
        printf("%.1f ns of CPU time a turn\n", (clock() - before) * 1e9 / CLOCKS_PER_SEC / times);
        return 0;
    }
    if (strcmp(how, "filtered") == 0)
        return filtered();
    if (strcmp(how, "after") == 0) {
        begin("after");
        store(5);
        end("before");
        end("after");
        return 0;
    }
    char x[96];
    memset(x, 'x', 95);
    x[95] = 0;
    printf("stores first 1000\nstores first/inner 21\nstores first/inner/innermost 7\n"
           "stores inner 9\nstores second 305\nstores second/inner 21\nstores second/inner/innermost 7\n"
           "stores forking 52\nstores forking/child 500\nstores handled/handler 77\n"
           "stores wild 50\nstores wild/%s 15\nstores loop 1000\nstores after 5\n",
           x);
    fflush(stdout);
    pthread_t threads[2];
    for (int at = 0; at < 2; at++)
        pthread_create(&threads[at], NULL, nested, at ? NULL : "");
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    forked();
    handled();
    wild();
    marks(1000);
    begin("before");
    execl("/proc/self/exe", words[0], "after", NULL);
    return 1;
}
