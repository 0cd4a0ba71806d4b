/* locks queue|rwlock: threads that wait for each other. A bounded queue of
 * two producers and three consumers under a mutex and conditions, or readers
 * and writers of a table under a lock; what comes out does not depend on who
 * was when. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS = 20000, ROOM = 8, TABLE = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long queue[ROOM], taken;
static int first, count;

static void *producer(void *number)
{
    for (long item = 0; item < ITEMS; item++) {
        pthread_mutex_lock(&mutex);
        while (count == ROOM) pthread_cond_wait(&emptied, &mutex);
        queue[(first + count++) % ROOM] = item * 2 + (long)number;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *consumer(void *sum)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (count == 0 && taken < 2 * ITEMS) pthread_cond_wait(&filled, &mutex);
        if (count == 0) {
            pthread_cond_broadcast(&filled);
            pthread_mutex_unlock(&mutex);
            return NULL;
        }
        *(long *)sum += queue[first];
        first = (first + 1) % ROOM;
        count--;
        if (++taken == 2 * ITEMS) pthread_cond_broadcast(&filled);
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
    }
}

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long table[TABLE];

static void *writer(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        pthread_rwlock_wrlock(&lock);
        for (int j = 0; j < TABLE; j++) table[j]++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static void *reader(void *torn)
{
    for (int i = 0; i < 6000; i++) {
        pthread_rwlock_rdlock(&lock);
        for (int j = 1; j < TABLE; j++) *(long *)torn += table[j] != table[0];
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int is_queue = argc > 1 && strcmp(argv[1], "queue") == 0;
    void *(*some)(void *) = is_queue ? producer : writer, *(*others)(void *) = is_queue ? consumer : reader;
    pthread_t threads[5];
    long results[3] = {0};
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, some, (void *)i);
    for (int i = 0; i < 3; i++) pthread_create(&threads[2 + i], NULL, others, &results[i]);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld %ld\n", results[0] + results[1] + results[2], taken, table[TABLE - 1]);
    return 0;
}
