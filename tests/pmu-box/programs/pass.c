/* Two threads, each on a CPU of its own, that hand a line of memory back and
 * forth: each turn begins with a load that finds the line modified in the
 * other CPU's cache. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define TURNS 4000

static struct {
    _Alignas(64) volatile long turn;
} line;

static void *hand_over(void *number)
{
    long own = (long)number;
    cpu_set_t set;
    int error;
    CPU_ZERO(&set);
    CPU_SET(own, &set);
    error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (error) {
        fprintf(stderr, "pass: CPU %ld: %s\n", own, strerror(error));
        return (void *)1;
    }
    for (long turn = own; turn < TURNS; turn += 2) {
        while (line.turn != turn)
            ;
        line.turn = turn + 1;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long number = 0; number < 2; number++)
        if (pthread_create(&threads[number], NULL, hand_over, (void *)number))
            return 2;
    for (int number = 0; number < 2; number++) {
        void *failed;
        if (pthread_join(threads[number], &failed) || failed)
            return 1;
    }
    return 0;
}
