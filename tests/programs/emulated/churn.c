/* churn [THREADS]: threads that live for a moment, with data of their own,
 * barriers, cancellation; ends while others spin. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __thread uint64_t own = 5;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t sum;
static int turn, ended;
static pthread_key_t key;

static void on_end(void *value)
{
    __atomic_fetch_add(&ended, (int)(intptr_t)value, __ATOMIC_SEQ_CST);
}

static void *brief(void *number)
{
    pthread_setspecific(key, (void *)1);
    for (intptr_t i = 0; i < 100; i++)
        own += (uint64_t)(intptr_t)number * (uint64_t)i;
    pthread_mutex_lock(&lock);
    sum += own;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *in_turn(void *number)
{
    int mine = (int)(intptr_t)number;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 4 != mine)
            pthread_cond_wait(&changed, &lock);
        turn++;
        sum = sum * 3 + (uint64_t)mine;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void clean(void *value)
{
    *(int *)value += 1;
}

static void *cancelled(void *value)
{
    pthread_cleanup_push(clean, value);
    for (;;)
        sleep(100);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *spin(void *unused)
{
    (void)unused;
    for (volatile uint64_t i = 0;; i++)
        ;
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 400;
    pthread_key_create(&key, on_end);
    for (int i = 0; i < count; i += 8) {
        pthread_t threads[8];
        for (intptr_t k = 0; k < 8; k++)
            pthread_create(&threads[k], NULL, brief, (void *)(i + k));
        for (int k = 0; k < 8; k++)
            pthread_join(threads[k], NULL);
    }
    printf("brief sum %llu ended %d\n", (unsigned long long)sum, ended);
    pthread_barrier_init(&barrier, NULL, 5);
    for (intptr_t k = 0; k < 4; k++) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_turn, (void *)k);
        pthread_detach(thread);
    }
    pthread_barrier_wait(&barrier);
    printf("in turn %llu\n", (unsigned long long)sum);
    int cleaned = 0;
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, cancelled, &cleaned);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    printf("cleaned %d\n", cleaned);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, spin, NULL);
    }
    usleep(10000);
    fflush(stdout);
    _exit(17);
}
