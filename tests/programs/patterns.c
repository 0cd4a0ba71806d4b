/* patterns NAME [TIMES]: one way to go through memory, whose cause is known; of
 * most cachegrind knows how many misses a fully associative cache would spare.
 * What is used is written once before, but for `first`. TIMES does it so many times over.
 *
 *   stream   512 KiB, line by line, four times
 *   once     2 MiB, line by line, once
 *   first    512 KiB that nobody touched before, once; further on each time
 *   nodes    64 structures 8 KiB apart, in one set, twenty times
 *   below    480 of them, ten times: a little less than the cache
 *   edge     512 of them: as large as the cache
 *   above    600 of them: larger than the cache by more than a tenth
 *   columns  256 rows of 2 KiB, by columns of 8 bytes
 *   padded   the same with rows of 2 KiB and 64 bytes
 *   product  of two matrices of 48 numbers in rows of 2 KiB, the second by columns
 *   random   256 KiB, lines at random
 *   wide     1 MiB, lines at random
 *   pages    768 pages, the first line of each, at random: one set
 *   chase    a list of 4,096 nodes of a line, in no order, five times
 *   reach    2,048 pages, a line of each, four times
 *   split    8 bytes of which 4 lie behind the end of a line, 512 times
 *   forward  writes 4 bytes and reads 8 there, 512 times
 *
 * stdout: sum SUM. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64
#define KIB 1024L
#define SIDE 48
#define ROW 256

static char memory[8192 * KIB] __attribute__((aligned(8192)));
static char untouched[524288 * KIB] __attribute__((aligned(8192)));
static double left[SIDE][ROW] __attribute__((aligned(4096)));
static double right[SIDE][ROW] __attribute__((aligned(4096)));
static double result[SIDE][ROW] __attribute__((aligned(4096)));
static long times = 1;
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

static unsigned long steps(long count, long bytes, long rounds)
{
    unsigned long sum = 0;
    for (long round = 0; round < rounds * times; round++)
        for (long step = 0; step < count; step++)
            sum += visit(memory + step * bytes);
    return sum;
}

static unsigned long first(void)
{
    unsigned long sum = 0;
    for (long step = 0; step < 8192 * times && step * LINE < (long)sizeof untouched; step++)
        sum += visit(untouched + step * LINE) + 1;
    return sum;
}

static unsigned long columns(long row)
{
    unsigned long sum = 0;
    for (long time = 0; time < times; time++)
        for (long column = 0; column < 2048; column += 8)
            for (long step = 0; step < 256; step++)
                sum += visit(memory + step * row + column);
    return sum;
}

static unsigned long at_random(long count, long bytes)
{
    unsigned long sum = 0;
    for (long step = 0; step < 40000 * times; step++)
        sum += visit(memory + draw((unsigned long)count) * bytes);
    return sum;
}

__attribute__((noinline)) static void multiply(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            double sum = 0;
            for (int step = 0; step < SIDE; step++)
                sum += left[row][step] * right[step][column];
            result[row][column] = sum;
        }
}

static unsigned long product(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            left[row][column] = row;
            right[row][column] = column;
        }
    for (long time = 0; time < times; time++)
        multiply();
    return (unsigned long)result[1][1];
}

static struct node {
    struct node *next;
    long value;
    char rest[LINE - 16];
} *nodes = (struct node *)memory;

__attribute__((noinline)) static unsigned long walk(const struct node *node)
{
    unsigned long sum = 0;
    do {
        sum += (unsigned long)node->value;
        node = node->next;
    } while (node != nodes);
    return sum;
}

static unsigned long chase(long count)
{
    /* One circle through all of them (Sattolo 1986). */
    static int order[4096];
    unsigned long sum = 0;
    for (int index = 0; index < count; index++)
        order[index] = index;
    for (long index = count - 1; index > 0; index--) {
        long other = (long)draw((unsigned long)index);
        int kept = order[index];
        order[index] = order[other];
        order[other] = kept;
    }
    for (long index = 0; index < count; index++)
        nodes[order[index]].next = &nodes[order[(index + 1) % count]];
    for (long round = 0; round < 5 * times; round++)
        sum += walk(nodes);
    return sum;
}

static unsigned long reach(void)
{
    unsigned long sum = 0;
    for (long round = 0; round < 4 * times; round++)
        for (long page = 0; page < 2048; page++)
            sum += visit(memory + page * 4096 + page % 64 * LINE);
    return sum;
}

__attribute__((noinline)) static unsigned long visit_long(const char *at)
{
    return *(const volatile unsigned long __attribute__((aligned(1))) *)at;
}

static unsigned long split(void)
{
    unsigned long sum = 0;
    for (long step = 0; step < 512 * times; step++)
        sum += visit_long(memory + step % 512 * LINE + LINE - 4);
    return sum;
}

__attribute__((noinline)) static unsigned long write_and_read(char *at, unsigned number)
{
    *(volatile unsigned *)at = number;
    return *(const volatile unsigned long *)at;
}

static unsigned long forward(void)
{
    unsigned long sum = 0;
    for (long step = 0; step < 512 * times; step++)
        sum += write_and_read(memory + step % 512 * LINE, (unsigned)step);
    return sum;
}

static void make(long count, long bytes)
{
    for (long step = 0; step < count; step++)
        memory[step * bytes] = 1;
}

static int run(const char *name, unsigned long *sum)
{
    if (!strcmp(name, "stream"))
        make(8192, LINE), *sum = steps(8192, LINE, 4);
    else if (!strcmp(name, "once"))
        make(32768, LINE), *sum = steps(32768, LINE, 1);
    else if (!strcmp(name, "first"))
        *sum = first();
    else if (!strcmp(name, "nodes"))
        make(64, 8192), *sum = steps(64, 8192, 20);
    else if (!strcmp(name, "below"))
        make(480, 8192), *sum = steps(480, 8192, 10);
    else if (!strcmp(name, "edge"))
        make(512, 8192), *sum = steps(512, 8192, 10);
    else if (!strcmp(name, "above"))
        make(600, 8192), *sum = steps(600, 8192, 10);
    else if (!strcmp(name, "columns"))
        make(8192, LINE), *sum = columns(2048);
    else if (!strcmp(name, "padded"))
        make(8448, LINE), *sum = columns(2048 + LINE);
    else if (!strcmp(name, "product"))
        *sum = product();
    else if (!strcmp(name, "random"))
        make(4096, LINE), *sum = at_random(4096, LINE);
    else if (!strcmp(name, "wide"))
        make(16384, LINE), *sum = at_random(16384, LINE);
    else if (!strcmp(name, "pages"))
        make(768, 4096), *sum = at_random(768, 4096);
    else if (!strcmp(name, "chase"))
        make(4096, LINE), *sum = chase(4096);
    else if (!strcmp(name, "reach"))
        make(131072, LINE), *sum = reach();
    else if (!strcmp(name, "split"))
        make(640, LINE), *sum = split();
    else if (!strcmp(name, "forward"))
        make(640, LINE), *sum = forward();
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    unsigned long sum;
    if (argc > 2)
        times = atol(argv[2]);
    if (argc < 2 || !run(argv[1], &sum))
        return 2;
    printf("sum %lu\n", sum);
    return 0;
}
