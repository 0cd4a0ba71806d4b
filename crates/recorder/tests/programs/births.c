/* Threads and children that each touch pages of their own, born before,
 * during and after somebody attaches.
 *
 * Prints the first page's address and the page size. Then, until a line
 * comes in, it keeps making short-lived threads, and EARLY threads and FORKS
 * children that wait. After the line those wake, and LATE threads and FORKS
 * more children are made; each of all these touches PAGES pages of its own.
 * Order of the pages: early threads, late threads, early children, late
 * children. Prints how many early threads and children there were, and ends
 * when all have. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EARLY = 100, LATE = 100, FORKS = 25, PAGES = 5 };

static char *memory;
static long page_size;
static volatile int *go; /* shared with the children */
static int busy;

static void touch(long task)
{
    for (long i = 0; i < PAGES; i++)
        *(volatile char *)(memory + (task * PAGES + i) * page_size) = 1;
}

static void *wait_and_touch(void *task)
{
    while (!*go)
        if (!busy)
            usleep(500);
    touch((long)task);
    return 0;
}

static void *touch_at_once(void *task)
{
    touch((long)task);
    return 0;
}

static void *nothing(void *unused)
{
    return unused;
}

static void child(long task, int waits)
{
    if (fork())
        return;
    while (waits && !*go)
        usleep(500);
    touch(task);
    _exit(0);
}

static void *listen_for_line(void *unused)
{
    getchar();
    *go = 1;
    return unused;
}

int main(int argc, char **argv)
{
    static pthread_t early[EARLY], late[LATE];
    pthread_t listener, brief;
    long tasks = EARLY + LATE + 2 * FORKS, threads = 0, children = 0;
    busy = argc > 1 && argv[1][0] == 'b';
    page_size = sysconf(_SC_PAGESIZE);
    /* Shared: a fork that write-protects a private page between a fault and
     * its retry makes that page fault twice. */
    memory = mmap(0, tasks * PAGES * page_size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    go = mmap(0, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || go == MAP_FAILED)
        return 1;
    madvise(memory, tasks * PAGES * page_size, MADV_NOHUGEPAGE);
    printf("%p %ld\n", (void *)memory, page_size);
    fflush(stdout);
    pthread_create(&listener, 0, listen_for_line, 0);
    while (!*go) {
        if (pthread_create(&brief, 0, nothing, 0))
            return 2;
        pthread_join(brief, 0);
        if (threads < EARLY && (!busy || threads < 4) &&
            pthread_create(&early[threads], 0, wait_and_touch, (void *)threads) == 0)
            threads++;
        if (threads % 4 == 0 && children < FORKS)
            child(EARLY + LATE + children++, 1);
        usleep(50);
    }
    for (long i = 0; i < LATE; i++) {
        pthread_create(&late[i], 0, touch_at_once, (void *)(EARLY + i));
        if (i < FORKS)
            child(EARLY + LATE + FORKS + i, 0);
    }
    for (long i = 0; i < threads; i++)
        pthread_join(early[i], 0);
    for (long i = 0; i < LATE; i++)
        pthread_join(late[i], 0);
    while (wait(0) > 0)
        ;
    printf("%ld %ld\n", threads, children);
    return 0;
}
