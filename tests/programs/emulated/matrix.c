/* matrix row|col [PASSES]: sums 2048 x 2048 doubles along rows or columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 2048
static double matrix[SIDE][SIDE];

__attribute__((noinline)) static double by_rows(void)
{
    double sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum += matrix[i][j];
    return sum;
}

__attribute__((noinline)) static double by_columns(void)
{
    double sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum += matrix[j][i];
    return sum;
}

int main(int argc, char **argv)
{
    int columns = argc > 1 && strcmp(argv[1], "col") == 0;
    int passes = argc > 2 ? atoi(argv[2]) : 5;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            matrix[i][j] = i ^ j;
    double sum = 0;
    for (int pass = 0; pass < passes; pass++)
        sum += columns ? by_columns() : by_rows();
    printf("%s %d: %g\n", columns ? "columns" : "rows", passes, sum);
    return 0;
}
