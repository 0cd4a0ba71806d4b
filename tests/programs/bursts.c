/* bursts FAULTS: for each line on stdin, FAULTS page faults on fresh pages as
 * fast as the kernel serves them; until the next line nothing happens at all.
 *
 * It writes `ready` first, and after each burst `kernel COUNT`: the kernel's
 * count of its page faults from `ready` on, or -1. */
#define _GNU_SOURCE
#include "kernel_count.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WINDOW 2048ULL

static char text[64], line[16];
static char *window;

static void blow(uint64_t faults)
{
    for (uint64_t left = faults; left;) {
        uint64_t pages = left < WINDOW ? left : WINDOW;
        for (uint64_t page = 0; page < pages; page++)
            *(volatile char *)(window + page * 4096) = 1;
        madvise(window, WINDOW * 4096, MADV_DONTNEED);
        left -= pages;
    }
}

static void tell(const char *format, int64_t number)
{
    int length = snprintf(text, sizeof text, format, number);
    if (write(1, text, (size_t)length) != length)
        _exit(1);
}

int main(int argc, char **argv)
{
    uint64_t faults = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
    int count = kernel_count_open();
    window = mmap(NULL, WINDOW * 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window == MAP_FAILED || madvise(window, WINDOW * 4096, MADV_NOHUGEPAGE)) {
        perror("bursts: its pages");
        return 1;
    }
    /* What a burst and its line touch is touched before `before`. */
    memset(line, '.', sizeof line);
    blow(1);
    snprintf(text, sizeof text, "kernel %" PRId64 "\n", kernel_count_read(count));
    tell("ready\n", 0);
    int64_t before = kernel_count_read(count);
    while (read(0, line, sizeof line) > 0) {
        blow(faults);
        int64_t now = kernel_count_read(count);
        tell("kernel %" PRId64 "\n", now < 0 ? -1 : now - before);
    }
    _exit(0);
}
