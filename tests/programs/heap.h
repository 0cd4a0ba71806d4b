/* Blocks whose lines are known: each write to one is noted under the line that
 * asked for it, and the sums are printed, `FILE:LINE COUNT`, at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LINES 1000
static long *noted;

/* Its stores are the only ones that the test looks at. */
__attribute__((noinline)) static void touch(volatile char *block, size_t size, long times) {
    for (long at = 0; at < times; at++) block[(size_t)at % size] = 1;
}

/* Writes to a block that LINE asked for. */
static void written(void *block, size_t size, int line, long times) {
    touch((volatile char *)block, size, times);
    __atomic_fetch_add(&noted[line], times, __ATOMIC_RELAXED);
}

/* Children write to the same sums. */
static void begin(void) {
    int protection = PROT_READ | PROT_WRITE, shared = MAP_SHARED | MAP_ANONYMOUS;
    void *sums = mmap(0, LINES * sizeof *noted, protection, shared, -1, 0);
    if (sums == MAP_FAILED) exit(1);
    noted = (long *)sums;
}

static void tell(const char *file) {
    for (int line = 0; line < LINES; line++)
        if (noted[line]) printf("%s:%d %ld\n", file, line, noted[line]);
}
