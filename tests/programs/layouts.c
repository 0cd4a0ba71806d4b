/* layouts NAME before|after: an object, and the same laid out otherwise, as
 * `ebs causes --try` lays it out in the model. What is accessed, in which order,
 * is the same in both.
 *
 *   rows     256 rows of 2 KiB by columns; after: rows of 64 bytes more
 *   nodes    480 structures 8 KiB apart; after: each a line behind the one before
 *   table    4,096 structures of 64 bytes, at random, from 32 bytes behind a line
 *            on; after: from the begin of a line on
 *   records  the first 8 of 64 bytes of 2,048 structures; after: in an array
 *            of their own
 *   pages    a byte of each of 2,048 pages at random; after: pages of 2 MiB
 *   pair     two threads, each of which adds to a number of its own; after: in
 *            lines of their own
 *
 * stdout: sum SUM. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64

static char rows[256 * 2048] __attribute__((aligned(4096)));
static char longer_rows[256 * (2048 + LINE)] __attribute__((aligned(4096)));
static char nodes[480 * 8192] __attribute__((aligned(8192)));
static char coloured_nodes[481 * 8192] __attribute__((aligned(8192)));
static char records[2048 * 64] __attribute__((aligned(4096)));
static char firsts[2048 * 8] __attribute__((aligned(4096)));
static char pages[8 << 20] __attribute__((aligned(4096)));
static char large_pages[8 << 20] __attribute__((aligned(2 << 20)));
static char aligned_table[4096 * 64] __attribute__((aligned(64)));
static volatile long pair[2] __attribute__((aligned(64)));
static volatile long lines[2][8] __attribute__((aligned(64)));
/* Compilers align what is so large. */
extern char table[];
__asm__(".pushsection .bss\n"
        ".balign 64\n"
        ".skip 32\n"
        ".globl table\n"
        ".type table, @object\n"
        ".size table, 262144\n"
        "table: .skip 262144\n"
        ".popsection\n");

static unsigned long state = 1;

static unsigned long draw(unsigned long below)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % below;
}

__attribute__((noinline)) static unsigned char visit(const char *at)
{
    return *(const volatile unsigned char *)at;
}

static unsigned long by_columns(const char *of, long row)
{
    unsigned long sum = 0;
    for (long column = 0; column < 2048; column += 8)
        for (long step = 0; step < 256; step++)
            sum += visit(of + step * row + column);
    return sum;
}

static unsigned long walk(const char *of, long count, long bytes, long shift)
{
    unsigned long sum = 0;
    for (int round = 0; round < 20; round++)
        for (long step = 0; step < count; step++)
            sum += visit(of + step * bytes + step % 64 * shift);
    return sum;
}

static unsigned long at_random(const char *of, long count, long bytes, long last)
{
    unsigned long sum = 0;
    for (int step = 0; step < 40000; step++) {
        const char *at = of + (long)draw((unsigned long)count) * bytes;
        sum += visit(at);
        sum += visit(at + last);
    }
    return sum;
}

static void *adds(void *number)
{
    volatile long *own = number;
    for (int round = 0; round < 300000; round++)
        ++*own;
    return NULL;
}

static unsigned long add_beside(volatile long *first, volatile long *second)
{
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, adds, (void *)first)
        || pthread_create(&threads[1], NULL, adds, (void *)second))
        return 0;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return (unsigned long)(*first + *second);
}

int main(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[1] : "";
    int after = argc > 2 && !strcmp(argv[2], "after");
    unsigned long sum;
    if (!strcmp(name, "rows"))
        sum = after ? by_columns(longer_rows, 2048 + LINE) : by_columns(rows, 2048);
    else if (!strcmp(name, "nodes"))
        sum = after ? walk(coloured_nodes, 480, 8192, LINE) : walk(nodes, 480, 8192, 0);
    else if (!strcmp(name, "table"))
        sum = at_random(after ? aligned_table : table, 4096, 64, 63);
    else if (!strcmp(name, "records"))
        sum = after ? walk(firsts, 2048, 8, 0) : walk(records, 2048, 64, 0);
    else if (!strcmp(name, "pages")) {
        if (after && madvise(large_pages, sizeof large_pages, MADV_HUGEPAGE))
            return 3;
        sum = at_random(after ? large_pages : pages, 2048, 4096, 0);
    } else if (!strcmp(name, "pair"))
        sum = after ? add_beside(&lines[0][0], &lines[1][0]) : add_beside(&pair[0], &pair[1]);
    else
        return 2;
    printf("sum %lu\n", sum);
    return 0;
}
