/* leader: the first thread ends, a second one goes on and ends the process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *none)
{
    char *bytes = calloc(1 << 20, 1);
    long sum = 0;
    for (int round = 0; round < 20; round++)
        for (int at = 0; at < 1 << 20; at += 64)
            sum += ++bytes[at];
    free(bytes);
    printf("sum %ld\n", sum);
    exit(3);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
}
