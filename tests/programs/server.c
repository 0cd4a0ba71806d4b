/* server: a process that must not be ended by what becomes of who watches it.
 * Threads work out checksums over and over, with system calls and code that is
 * met anew on the way; each says so after every round that was right. One that
 * is wrong, or a signal that nobody sent it, ends all with a message. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, WORDS = 1 << 14 };
static atomic_ulong rounds;

#define STEP(n) \
    static uint64_t step##n(uint64_t x) { return (x ^ x >> (n + 7)) * (2 * n + 0x9e3779b97f4a7c15u); }
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
static uint64_t (*const steps[])(uint64_t) = {step0, step1, step2, step3,
                                              step4, step5, step6, step7};

static uint64_t work(uint64_t *words, uint64_t seed)
{
    uint64_t sum = seed;
    for (unsigned at = 0; at < WORDS; at++)
        words[at * 33 % WORDS] = sum = steps[sum >> 61](sum + at);
    for (unsigned at = 0; at < WORDS; at++)
        sum = sum * 31 + words[at];
    return sum;
}

static void *serve(void *number)
{
    uint64_t *words = malloc(WORDS * sizeof *words), seed = (uintptr_t)number;
    uint64_t right = work(words, seed);
    for (;;) {
        if (work(words, seed) != right || getppid() < 0) {
            printf("wrong\n");
            exit(3);
        }
        if (atomic_fetch_add(&rounds, 1) % 64 == 0)
            usleep(100);
    }
}

int main(void)
{
    char line[64];
    pthread_t thread;
    for (uintptr_t number = 1; number <= THREADS; number++)
        pthread_create(&thread, 0, serve, (void *)number);
    printf("ready\n");
    fflush(stdout);
    /* Each line asks for how many more rounds to wait. */
    while (fgets(line, sizeof line, stdin)) {
        unsigned long until = rounds + strtoul(line, 0, 10);
        while (rounds < until)
            usleep(1000);
        printf("right\n");
        fflush(stdout);
    }
    return 0;
}
