/* shared THREADS READS: so many random reads of one array of 4 MB that nobody
 * writes, by so many threads, each its part. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (1 << 20)
static unsigned array[WORDS];
static long part;

static void *reads(void *seed)
{
    unsigned at = (unsigned)(long)seed * 2654435761u + 1, sum = 0;
    for (long i = 0; i < part; i++) {
        at = at * 1664525u + 1013904223u;
        sum += array[at >> 12];
    }
    return (void *)(long)sum;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 1, all = argc > 2 ? atol(argv[2]) : 6000000;
    pthread_t *made = calloc(threads, sizeof *made);
    unsigned sum = 0;
    if (!made || threads < 1) return 1;
    part = all / threads;
    for (unsigned i = 0; i < WORDS; i++) array[i] = i;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&made[i], NULL, reads, (void *)i)) return 1;
    for (long i = 0; i < threads; i++) {
        void *part_sum;
        pthread_join(made[i], &part_sum);
        sum += (unsigned)(long)part_sum;
    }
    printf("%u\n", sum);
    return 0;
}
