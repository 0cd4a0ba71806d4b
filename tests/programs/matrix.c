/* matrix ROUNDS: adds up a matrix of 256 rows of 256 numbers, ROUNDS times.
 *
 * With -DCOLUMNS by columns: each access is 2 KiB from the last, 8 ways of a
 * first-level cache of 32 KiB do not hold 256 such lines, and each access misses.
 * Without by rows: every eighth misses. fill() is the same in both; with -DPADDED other
 * code lies before all, so that each routine is elsewhere.
 *
 * stdout: sum SUM. */
#include <stdio.h>
#include <stdlib.h>

#define SIZE 256

static double matrix[SIZE][SIZE] __attribute__((aligned(4096)));

#ifdef PADDED
__attribute__((noinline)) double padding(double value)
{
    return value * 3.0 + 1.0 / value;
}
#endif

__attribute__((noinline)) void fill(void)
{
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            matrix[row][column] = row * 2 + column;
}

__attribute__((noinline)) double add_up(void)
{
    double sum = 0;
    for (int one = 0; one < SIZE; one++)
        for (int other = 0; other < SIZE; other++)
#ifdef COLUMNS
            sum += matrix[other][one];
#else
            sum += matrix[one][other];
#endif
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    double sum = 0;
    fill();
    for (long round = 0; round < rounds; round++) {
        sum += add_up();
        /* Or one call would do for all. */
        __asm__ volatile("" ::: "memory");
    }
#ifdef PADDED
    sum = padding(sum);
#endif
    printf("sum %f\n", sum);
    return 0;
}
