/* Blocks of C's allocator whose pages are touched for the first time: every function, growing
 * ones, addresses that are used again, blocks that other threads and a child use. What the kernel
 * tells of each is a page fault, as many as are printed at the end, `heap_pages.c:LINE COUNT`. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_LINES = 256, LARGE = 300 << 10 };
static long *of_line;

/* One page is one fault: `to` and what is behind it are the block's, `from` not its header's. */
static __attribute__((noinline)) void touch(void *block, size_t from, size_t to, int line) {
    uintptr_t first = ((uintptr_t)block + from + PAGE - 1) / PAGE * PAGE;
    for (uintptr_t at = first; at < (uintptr_t)block + to; at += PAGE) {
        *(volatile char *)at = 1;
        __atomic_add_fetch(&of_line[line], 1, __ATOMIC_RELAXED);
    }
}

/* The same address, asked for by two lines in turn. */
static void reused(void) {
    for (int round = 0; round < 8; round++) {
        char *one = malloc(LARGE);
        touch(one, 1, LARGE, __LINE__ - 1);
        free(one);
        char *other = malloc(LARGE);
        touch(other, 1, LARGE / 2, __LINE__ - 1);
        free(other);
    }
}

static void of_each_function(void) {
    char *items = calloc(300, 1024);
    touch(items, 1, 300 << 10, __LINE__ - 1);
    char *aligned = aligned_alloc(64, LARGE);
    touch(aligned, 1, LARGE, __LINE__ - 1);
    char *old = memalign(128, LARGE);
    touch(old, 1, LARGE / 3, __LINE__ - 1);
    void *into = 0;
    if (posix_memalign(&into, 256, LARGE)) exit(1);
    touch(into, 1, LARGE / 4, __LINE__ - 1);
    char *array = reallocarray(0, 100, 4096);
    touch(array, 1, 400 << 10, __LINE__ - 1);
    free(items), free(aligned), free(old), free(into), free(array);
}

/* Pages that were touched come along: those behind them are of the line that grew it. */
static void growing(void) {
    size_t size = LARGE;
    char *grown = malloc(size);
    touch(grown, 1, size, __LINE__ - 1);
    char *between[12];
    for (int step = 0; step < 12; step++) {
        size_t before = size;
        size += 20 << 10;
        grown = realloc(grown, size);
        touch(grown, before, size, __LINE__ - 1);
        between[step] = malloc(LARGE);
        touch(between[step], 1, 20 << 10, __LINE__ - 1);
    }
    free(grown);
    for (int step = 0; step < 12; step++) free(between[step]);
}

/* Threads free what others asked for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *queue[4];

static void *worker(void *number) {
    for (int round = 0; round < 20; round++) {
        char *mine = malloc(LARGE);
        touch(mine, 1, 80 << 10, __LINE__ - 1);
        pthread_mutex_lock(&lock);
        char *taken = queue[(round + (long)number) % 4];
        queue[(round + (long)number) % 4] = mine;
        pthread_mutex_unlock(&lock);
        free(taken);
    }
    return 0;
}

int main(void) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    of_line = mmap(0, MOST_LINES * sizeof(long), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (of_line == MAP_FAILED) return 1;
    memset(of_line, 0, MOST_LINES * sizeof(long));
    reused();
    of_each_function();
    growing();
    pthread_t threads[4];
    for (long number = 0; number < 4; number++)
        pthread_create(&threads[number], 0, worker, (void *)number);
    for (int number = 0; number < 4; number++) pthread_join(threads[number], 0);
    char *shared = malloc(LARGE);
    int line = __LINE__ - 1;
    touch(shared, 1, LARGE / 2, line);
    fflush(stdout);
    if (fork() == 0) {
        /* The sums are mapped, but its pages are not. */
        for (int at = 0; at < MOST_LINES; at += PAGE / sizeof(long)) *(volatile long *)&of_line[at];
        *(volatile long *)of_line = 0;
        /* Copies on write, and pages that neither had. */
        touch(shared, 1, LARGE, line);
        free(shared);
        char *own = malloc(LARGE);
        touch(own, 1, LARGE, __LINE__ - 1);
        _exit(0);
    }
    wait(0);
    for (int at = 0; at < MOST_LINES; at++)
        if (of_line[at]) printf("heap_pages.c:%d %ld\n", at, of_line[at]);
    return 0;
}
