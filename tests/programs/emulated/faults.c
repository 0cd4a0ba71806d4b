/* faults: repeated string instructions whose pages come one by one, by a
 * handler, and one that goes on and on until there is no page.
 *
 * stdout: fill and copy ADDRESS: the instructions; what the handler saw. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGES = 64, SIZE = PAGES * 4096 };
static char *to, *from;
static sigjmp_buf out;
static int wild;
static unsigned long sum;
extern char fill[], copy[];

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long rcx = registers[REG_RCX], rdi = registers[REG_RDI];
    sum = sum * 31 + rcx + rdi - (unsigned long)to;
    if (wild) {
        printf("signal %d, %lx left, %ld done\n", number, rcx, (long)(rdi - (unsigned long)to));
        siglongjmp(out, 1);
    }
    mprotect((void *)((unsigned long)info->si_addr & ~4095UL), 4096, PROT_READ | PROT_WRITE);
}

static void map(int rights)
{
    if (to)
        munmap(to, SIZE);
    to = mmap(NULL, SIZE + 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(to + SIZE, 4096, PROT_NONE);
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, NULL);
    printf("fill %p\ncopy %p\n", fill, copy);

    map(PROT_NONE);
    void *rdi = to;
    unsigned long rcx = SIZE;
    __asm__ volatile(".globl fill\n"
                     "fill: rep stosb\n"
                     : "+D"(rdi), "+c"(rcx) : "a"(7) : "memory");
    printf("filled %ld, %lx\n", (long)((char *)rdi - to), sum);

    from = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map(PROT_NONE);
    rdi = to + SIZE - 8 - 20;
    void *rsi = from + SIZE - 8 - 4;
    rcx = SIZE / 8 - 8;
    __asm__ volatile("std\n"
                     ".globl copy\n"
                     "copy: rep movsq\n"
                     "cld\n"
                     : "+D"(rdi), "+S"(rsi), "+c"(rcx) : : "memory");
    printf("copied %ld, %lx\n", (long)((char *)rdi - to), sum);

    wild = 1;
    if (!sigsetjmp(out, 1))
        __asm__ volatile("rep stosb" : : "D"(to + 100), "c"(-1L), "a"(1) : "memory");
    if (!sigsetjmp(out, 1))
        __asm__ volatile("std; rep stosq; cld" : : "D"(to + SIZE), "c"(-5L), "a"(1) : "memory");
    printf("%d %d\n", to[SIZE - 1], to[99]);
    return 0;
}
