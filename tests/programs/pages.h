/* Fresh pages at an address that nothing else has, so that each touch is one
 * fault that can be told by it. */
#ifndef PAGES_H
#define PAGES_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGES_BASE ((char *)0x200000000000)
#define PAGES_PAGE 4096L
#define PAGES_MOST 4096L

static char *pages_next = PAGES_BASE;

static void pages_map(void)
{
    char *base = mmap(PAGES_BASE, PAGES_MOST * PAGES_PAGE, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (base != PAGES_BASE || madvise(base, PAGES_MOST * PAGES_PAGE, MADV_NOHUGEPAGE)) {
        perror("pages: mmap");
        exit(1);
    }
}

/* Not by several threads at once. */
__attribute__((noinline, unused)) static void pages_touch(long count)
{
    for (long page = 0; page < count; page++) {
        *(volatile char *)pages_next = 1;
        pages_next += PAGES_PAGE;
    }
}

#endif
