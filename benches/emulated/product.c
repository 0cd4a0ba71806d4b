/* product [SIDE]: the plain product of two matrices of doubles, a column of
 * the second for each element: misses of the first level and of the TLB. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 300;
    double *a = calloc(side * side, sizeof *a), *b = calloc(side * side, sizeof *b);
    double *c = calloc(side * side, sizeof *c);
    if (!a || !b || !c) return 1;
    for (int i = 0; i < side * side; i++) a[i] = i % 7, b[i] = i % 11;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            double sum = 0;
            for (int k = 0; k < side; k++) sum += a[i * side + k] * b[k * side + j];
            c[i * side + j] = sum;
        }
    double trace = 0;
    for (int i = 0; i < side; i++) trace += c[i * side + i];
    printf("%d: %g\n", side, trace);
    return 0;
}
