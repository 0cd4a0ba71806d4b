/* threads THREADS FORKS PAGES: threads and processes that live for a moment.
 *
 * It writes `ready`, then makes and ends threads and children without pause,
 * each touching one fresh page at `early`, until a line comes on stdin. Then
 * come THREADS threads and FORKS children, each touching PAGES fresh pages at
 * `late`. No page is ever touched twice, in whatever process, so a record
 * counted twice shows as an address that comes twice. In the first part a
 * fork may protect a page between its fault and the write, which then faults
 * again, at another time; in the second no thread runs beside a fork.
 * Before and behind the second part, the main thread touches a page each at
 * `mark`. What the kernel counted between is told, with the truth:
 *   early ADDRESS / late ADDRESS / mark ADDRESS / base ADDRESS
 *   early_pages COUNT / late_pages COUNT / kernel COUNT
 * The late pages begin at base. */
#define _GNU_SOURCE
#include "kernel_count.h"
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define EARLY_BASE 0x300000000000ULL
#define LATE_BASE 0x320000000000ULL
#define MARK_BASE 0x340000000000ULL
#define MOST_EARLY (1ULL << 24)
#define AT_ONCE 4

extern char early_site[] __asm__(".Learly_site");
extern char late_site[] __asm__(".Llate_site");
extern char mark_site[] __asm__(".Lmark_site");
static uint64_t pages_each;

#define TOUCH(which, address)                                                                      \
    __asm__ volatile("call " #which "_touch" : : "D"(address) : "memory", "cc")
#define SITE(which)                                                                                \
    ".type " #which "_touch, @function\n" #which "_touch:\n.L" #which                              \
    "_site: movb $1, (%rdi)\nret\n.size " #which "_touch, . - " #which "_touch\n"

__asm__(".pushsection .text.sites, \"ax\"\n.balign 64\n"
        SITE(early) SITE(late) SITE(mark)
        ".popsection\n");

static void reserve(uint64_t base, uint64_t pages)
{
    void *got = mmap((void *)base, pages * 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != (void *)base || madvise(got, pages * 4096, MADV_NOHUGEPAGE)) {
        perror("threads: mmap");
        exit(1);
    }
}

static void *early(void *address)
{
    TOUCH(early, address);
    return NULL;
}

static void *late(void *base)
{
    for (uint64_t page = 0; page < pages_each; page++)
        TOUCH(late, (char *)base + page * 4096);
    return NULL;
}

static void in_thread(pthread_t *thread, void *(*body)(void *), uint64_t address)
{
    if (pthread_create(thread, NULL, body, (void *)address)) {
        perror("threads: pthread_create");
        exit(1);
    }
}

static void in_child(void *(*body)(void *), uint64_t address)
{
    pid_t child = fork();
    if (child == 0) {
        body((void *)address);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child) {
        perror("threads: fork");
        exit(1);
    }
}

static int told_to_go(void)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    return poll(&in, 1, 0) != 0;
}

int main(int argc, char **argv)
{
    uint64_t threads = argc > 1 ? strtoull(argv[1], NULL, 0) : 200;
    uint64_t forks = argc > 2 ? strtoull(argv[2], NULL, 0) : 50;
    pages_each = argc > 3 ? strtoull(argv[3], NULL, 0) : 10;
    int count = kernel_count_open();
    reserve(EARLY_BASE, MOST_EARLY);
    reserve(LATE_BASE, (threads + forks) * pages_each + 1);
    reserve(MARK_BASE, 2);
    if (write(1, "ready\n", 6) != 6)
        return 1;

    uint64_t early_pages = 0;
    pthread_t alive[AT_ONCE];
    while (!told_to_go() && early_pages + AT_ONCE < MOST_EARLY) {
        for (int i = 0; i < AT_ONCE; i++)
            in_thread(&alive[i], early, EARLY_BASE + early_pages++ * 4096);
        in_child(early, EARLY_BASE + early_pages++ * 4096);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(alive[i], NULL);
    }

    /* What the first read of a count maps in is not to fault between the mark
     * and the count. */
    kernel_count_read(count);
    TOUCH(mark, MARK_BASE);
    int64_t before = kernel_count_read(count);
    uint64_t next = LATE_BASE;
    for (uint64_t done = 0; done < threads;) {
        uint64_t now = threads - done < AT_ONCE ? threads - done : AT_ONCE;
        for (uint64_t i = 0; i < now; i++, next += pages_each * 4096)
            in_thread(&alive[i], late, next);
        for (uint64_t i = 0; i < now; i++)
            pthread_join(alive[i], NULL);
        done += now;
        if (forks) {
            in_child(late, next);
            next += pages_each * 4096;
            forks--;
        }
    }
    for (; forks; forks--, next += pages_each * 4096)
        in_child(late, next);
    int64_t after = kernel_count_read(count);
    TOUCH(mark, MARK_BASE + 4096);

    printf("early %p\nlate %p\nmark %p\nbase 0x%llx\n", (void *)early_site, (void *)late_site,
           (void *)mark_site, LATE_BASE);
    printf("early_pages %" PRIu64 "\nlate_pages %" PRIu64 "\nkernel %" PRId64 "\n", early_pages,
           (uint64_t)((next - LATE_BASE) / 4096), before < 0 ? -1 : after - before);
    return 0;
}
