/* list NODES: walks NODES structures that lie 8 KiB apart, as kernel stacks
 * and slabs do, and writes to each through rcx, so that each write faults.
 *
 * rcx has the same 13 low bits at every fault; rdx is a multiple of 48; rax
 * is 7; rsi holds what a random generator gives.
 * stdout: site ADDRESS / nodes COUNT / low BITS. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BASE 0x240000000000ULL
#define APART 8192ULL
#define FIELD 0xa40ULL

extern char list_site[] __asm__(".Llist_site");

int main(int argc, char **argv)
{
    uint64_t nodes = argc > 1 ? strtoull(argv[1], NULL, 0) : 500;
    void *base = mmap((void *)BASE, nodes * APART, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (base != (void *)BASE || madvise(base, nodes * APART, MADV_NOHUGEPAGE)) {
        perror("list: mmap");
        return 1;
    }
    printf("site %p\nnodes %" PRIu64 "\nlow 0x%llx\n", (void *)list_site, nodes, FIELD);
    fflush(stdout);
    uint64_t random = 88172645463325252ULL;
    for (uint64_t node = 0; node < nodes; node++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        __asm__ volatile("call list_insert"
                         :
                         : "a"(7), "c"(BASE + node * APART + FIELD), "d"(node * 48), "S"(random)
                         : "memory", "cc");
    }
    return 0;
}

__asm__(".pushsection .text.list, \"ax\"\n"
        ".balign 64\n"
        ".type list_insert, @function\n"
        "list_insert:\n"
        ".Llist_site: mov %rdx, (%rcx)\n"
        "ret\n"
        ".size list_insert, . - list_insert\n"
        ".popsection\n");
