/* callers: touches one fresh page in each of these places, whose callers are
 * known, innermost first:
 *
 *   plain    touch inner middle main
 *   even, odd: mutual recursion to depth 6
 *            touch odd even odd even odd even main
 *   tail     touch last main: `hop` has jumped to `last` and is no caller
 *   handler  touch on_signal <signal frame> ... raise_it main
 *   jumped   touch after_jump main: what longjmp left is no caller
 *   kernel   the kernel touches it: ... read by_kernel main
 *
 * With -DBARE it has the first two, no C library, and frame pointers:
 * -nostdlib -fno-omit-frame-pointer. */
#ifdef BARE
static char pages[64 * 4096] __attribute__((aligned(4096)));
#else
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static char *pages;
static jmp_buf back;
#endif

#define KEPT __attribute__((noinline, noclone, noipa))

static int used;
static volatile int sink;

KEPT static void touch(void)
{
    pages[4096 * used++] = 1;
    sink++;
}

KEPT static void inner(void)
{
    touch();
    sink++;
}

KEPT static void middle(void)
{
    inner();
    sink++;
}

KEPT static void odd(int depth);

KEPT static void even(int depth)
{
    odd(depth - 1);
    sink++;
}

KEPT static void odd(int depth)
{
    if (depth == 1)
        touch();
    else
        even(depth - 1);
    sink++;
}

#ifndef BARE
KEPT static void last(void)
{
    touch();
    sink++;
}

KEPT static void hop(void)
{
    sink++;
    last(); /* -O2 makes it a jump */
}

KEPT static void on_signal(int number)
{
    (void)number;
    touch();
    sink++;
}

KEPT static void raise_it(void)
{
    raise(SIGUSR1);
    sink++;
}

KEPT static void leave(volatile int depth)
{
    if (depth == 0)
        longjmp(back, 1);
    leave(depth - 1);
    sink++;
}

KEPT static void after_jump(void)
{
    if (setjmp(back) == 0)
        leave(5);
    touch();
    sink++;
}

KEPT static void by_kernel(int file)
{
    if (read(file, pages + 4096 * used++, 1) != 1)
        sink++;
    sink++;
}

int main(void)
{
    pages = mmap(0, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 64 * 4096, MADV_NOHUGEPAGE);
    middle();
    even(6);
    hop();
    signal(SIGUSR1, on_signal);
    raise_it();
    after_jump();
    by_kernel(open("/dev/zero", O_RDONLY));
    return 0;
}
#else
KEPT int bare_main(void)
{
    middle();
    even(6);
    sink++;
    return 0;
}

void _start(void)
{
    bare_main();
    __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
}
#endif
