/* patterns NAME: one way to go through memory, of which cachegrind knows how
 * many misses a fully associative cache would spare. Memory is made first.
 *
 *   stream   512 KiB, line by line, four times
 *   nodes    64 structures 8 KiB apart, in one set, twenty times
 *   columns  256 rows of 2 KiB, by columns of 8 bytes
 *   padded   the same with rows of 2 KiB and 64 bytes
 *   random   256 KiB, lines at random
 *   pages    1,024 pages, the first line of each, at random: one set
 *   edge     512 structures 8 KiB apart, four times: as large as the cache
 *
 * stdout: sum SUM. */
#include <stdio.h>
#include <string.h>

#define LINE 64

static char memory[1024 * 8192] __attribute__((aligned(8192)));
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

static unsigned long steps(long count, long bytes, int rounds)
{
    unsigned long sum = 0;
    for (int round = 0; round < rounds; round++)
        for (long step = 0; step < count; step++)
            sum += visit(memory + step * bytes);
    return sum;
}

static unsigned long columns(long row)
{
    unsigned long sum = 0;
    for (long column = 0; column < 2048; column += 8)
        for (long step = 0; step < 256; step++)
            sum += visit(memory + step * row + column);
    return sum;
}

static unsigned long at_random(long count, long bytes)
{
    unsigned long sum = 0;
    for (int step = 0; step < 40000; step++)
        sum += visit(memory + draw((unsigned long)count) * bytes);
    return sum;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    unsigned long sum;
    memset(memory, 1, sizeof memory);
    if (!strcmp(name, "stream"))
        sum = steps(8192, LINE, 4);
    else if (!strcmp(name, "nodes"))
        sum = steps(64, 8192, 20);
    else if (!strcmp(name, "edge"))
        sum = steps(512, 8192, 4);
    else if (!strcmp(name, "columns"))
        sum = columns(2048);
    else if (!strcmp(name, "padded"))
        sum = columns(2048 + LINE);
    else if (!strcmp(name, "random"))
        sum = at_random(4096, LINE);
    else if (!strcmp(name, "pages"))
        sum = at_random(1024, 4096);
    else
        return 2;
    printf("sum %lu\n", sum);
    return 0;
}
