/* members NAME: accesses to members of known heat.
 *
 *   far      4,096 structures of 192 bytes, of which `first` and `second`, 128 bytes
 *            apart, are read one after the other, at random; NEAR, as a macro when it
 *            is built, puts them side by side
 *   threads  one thread adds to `counted` of each of 64 structures, another one sums
 *            up their `limit`; both are in one line, with APART in two
 *
 * stdout: sum SUM. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct record {
    long first;
#ifdef NEAR
    long second;
#endif
    char name[120];
#ifndef NEAR
    long second;
#endif
    char comment[56];
};

struct entry {
    long limit;
    char label[48];
    long counted;
};

static struct record records[4096] __attribute__((aligned(64)));
static struct entry entries[64] __attribute__((aligned(64)));
static unsigned long state = 1;

static unsigned long draw(unsigned long below)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % below;
}

__attribute__((noinline)) static long look(const struct record *of)
{
    return of->first + of->second;
}

__attribute__((noinline)) static void rename_one(struct record *of)
{
    of->name[0] = 'x';
}

__attribute__((noinline)) static void *adds(void *all)
{
    struct entry *of = all;
    for (int round = 0; round < 50; round++)
        for (int number = 0; number < 64; number++)
            of[number].counted++;
    return NULL;
}

__attribute__((noinline)) static void *sums_up(void *all)
{
    const struct entry *of = all;
    volatile long sum = 0;
    for (int round = 0; round < 50; round++)
        for (int number = 0; number < 64; number++)
            sum += of[number].limit;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    long sum = 0;
    if (!strcmp(name, "far")) {
        for (int step = 0; step < 20000; step++)
            sum += look(&records[draw(4096)]);
        for (int step = 0; step < 100; step++)
            rename_one(&records[draw(4096)]);
    } else if (!strcmp(name, "threads")) {
        pthread_t threads[2];
        if (pthread_create(&threads[0], NULL, adds, entries)
            || pthread_create(&threads[1], NULL, sums_up, entries))
            return 3;
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        for (int number = 0; number < 64; number++)
            sum += entries[number].counted;
    } else
        return 2;
    printf("sum %ld\n", sum);
    return 0;
}
