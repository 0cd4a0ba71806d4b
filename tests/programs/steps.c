// Touches fresh pages when it is told to, so that which of its page faults are
// recorded tells when sampling was on. Each step has pages of its own, in the
// order of the steps.
//
// First it prints the address of the first page. Then it does what it reads,
// a line each, and prints "done" after it:
//   touch N    the main thread touches N pages
//   thread N   a new thread does, and ends
//   fork N     a new process does, and ends
//   held N     a thread that has been there from the start does
// It ends where its input does, or at "end 0".
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES (1L << 16)

static volatile char *region;
static long page, next;

__attribute__((noinline)) static void touch(long pages)
{
    for (long end = next + pages; next < end && next < PAGES; next++)
        region[next * page] = 1;
}

static void *once(void *pages)
{
    touch((long)pages);
    return 0;
}

static pthread_barrier_t told, did;
static long held;

static void *standing(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&told);
        touch(held);
        pthread_barrier_wait(&did);
    }
    return unused;
}

static int step(const char *what, long pages)
{
    pthread_t thread;
    if (!strcmp(what, "touch")) {
        touch(pages);
    } else if (!strcmp(what, "thread")) {
        if (pthread_create(&thread, 0, once, (void *)pages))
            return 1;
        pthread_join(thread, 0);
    } else if (!strcmp(what, "fork")) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            touch(pages);
            _exit(0);
        }
        waitpid(child, 0, 0);
        next += pages;
    } else if (!strcmp(what, "end")) {
        printf("done\n");
        fflush(stdout);
        exit(0);
    } else if (!strcmp(what, "held")) {
        held = pages;
        pthread_barrier_wait(&told);
        pthread_barrier_wait(&did);
    } else {
        return 1;
    }
    return 0;
}

int main(void)
{
    char line[64], what[16];
    long pages;
    pthread_t thread;
    page = sysconf(_SC_PAGESIZE);
    region = mmap(0, PAGES * page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        return 1;
    madvise((void *)region, PAGES * page, MADV_NOHUGEPAGE);
    pthread_barrier_init(&told, 0, 2);
    pthread_barrier_init(&did, 0, 2);
    if (pthread_create(&thread, 0, standing, 0))
        return 1;
    printf("%p\n", (void *)region);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%15s %ld", what, &pages) != 2 || step(what, pages)) {
            fprintf(stderr, "steps: no step, or one that failed: %s", line);
            return 1;
        }
        printf("done\n");
        fflush(stdout);
    }
    return 0;
}
