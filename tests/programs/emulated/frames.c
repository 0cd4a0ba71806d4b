/* frames: what a handler finds in its frame and what becomes of changes to
 * it; alternate stacks, nested and recursive signals, an overflown stack. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

extern char fault_at[], fault_end[], trap_end[], illegal_at[], illegal_end[], divide_at[],
    divide_end[];
static volatile int good, depth, nested;
static char spare[65536] __attribute__((aligned(64)));
static sigjmp_buf back;

static void check(const char *what, int holds)
{
    if (!holds)
        printf("wrong: %s\n", what);
    good += holds;
}

/* Registers pinned around the fault are in the frame, and the program goes on
 * where the handler says, with the register that it set. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    char here;
    check("handler's stack", &here >= spare && &here < spare + sizeof spare);
    check("rip at the fault", r[REG_RIP] == (greg_t)fault_at);
    check("si_addr", info->si_addr == (void *)0x1008);
    check("rax", r[REG_RAX] == 0x1111);
    check("rbx", r[REG_RBX] == 0x2222);
    check("rcx", r[REG_RCX] == 0x1000);
    check("rdx", r[REG_RDX] == 0x4444);
    check("r8", r[REG_R8] == 0x8888);
    check("r15", r[REG_R15] == 0xffff);
    check("carry and sign", (r[REG_EFL] & 0x81) == 0x81);
    r[REG_RIP] = (greg_t)fault_end;
    r[REG_RAX] = 77;
    r[REG_EFL] &= ~1ll;
}

static void pinned_fault(void)
{
    uint64_t got;
    uint8_t carry;
    __asm__ volatile("mov $0x1111, %%eax\n mov $0x2222, %%ebx\n mov $0x1000, %%ecx\n"
                     "mov $0x4444, %%edx\n mov $0x8888, %%r8d\n mov $0xffff, %%r15d\n"
                     "cmp %%ebx, %%eax\n"
                     ".globl fault_at\nfault_at: mov 8(%%rcx), %%rax\n ud2\n"
                     ".globl fault_end\nfault_end: setc %1\n mov %%rax, %0\n"
                     : "=r"(got), "=r"(carry)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r15", "memory", "cc");
    check("register set by the handler", got == 77);
    check("carry cleared by the handler", carry == 0);
}

static void on_other(int signal, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *rip = (char *)r[REG_RIP];
    if (signal == SIGTRAP)
        check("rip behind int3", rip == trap_end);
    if (signal == SIGILL) {
        check("rip at ud2", rip == illegal_at);
        r[REG_RIP] = (greg_t)illegal_end;
    }
    if (signal == SIGFPE) {
        check("rip at the division", rip == divide_at);
        r[REG_RIP] = (greg_t)divide_end;
    }
}

static void traps(void)
{
    __asm__ volatile("int3\n.globl trap_end\ntrap_end: nop\n"
                     ".globl illegal_at\nillegal_at: ud2\n.globl illegal_end\nillegal_end: nop\n"
                     "xor %%edx, %%edx\n mov $1, %%eax\n xor %%ecx, %%ecx\n"
                     ".globl divide_at\ndivide_at: div %%ecx\n"
                     ".globl divide_end\ndivide_end: nop\n" ::
                         : "rax", "rcx", "rdx", "cc");
}

static void on_first(int signal)
{
    (void)signal;
    int before = nested;
    raise(SIGUSR2);
    check("the inner handler ran inside", nested == before + 1);
}

static void on_second(int signal)
{
    (void)signal;
    nested++;
}

static void on_recursive(int signal)
{
    if (++depth < 20)
        raise(signal);
}

static void on_overflow(int signal)
{
    siglongjmp(back, signal);
}

__attribute__((noinline)) static int overflow(int n)
{
    volatile char room[4096];
    memset((char *)room, n, sizeof room);
    return overflow(n + 1) + room[n & 4095];
}

/* A leaf keeps live data below its stack pointer while signals come. */
static volatile sig_atomic_t ticks;
static void on_tick(int signal)
{
    volatile char room[512];
    memset((char *)room, 0xee, sizeof room);
    ticks += signal == SIGALRM;
}

static void red_zone(void)
{
    uint64_t wrong = 0;
    for (long round = 0; ticks < 20 && round < 2000000000; round++) {
        uint64_t got;
        __asm__ volatile("mov %1, -8(%%rsp)\n mov %1, -128(%%rsp)\n pause\n"
                         "mov -8(%%rsp), %0\n add -128(%%rsp), %0\n"
                         : "=&r"(got)
                         : "r"(round)
                         : "memory", "cc");
        wrong += got != 2 * (uint64_t)round;
    }
    check("red zone", wrong == 0);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    stack_t stack = {.ss_sp = spare, .ss_size = sizeof spare};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 50; i++)
        pinned_fault();
    action.sa_sigaction = on_other;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    for (int i = 0; i < 10; i++)
        traps();
    signal(SIGUSR1, on_first);
    signal(SIGUSR2, on_second);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    struct sigaction recursive = {.sa_handler = on_recursive, .sa_flags = SA_NODEFER};
    sigaction(SIGURG, &recursive, NULL);
    raise(SIGURG);
    struct sigaction over = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &over, NULL);
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_STACK, &limit);
    volatile int overflows = 0;
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1))
            overflows++;
        else
            overflow(1);
    signal(SIGALRM, on_tick);
    ualarm(2000, 2000);
    red_zone();
    ualarm(0, 0);
    printf("good %d nested %d depth %d overflows %d\n", good, nested, depth, overflows);
    return 0;
}
