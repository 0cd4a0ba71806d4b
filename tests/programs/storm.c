/* storm FAULTS [THREADS [wait [RATE]]]: FAULTS page faults on fresh pages, as
 * fast as the kernel serves them or RATE a second, from one instruction, by
 * THREADS threads.
 *
 * With `wait` it writes `ready`, and begins when a line comes on stdin; then
 * nothing but the faults of the storm happens until it ends.
 * stdout at the end: site ADDRESS / faults COUNT / kernel COUNT / user ID, the
 * third the kernel's count from the beginning of the storm, or -1, the last as
 * whom it acts. */
#define _GNU_SOURCE
#include "kernel_count.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define WINDOW 2048ULL
/* Faults between two looks at the clock. */
#ifndef BATCH
#define BATCH 8ULL
#endif

extern char storm_site[] __asm__(".Lstorm_site");
static pthread_barrier_t begin, end;
/* Of each thread: faults, and faults a second (0: as they come). */
static uint64_t share, rate;

/* Sleeps until `done` faults are due, counted from `start`. */
static void keep_pace(struct timespec start, uint64_t done)
{
    if (!rate)
        return;
    start.tv_sec += (time_t)(done / rate);
    start.tv_nsec += (long)(done % rate * 1000000000 / rate);
    if (start.tv_nsec >= 1000000000) {
        start.tv_nsec -= 1000000000;
        start.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL))
        ;
}

static void *blow(void *window)
{
    struct timespec start;
    pthread_barrier_wait(&begin);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t left = share; left;) {
        uint64_t pages = left < WINDOW ? left : WINDOW;
        for (uint64_t page = 0; page < pages; page++) {
            __asm__ volatile(
                "call storm_touch" : : "D"((char *)window + page * 4096) : "memory", "cc");
            if (page % BATCH == BATCH - 1)
                keep_pace(start, share - left + page);
        }
        madvise(window, WINDOW * 4096, MADV_DONTNEED);
        left -= pages;
    }
    pthread_barrier_wait(&end);
    return NULL;
}

__asm__(".pushsection .text.storm, \"ax\"\n"
        ".balign 64\n"
        ".type storm_touch, @function\n"
        "storm_touch:\n"
        ".Lstorm_site: movb $1, (%rdi)\n"
        "ret\n"
        ".size storm_touch, . - storm_touch\n"
        ".popsection\n");

int main(int argc, char **argv)
{
    uint64_t faults = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
    int waits = argc > 3 && !strcmp(argv[3], "wait");
    if (!threads || faults % threads) {
        fprintf(stderr, "storm: %" PRIu64 " faults cannot be shared by %u threads\n", faults,
                threads);
        return 2;
    }
    share = faults / threads;
    rate = argc > 4 ? strtoull(argv[4], NULL, 0) / threads : 0;
    pthread_barrier_init(&begin, NULL, threads + 1);
    pthread_barrier_init(&end, NULL, threads + 1);

    int count = kernel_count_open();
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        char *window = mmap(NULL, WINDOW * 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (window == MAP_FAILED || madvise(window, WINDOW * 4096, MADV_NOHUGEPAGE)
            || pthread_create(&thread, NULL, blow, window)) {
            perror("storm: a thread with its pages");
            return 1;
        }
    }
    static char text[256], line[16];
    memset(text, '.', sizeof text);
    memset(line, '.', sizeof line);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    keep_pace(now, 0);
    int64_t before = kernel_count_read(count);
    if (waits) {
        /* Twice, and the first time with threads that have all reached the
         * barrier: what the waiting touches is touched before `before`. */
        usleep(50000);
        if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof line) < 0)
            return 1;
        before = kernel_count_read(count);
    }
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    int64_t after = kernel_count_read(count);
    int length = snprintf(text, sizeof text, "site %p\nfaults %" PRIu64 "\nkernel %" PRId64 "\nuser %d\n",
                          (void *)storm_site, faults, before < 0 ? -1 : after - before,
                          (int)geteuid());
    ssize_t written = write(1, text, (size_t)length);
    _exit(written != length);
}
