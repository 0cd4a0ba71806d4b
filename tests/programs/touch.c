/* touch PAGES: touches PAGES fresh pages, each once, from 16 instructions
 * with every general register and the status flags pinned.
 *
 * stdout holds the truth, written before the first touch:
 *   site N ADDRESS COUNT
 *   fault N ADDR ax bx cx dx si di bp sp r8 .. r15 flags
 * and after the last: between COUNT, the kernel's count of faults in between
 * (the touches, and the few of this program's own pages).
 *
 * Linked static and at fixed addresses, so two runs differ in nothing. */
#define _GNU_SOURCE
#include "kernel_count.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SITES 16
#define BASE ((char *)0x200000000000)
#define STATUS_FLAGS 0x8d5ULL

/* ax bx cx dx si di bp sp r8 .. r15, then flags. */
uint64_t pins[SITES + 1];
uint64_t own_stack;

/* Site N stores through register number N. The whole section is within one
 * page, so no site ever faults for its own code; the registers come from
 * absolute addresses, so none is left out. */
#define SITE(n, pointer)                                                                           \
    ".globl touch_" #n "\n.type touch_" #n ", @function\n"                                         \
    "touch_" #n ":\n"                                                                              \
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"                           \
    "mov %rsp, own_stack\n"                                                                        \
    "pushq pins+128; popfq\n"                                                                      \
    "mov pins+0, %rax; mov pins+8, %rbx; mov pins+16, %rcx; mov pins+24, %rdx\n"                   \
    "mov pins+32, %rsi; mov pins+40, %rdi; mov pins+48, %rbp; mov pins+56, %rsp\n"                 \
    "mov pins+64, %r8; mov pins+72, %r9; mov pins+80, %r10; mov pins+88, %r11\n"                   \
    "mov pins+96, %r12; mov pins+104, %r13; mov pins+112, %r14; mov pins+120, %r15\n"              \
    ".Lsite_" #n ": movb $1, (%" #pointer ")\n"                                                      \
    "mov own_stack, %rsp\n"                                                                        \
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"                                 \
    "ret\n"                                                                                        \
    ".size touch_" #n ", . - touch_" #n "\n"

__asm__(".pushsection .text.touch, \"ax\"\n"
        ".balign 4096\n"
        ".Ltouch_first:\n"
        SITE(0, rax) SITE(1, rbx) SITE(2, rcx) SITE(3, rdx)
        SITE(4, rsi) SITE(5, rdi) SITE(6, rbp) SITE(7, rsp)
        SITE(8, r8) SITE(9, r9) SITE(10, r10) SITE(11, r11)
        SITE(12, r12) SITE(13, r13) SITE(14, r14) SITE(15, r15)
        ".if . - .Ltouch_first > 4096\n.error \"the sites do not fit one page\"\n.endif\n"
        ".popsection\n");

#define EACH_SITE(use)                                                                             \
    use(0) use(1) use(2) use(3) use(4) use(5) use(6) use(7)                                        \
    use(8) use(9) use(10) use(11) use(12) use(13) use(14) use(15)
#define DECLARE(n) extern void touch_##n(void); extern char site_##n[] __asm__(".Lsite_" #n);
#define TOUCH(n) touch_##n,
#define ADDRESS(n) site_##n,
EACH_SITE(DECLARE)
static void (*const touch[SITES])(void) = {EACH_SITE(TOUCH)};
static char *const site[SITES] = {EACH_SITE(ADDRESS)};

/* splitmix64: the same numbers on every run. */
static uint64_t mix(uint64_t seed)
{
    seed += 0x9e3779b97f4a7c15ULL;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
    return seed ^ (seed >> 31);
}

static int site_of(uint64_t page)
{
    return (int)(mix(page) % SITES);
}

static void pin(uint64_t page)
{
    int chosen = site_of(page);
    for (int i = 0; i < SITES; i++)
        pins[i] = mix(page * SITES + (uint64_t)i);
    pins[chosen] = (uint64_t)BASE + page * 4096 + mix(~page) % 4096;
    pins[SITES] = 0x202 | (mix(page ^ 0xf1a65) & STATUS_FLAGS);
}

int main(int argc, char **argv)
{
    uint64_t pages = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    char *base = mmap(BASE, pages * 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (base != BASE || madvise(base, pages * 4096, MADV_NOHUGEPAGE)) {
        perror("touch: mmap");
        return 1;
    }
    uint64_t counts[SITES] = {0};
    for (uint64_t page = 0; page < pages; page++) {
        pin(page);
        counts[site_of(page)]++;
        printf("fault %d 0x%" PRIx64, site_of(page), pins[site_of(page)]);
        for (int i = 0; i <= SITES; i++)
            printf(" 0x%" PRIx64, pins[i]);
        printf("\n");
    }
    for (int i = 0; i < SITES; i++)
        printf("site %d %p %" PRIu64 "\n", i, site[i], counts[i]);
    fflush(stdout);

    int count = kernel_count_open();
    int64_t before = kernel_count_read(count);
    for (uint64_t page = 0; page < pages; page++) {
        pin(page);
        touch[site_of(page)]();
    }
    int64_t after = kernel_count_read(count);
    printf("between %" PRId64 "\n", before < 0 ? -1 : after - before);
    return 0;
}
