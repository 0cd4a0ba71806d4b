/* die HOW: ends in the way that is asked for: a status, or a signal. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is(const char *how, const char *name)
{
    return strcmp(how, name) == 0;
}

__attribute__((noinline)) static int recurse(volatile char *above)
{
    volatile char room[1024];
    room[0] = above[0];
    return recurse(room) + room[0];
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "0";
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    printf("%s\n", how);
    fflush(stdout);
    volatile int *volatile nowhere = (volatile int *)16;
    if (is(how, "segv"))
        *nowhere = 1;
    if (is(how, "abrt"))
        abort();
    if (is(how, "ill"))
        __asm__ volatile("ud2");
    if (is(how, "fpe"))
        __asm__ volatile("xor %%ecx, %%ecx\n div %%ecx" ::: "rax", "rcx", "rdx");
    if (is(how, "trap"))
        __asm__ volatile("int3");
    if (is(how, "kill"))
        raise(SIGKILL);
    if (is(how, "term"))
        raise(SIGTERM);
    if (is(how, "pipe"))
        raise(SIGPIPE);
    if (is(how, "hlt"))
        __asm__ volatile("hlt");
    if (is(how, "jump"))
        __asm__ volatile("mov $0x123456789, %%rax\n jmp *%%rax" ::: "rax");
    if (is(how, "exec")) { /* code in a page that is not executable */
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *(unsigned char *)page = 0xc3;
        __asm__ volatile("call *%0" ::"r"(page));
    }
    if (is(how, "stack"))
        return recurse("");
    if (is(how, "sys"))
        return syscall(100000) == -1 ? 9 : 1;
    return atoi(how);
}
