/* Threads that allocate, grow and give back as fast as they can, under a timer's signals, beside
 * children that are forked in the middle and do the same. Every block is written from its first to
 * its last byte, and looked at again. `ok` says that nothing was wrong; KILL as an argument: a
 * child, and the program in the end, are killed in the middle. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 64 };
static volatile sig_atomic_t ticks;

static void tick(int number) {
    (void)number;
    ticks++;
    errno = 99;
}

static void storm(unsigned random, int rounds) {
    unsigned char *blocks[KEPT] = {0};
    size_t sizes[KEPT] = {0};
    for (int round = 0; round < rounds; round++) {
        random = random * 1664525u + 1013904223u;
        int at = random >> 26;
        size_t size = 1 + (random >> 8 & 0xfff);
        unsigned char *block = blocks[at];
        if (block && (block[0] != at || block[sizes[at] - 1] != at)) abort();
        if (random & 64) {
            block = realloc(block, size);
        } else {
            free(block);
            void *into = 0;
            if (random & 128) block = malloc(size);
            else if (posix_memalign(&into, 64, size) == 0) block = into;
        }
        if (!block || malloc_usable_size(block) < size) abort();
        memset(block, at, size);
        blocks[at] = block;
        sizes[at] = size;
    }
    for (int at = 0; at < KEPT; at++) free(blocks[at]);
}

static void *thread(void *number) {
    storm((unsigned)(long)number, 3000);
    return 0;
}

int main(int argc, char **argv) {
    (void)argv;
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, 0);
    pthread_t threads[4];
    for (long number = 0; number < 4; number++)
        if (pthread_create(&threads[number], 0, thread, (void *)number)) return 1;
    for (int child = 0; child < 5; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            storm((unsigned)child + 10, 500);
            if (argc > 1 && child == 2) raise(SIGKILL);
            _exit(0);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        int killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (status != 0 && !(argc > 1 && killed)) return 2;
    }
    if (argc > 1) raise(SIGKILL);
    for (int number = 0; number < 4; number++) pthread_join(threads[number], 0);
    /* What the allocator says is not covered up. */
    errno = 0;
    volatile size_t most = (size_t)-1 / 2;
    if (malloc(most) || errno != ENOMEM) return 3;
    char *kept = malloc(10);
    errno = 0;
    if (realloc(kept, most) || errno != ENOMEM) return 4;
    errno = 7;
    free(kept);
    if (errno != 7 || calloc(most, 4)) return 5;
    puts("ok");
    return 0;
}
