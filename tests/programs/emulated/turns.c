/* Threads that need each other's turns. What is said first chooses. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 3, ITEMS = 400, MOST = 256, WORDS = 1 << 15 };

static void each(int threads, void *(*run)(void *))
{
    pthread_t thread[MOST];
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], 0, run, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(thread[i], 0);
}

/* Two threads, two counters, one line. */
static volatile long counters[8];
static void *increments(void *number)
{
    volatile long *own = &counters[(long)number];
    for (long i = 0; i < 40000; i++)
        ++*own;
    return 0;
}

/* A short queue under a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, freed = PTHREAD_COND_INITIALIZER;
static int queue[4], put, got;
static atomic_long sum;
static void *passes(void *number)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        if ((long)number % 2) {
            while (put - got == 4)
                pthread_cond_wait(&freed, &lock);
            queue[put++ % 4] = i;
            pthread_cond_signal(&filled);
        } else {
            while (put == got)
                pthread_cond_wait(&filled, &lock);
            sum += queue[got++ % 4];
            pthread_cond_signal(&freed);
        }
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static long written;
static void *reads_and_writes(void *number)
{
    (void)number;
    for (int i = 0; i < ITEMS; i++) {
        if (i % 8 == 0) {
            pthread_rwlock_wrlock(&readers);
            ++written;
        } else {
            pthread_rwlock_rdlock(&readers);
        }
        pthread_rwlock_unlock(&readers);
    }
    return 0;
}

static pthread_barrier_t barrier;
static void *meets(void *number)
{
    (void)number;
    for (int i = 0; i < 50; i++)
        pthread_barrier_wait(&barrier);
    return 0;
}

/* With `pause`, by sched_yield, and by nothing. */
static pthread_spinlock_t spinning;
static atomic_int stage;
static long spun;
static void *spins(void *number)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_spin_lock(&spinning);
        ++spun;
        pthread_spin_unlock(&spinning);
    }
    int own = (int)(long)number;
    while (atomic_load_explicit(&stage, memory_order_acquire) != own)
        if (own % 3 == 0)
            sched_yield();
        else if (own % 3 == 1)
            __builtin_ia32_pause();
    atomic_store_explicit(&stage, own + 1, memory_order_release);
    return 0;
}

/* What one thread writes another waits for. */
static int ends[2];
static void *talks(void *number)
{
    char byte = 'x';
    for (int i = 0; i < 50; i++) {
        if (number)
            (void)!write(ends[1], &byte, 1);
        else
            (void)!read(ends[0], &byte, 1);
    }
    return 0;
}

static unsigned array[WORDS];
static void *wanders(void *number)
{
    unsigned long state = (unsigned long)number + 1, found = 0;
    for (int i = 0; i < 3000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        found += array[state >> 49];
    }
    sum += (long)found;
    return 0;
}

/* A process that shares memory with its maker, and is killed at some moment. */
static int until_killed(void *microseconds)
{
    struct itimerval soon = { .it_value = { .tv_usec = (long)microseconds } };
    setitimer(ITIMER_REAL, &soon, 0);
    while (counters[0] >= 0)
        ++counters[0];
    return 0;
}

static void kills(void)
{
    enum { STACK = 1 << 16 };
    char *stack = malloc(STACK);
    int killed = 0;
    for (long i = 1; i <= 12; i++) {
        pid_t child = clone(until_killed, stack + STACK, CLONE_VM | SIGCHLD, (void *)(i * 1700));
        int status = 0;
        for (long k = 0; k < 20000; k++)
            ++counters[1];
        waitpid(child, &status, 0);
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    }
    printf("killed %d\n", killed);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "locks";
    if (!strcmp(what, "line")) {
        each(2, increments);
        printf("%ld %ld\n", counters[0], counters[1]);
    } else if (!strcmp(what, "crowd")) {
        for (int i = 0; i < WORDS; i++)
            array[i] = (unsigned)i;
        each(atoi(words[2]), wanders);
        printf("%ld\n", sum);
    } else if (!strcmp(what, "killed")) {
        kills();
    } else if (!strcmp(what, "waits")) {
        pthread_barrier_init(&barrier, 0, 2 * PAIRS);
        each(2 * PAIRS, passes);
        each(2 * PAIRS, reads_and_writes);
        each(2 * PAIRS, meets);
        printf("%ld %ld\n", sum, written);
    } else {
        pthread_barrier_init(&barrier, 0, 2 * PAIRS);
        pthread_spin_init(&spinning, 0);
        each(2 * PAIRS, passes);
        each(2 * PAIRS, reads_and_writes);
        each(2 * PAIRS, meets);
        each(2 * PAIRS, spins);
        (void)!pipe(ends);
        each(2, talks);
        printf("%ld %ld %ld %d\n", sum, written, spun, stage);
    }
    return 0;
}
