/* rounds KIB TIMES [INNER INNER_TIMES]: goes TIMES round KIB of memory, line by line;
 * before each round INNER_TIMES round other INNER KiB. All of it is read, and nothing
 * else is, but for the stack and the way here.
 *
 * stdout: sum SUM. */
#include <stdio.h>
#include <stdlib.h>

#define LINE 64
#define KIB 1024L

static char outer[8192 * KIB] __attribute__((aligned(4096)));
static char inner[8192 * KIB] __attribute__((aligned(4096)));

__attribute__((noinline)) static unsigned long go_round(const char *memory, long kib, long times)
{
    unsigned long sum = 0;
    for (long time = 0; time < times; time++)
        for (long at = 0; at < kib * KIB; at += LINE)
            sum += *(const volatile unsigned char *)(memory + at);
    return sum;
}

static long number(char **words, int count, int at)
{
    long value = at < count ? atol(words[at]) : 0;
    if (value < 0 || value > 8192) {
        fprintf(stderr, "%s: from 0 to 8192\n", words[at]);
        exit(2);
    }
    return value;
}

int main(int count, char **words)
{
    unsigned long sum = 0;
    long kib = number(words, count, 1), times = number(words, count, 2);
    long inner_kib = number(words, count, 3), inner_times = number(words, count, 4);
    for (long time = 0; time < times; time++) {
        sum += go_round(inner, inner_kib, inner_times);
        sum += go_round(outer, kib, 1);
    }
    printf("sum %lu\n", sum);
    return 0;
}
