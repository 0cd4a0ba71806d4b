/* Threads that each make one short-lived thread after the other, until a
 * line comes in. Argument: how many. Prints an empty line once all run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int stop;

static void *nothing(void *unused)
{
    return unused;
}

static void *make(void *unused)
{
    pthread_t brief;
    while (!stop) {
        if (pthread_create(&brief, 0, nothing, 0))
            exit(2);
        pthread_join(brief, 0);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t *makers = calloc(count, sizeof *makers);
    for (int i = 0; i < count; i++)
        if (pthread_create(&makers[i], 0, make, 0))
            return 1;
    puts("");
    fflush(stdout);
    getchar();
    stop = 1;
    for (int i = 0; i < count; i++)
        pthread_join(makers[i], 0);
    return 0;
}
