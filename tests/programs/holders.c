/* Objects of each kind, and where they lie: "holder START END NAME".
 *
 * touch() reads and writes objects that others hold: statics, blocks of the heap, variables of
 * the frames of its callers, and of another thread's. All of them live at once, so that an
 * address is of one of them alone while touch() runs. memset(3) is called on them, too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noipa))
#define LENGTH 24
#define ROUNDS 20

#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline, optnone))
#endif

struct pair { long first, second; };

static long counted[LENGTH];
static __thread long own[LENGTH];
static void *(*volatile set)(void *, int, size_t) = memset;

NOINLINE static void touch(long *of, long by) {
    for (int i = 0; i < LENGTH; i++) of[i] += by;
}

NOINLINE static void holder(const void *of, size_t size, const char *name) {
    printf("holder %p %p %s\n", of, (void *)((char *)of + size), name);
}

NOINLINE static long inner(long *of_main, long *of_outer) {
    struct pair pairs[LENGTH / 2];
    set(pairs, 0, sizeof pairs);
    for (int i = 0; i < ROUNDS; i++) {
        touch(of_main, i), touch(of_outer, i), touch((long *)pairs, i);
        set(of_outer, i, LENGTH * sizeof *of_outer);
    }
    holder(pairs, sizeof pairs, "pairs in the frame of inner");
    return pairs[1].second;
}

NOINLINE static long outer(long *of_main, int depth) {
    long before[3], here[LENGTH], after[2];
    before[0] = depth, after[1] = depth;
    set(here, 1, sizeof here);
    long sum = inner(of_main, here);
    touch(here, before[0] + after[1]);
    holder(here, sizeof here, "here in the frame of outer");
    return sum + here[depth];
}

struct work { long *of_main, *in_thread; };

NOINLINE static void work(struct work *work) {
    long mine[LENGTH] = {0};
    for (int i = 0; i < ROUNDS; i++) touch(mine, i), touch(work->of_main, i), touch(own, i);
    holder(mine, sizeof mine, "mine in the frame of work");
    holder(own, sizeof own, "own of thread");
}

static void *start(void *of) {
    work(of);
    return NULL;
}

int main(void) {
    long shared[LENGTH] = {0}, given[LENGTH] = {0};
    long *block = calloc(LENGTH, sizeof *block);
    for (int i = 0; i < ROUNDS; i++) touch(counted, i), touch(block, i), touch(own, i);
    long sum = outer(shared, 2);
    struct work work = {given, NULL};
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, &work)) return 1;
    pthread_join(thread, NULL);
    holder(counted, sizeof counted, "counted");
    holder(block, LENGTH * sizeof *block, "block from main");
    holder(shared, sizeof shared, "shared in the frame of main");
    holder(given, sizeof given, "stack of thread");
    holder(own, sizeof own, "own of thread");
    return sum == -1;
}
