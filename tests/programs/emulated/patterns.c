/* patterns stream|columns|pair COUNT: walks 512 KiB line by line, or as 256 x
 * 256 doubles column by column, COUNT times; or makes COUNT steps of two loads at random
 * places of 8 MiB each. Prints where the 512 KiB are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 256
#define LINE 8 /* doubles */
#define LARGE (1u << 20) /* 8 MiB */

static volatile double matrix[SIDE * SIDE] __attribute__((aligned(4096)));
static volatile uint64_t left[LARGE], right[LARGE];

__attribute__((noinline)) static double stream(void)
{
    double sum = 0;
    for (int at = 0; at < SIDE * SIDE; at += LINE)
        sum += matrix[at];
    return sum;
}

__attribute__((noinline)) static double columns(void)
{
    double sum = 0;
    for (int column = 0; column < SIDE; column++)
        for (int row = 0; row < SIDE; row++)
            sum += matrix[row * SIDE + column];
    return sum;
}

__attribute__((noinline)) static uint64_t pair(long steps)
{
    uint64_t sum = 0, state = 88172645463325252ull;
    while (steps--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += left[state % LARGE];
        sum ^= right[state % LARGE];
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "stream";
    long count = argc > 2 ? atol(argv[2]) : 1;
    if (strcmp(what, "pair") == 0) {
        printf("%p %llu\n", (void *)matrix, (unsigned long long)pair(count));
        return 0;
    }
    double sum = 0;
    while (count--)
        sum += strcmp(what, "columns") ? stream() : columns();
    printf("%p %g\n", (void *)matrix, sum);
    return 0;
}
