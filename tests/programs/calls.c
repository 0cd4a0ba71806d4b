/* calls CALLS [RATE]: CALLS system calls getpid, as fast as they come or RATE
 * a second. For benches/in-kernel.sh. stdout: calls COUNT. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Calls between two looks at the clock. */
#ifndef BATCH
#define BATCH 8ULL
#endif

int main(int argc, char **argv)
{
    uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    uint64_t rate = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t done = 1; done <= calls; done++) {
        syscall(SYS_getpid);
        if (!rate || done % BATCH)
            continue;
        struct timespec due = start;
        due.tv_sec += (time_t)(done / rate);
        due.tv_nsec += (long)(done % rate * 1000000000 / rate);
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL))
            ;
    }
    printf("calls %" PRIu64 "\n", calls);
    return 0;
}
