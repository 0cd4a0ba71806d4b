/* sites FAULTS THREADS FORKS: FAULTS page faults on fresh pages, at sixteen
 * instructions, by THREADS threads of each of FORKS children and of the
 * program itself.
 *
 * It writes `ready`, and begins when a line comes on stdin: forks, and each
 * process makes its threads. No thread runs beside a fork of its process, so
 * that no page is protected between its fault and the write, which then would
 * fault again.
 * stdout at the end: site ADDRESS COUNT, for each instruction / faults COUNT /
 * milliseconds TIME, from the line on stdin to the end of the last thread. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITES 16
#define WINDOW 512ULL

/* Each is 16 bytes behind the one before. */
__asm__(".pushsection .text.sites, \"ax\"\n.balign 64\n"
        ".type sites_touch, @function\nsites_touch:\n"
        ".rept 16\n.balign 16\nmovb $1, (%rdi)\nret\n.endr\n"
        ".size sites_touch, . - sites_touch\n.popsection\n");
extern char sites_touch[];

/* Of all processes together. */
static _Atomic uint64_t *touched;
static uint64_t share;

static void *touch(void *unused)
{
    (void)unused;
    uint64_t own[SITES] = {0};
    char *window = mmap(NULL, WINDOW * 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window == MAP_FAILED || madvise(window, WINDOW * 4096, MADV_NOHUGEPAGE)) {
        perror("sites: mmap");
        exit(1);
    }
    for (uint64_t done = 0; done < share;) {
        uint64_t pages = share - done < WINDOW ? share - done : WINDOW;
        for (uint64_t page = 0; page < pages; page++, done++) {
            /* Some come more often than others. */
            unsigned site = (unsigned)((done * done + done / 3) % SITES);
            own[site]++;
            __asm__ volatile("call *%1"
                             :
                             : "D"(window + page * 4096), "r"(sites_touch + 16 * site)
                             : "memory", "cc");
        }
        madvise(window, WINDOW * 4096, MADV_DONTNEED);
    }
    for (unsigned site = 0; site < SITES; site++)
        touched[site] += own[site];
    return NULL;
}

static void run(unsigned threads)
{
    pthread_t thread[threads];
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, touch, NULL)) {
            fprintf(stderr, "sites: no thread\n");
            exit(1);
        }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static int64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    uint64_t faults = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 8;
    unsigned forks = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
    if (!threads || faults % (threads * (forks + 1ULL))) {
        fprintf(stderr, "sites: %" PRIu64 " faults cannot be shared\n", faults);
        return 2;
    }
    share = faults / (threads * (forks + 1ULL));
    touched = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (touched == MAP_FAILED) {
        perror("sites: mmap");
        return 1;
    }
    char line[64];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    int64_t begin = now();
    for (unsigned i = 0; i < forks; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("sites: fork");
            return 1;
        }
        if (!child) {
            run(threads);
            _exit(0);
        }
    }
    run(threads);
    while (wait(NULL) > 0)
        ;
    int64_t milliseconds = now() - begin;
    uint64_t sum = 0;
    for (unsigned site = 0; site < SITES; site++) {
        printf("site %p %" PRIu64 "\n", (void *)(sites_touch + 16 * site), touched[site]);
        sum += touched[site];
    }
    printf("faults %" PRIu64 "\nmilliseconds %" PRId64 "\n", sum, milliseconds);
    return 0;
}
