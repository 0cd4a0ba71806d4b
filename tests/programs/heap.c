/* Blocks of C's allocator: every function, growing ones, addresses that are used
 * again, blocks that other threads and a child use. */
#define _GNU_SOURCE
#include "heap.h"
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same address, asked for by two lines in turn. */
static void reused(void) {
    for (int round = 0; round < 20; round++) {
        void *one = malloc(100);
        written(one, 100, __LINE__ - 1, 7);
        free(one);
        void *other = malloc(100);
        written(other, 100, __LINE__ - 1, 5);
        free(other);
    }
}

static void of_each_function(void) {
    void *items = calloc(30, 40);
    written(items, 1200, __LINE__ - 1, 31);
    void *aligned = aligned_alloc(64, 640);
    written(aligned, 640, __LINE__ - 1, 32);
    void *old = memalign(128, 100);
    written(old, 100, __LINE__ - 1, 33);
    void *into = 0;
    if (posix_memalign(&into, 256, 300)) exit(1);
    written(into, 300, __LINE__ - 1, 34);
    void *array = reallocarray(0, 10, 12);
    written(array, 120, __LINE__ - 1, 35);
    void *large = malloc(1 << 20);
    written(large, 1 << 20, __LINE__ - 1, 36);
    void *copy = strdup("a copy that libc asks for");
    if (!copy) exit(1);
    free(items), free(aligned), free(old), free(into), free(array), free(large), free(copy);
}

/* A chain of sizes: in place, moved, and beside others. */
static void growing(void) {
    char *grown = 0;
    void *between[40] = {0};
    for (int step = 1; step < 40; step++) {
        grown = realloc(grown, (size_t)step * 200);
        written(grown, (size_t)step * 200, __LINE__ - 1, step);
        between[step] = malloc(64);
        written(between[step], 64, __LINE__ - 1, 2);
    }
    grown = realloc(grown, 50);
    written(grown, 50, __LINE__ - 1, 11);
    free(grown);
    for (int step = 1; step < 40; step++) free(between[step]);
}

/* Threads give each other blocks, which are freed by others than asked for them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { void *block; int line; } queue[64];
static int queued;

static void *worker(void *number) {
    for (int round = 0; round < 60; round++) {
        void *mine = malloc(80);
        int line = __LINE__ - 1;
        if ((long)number & 1) {
            free(mine);
            mine = calloc(1, 80);
            line = __LINE__ - 1;
        }
        written(mine, 80, line, 3);
        pthread_mutex_lock(&lock);
        void *taken = mine;
        int of = line;
        if (queued < 32) {
            queue[queued].block = mine;
            queue[queued++].line = line;
            taken = queue[0].block;
            of = queue[0].line;
            queue[0] = queue[--queued];
        }
        pthread_mutex_unlock(&lock);
        written(taken, 80, of, 2);
        free(taken);
    }
    return 0;
}

int main(void) {
    begin();
    reused();
    of_each_function();
    growing();
    pthread_t threads[4];
    for (long number = 0; number < 4; number++)
        pthread_create(&threads[number], 0, worker, (void *)number);
    for (int number = 0; number < 4; number++) pthread_join(threads[number], 0);
    void *shared = malloc(500);
    int line = __LINE__ - 1;
    if (fork() == 0) {
        written(shared, 500, line, 21);
        free(shared);
        void *own = malloc(500);
        written(own, 500, __LINE__ - 1, 22);
        _exit(0);
    }
    wait(0);
    written(shared, 500, line, 23);
    tell("heap.c");
    return 0;
}
