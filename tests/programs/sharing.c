/* sharing [TURNS]: two threads that hand a line of memory back and forth: each
 * turn begins with a load of the line that the other one has written. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    _Alignas(64) volatile long turn;
} line;
static long turns = 2000;

static void *hand_over(void *number)
{
    for (long turn = (long)number; turn < turns; turn += 2) {
        while (line.turn != turn)
            sched_yield();
        line.turn = turn + 1;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (argc > 1)
        turns = atol(argv[1]);
    if (pthread_create(&other, NULL, hand_over, (void *)1))
        return 1;
    hand_over(NULL);
    pthread_join(other, NULL);
    printf("turns %ld\n", line.turn);
    return 0;
}
