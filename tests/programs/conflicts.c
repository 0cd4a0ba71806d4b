/* conflicts KERNEL: kernels whose arrays are in each other's way in a cache of 64
 * sets of 8 lines. Built with -DPAD=N rows, or arrays, have N bytes more.
 *
 *   adi     implicit steps in alternating directions (Peaceman, Rachford 1955):
 *           sweeps by rows, and by columns of rows of 1 KiB
 *   align   two sequences (Needleman, Wunsch 1970), by anti-diagonals, of rows
 *           of 2 KiB
 *   jacobi  Poisson's equation in three dimensions by 19 points and ten
 *           coefficients (as Himeno's benchmark): fourteen arrays, 32 KiB apart
 *
 * stdout: sum SUM. */
#include <stdio.h>
#include <string.h>

#ifndef PAD
#define PAD 0
#endif

#define SIDE 128
#define ROUNDS 2

typedef double line_of[SIDE + PAD / sizeof(double)];
static line_of u[SIDE] __attribute__((aligned(8192)));
static line_of v[SIDE] __attribute__((aligned(8192)));
static line_of p[SIDE] __attribute__((aligned(8192)));
static line_of q[SIDE] __attribute__((aligned(8192)));

/* One direction: a tridiagonal system for each column of `from`, into the columns
 * of `to`. */
__attribute__((noinline)) static void sweep_columns(line_of *to, line_of *from)
{
    const double a = -0.5, b = 2.0, c = -0.5, e = 0.5, f = 0.25;
    for (int i = 1; i < SIDE - 1; i++) {
        to[0][i] = 1.0;
        p[i][0] = 0.0;
        q[i][0] = 1.0;
        for (int j = 1; j < SIDE - 1; j++) {
            double under = a * p[i][j - 1] + b;
            p[i][j] = -c / under;
            q[i][j] = (e * from[j][i - 1] + f * from[j][i] + e * from[j][i + 1] - a * q[i][j - 1])
                      / under;
        }
        to[SIDE - 1][i] = 1.0;
        for (int j = SIDE - 2; j > 0; j--)
            to[j][i] = p[i][j] * to[j + 1][i] + q[i][j];
    }
}

__attribute__((noinline)) static void sweep_rows(line_of *to, line_of *from)
{
    const double a = -0.5, b = 2.0, c = -0.5, e = 0.5, f = 0.25;
    for (int i = 1; i < SIDE - 1; i++) {
        to[i][0] = 1.0;
        p[i][0] = 0.0;
        q[i][0] = 1.0;
        for (int j = 1; j < SIDE - 1; j++) {
            double under = a * p[i][j - 1] + b;
            p[i][j] = -c / under;
            q[i][j] = (e * from[i - 1][j] + f * from[i][j] + e * from[i + 1][j] - a * q[i][j - 1])
                      / under;
        }
        to[i][SIDE - 1] = 1.0;
        for (int j = SIDE - 2; j > 0; j--)
            to[i][j] = p[i][j] * to[i][j + 1] + q[i][j];
    }
}

static double adi(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            u[i][j] = (i + SIDE - j) / (double)SIDE;
    for (int round = 0; round < ROUNDS; round++) {
        sweep_columns(v, u);
        sweep_rows(u, v);
    }
    return u[SIDE / 2][SIDE / 2];
}

#define LETTERS 200
#define OTHERS 255
#define ROW 512

typedef int score_row[ROW + PAD / sizeof(int)];
static score_row scores[LETTERS + 1] __attribute__((aligned(8192)));
static score_row likeness[LETTERS + 1] __attribute__((aligned(8192)));

static int larger(int a, int b)
{
    return a > b ? a : b;
}

__attribute__((noinline)) static void diagonals(int penalty)
{
    for (int diagonal = 2; diagonal <= LETTERS + OTHERS; diagonal++) {
        int from = larger(1, diagonal - OTHERS);
        int to = diagonal - 1 < LETTERS ? diagonal - 1 : LETTERS;
        for (int i = from; i <= to; i++) {
            int j = diagonal - i;
            int gap = larger(scores[i - 1][j], scores[i][j - 1]) - penalty;
            scores[i][j] = larger(scores[i - 1][j - 1] + likeness[i][j], gap);
        }
    }
}

static double align(void)
{
    unsigned state = 1;
    for (int i = 1; i <= LETTERS; i++)
        for (int j = 1; j <= OTHERS; j++) {
            state = state * 1664525u + 1013904223u;
            likeness[i][j] = (int)(state >> 28) - 4;
        }
    for (int i = 0; i <= LETTERS; i++)
        scores[i][0] = -i;
    for (int j = 0; j <= OTHERS; j++)
        scores[0][j] = -j;
    diagonals(1);
    return scores[LETTERS][OTHERS];
}

#define DEEP 8
#define HIGH 32
#define WIDE 32

/* 32 KiB each, and what is between two of them. */
struct grid {
    float at[DEEP][HIGH][WIDE];
    char pad[PAD ? PAD : 0];
};
static struct {
    struct grid pressure, a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, bound, work, next;
} grids __attribute__((aligned(8192)));

static void set(struct grid *grid, float value)
{
    for (int i = 0; i < DEEP; i++)
        for (int j = 0; j < HIGH; j++)
            for (int k = 0; k < WIDE; k++)
                grid->at[i][j][k] = value;
}

__attribute__((noinline)) static double relax(void)
{
    float(*x)[HIGH][WIDE] = grids.pressure.at;
    double error = 0;
    for (int i = 1; i < DEEP - 1; i++)
        for (int j = 1; j < HIGH - 1; j++)
            for (int k = 1; k < WIDE - 1; k++) {
                float sum = grids.a0.at[i][j][k] * x[i + 1][j][k]
                            + grids.a1.at[i][j][k] * x[i][j + 1][k]
                            + grids.a2.at[i][j][k] * x[i][j][k + 1]
                            + grids.b0.at[i][j][k]
                                  * (x[i + 1][j + 1][k] - x[i + 1][j - 1][k] - x[i - 1][j + 1][k]
                                     + x[i - 1][j - 1][k])
                            + grids.b1.at[i][j][k]
                                  * (x[i][j + 1][k + 1] - x[i][j - 1][k + 1] - x[i][j + 1][k - 1]
                                     + x[i][j - 1][k - 1])
                            + grids.b2.at[i][j][k]
                                  * (x[i + 1][j][k + 1] - x[i - 1][j][k + 1] - x[i + 1][j][k - 1]
                                     + x[i - 1][j][k - 1])
                            + grids.c0.at[i][j][k] * x[i - 1][j][k]
                            + grids.c1.at[i][j][k] * x[i][j - 1][k]
                            + grids.c2.at[i][j][k] * x[i][j][k - 1] + grids.work.at[i][j][k];
                float step = (sum * grids.a3.at[i][j][k] - x[i][j][k]) * grids.bound.at[i][j][k];
                error += step * step;
                grids.next.at[i][j][k] = x[i][j][k] + 0.8f * step;
            }
    return error;
}

static double jacobi(void)
{
    struct grid *all = &grids.pressure;
    for (int number = 0; number < 14; number++)
        set(all + number, number < 5 ? 1.0f : 0.125f);
    double error = 0;
    for (int round = 0; round < ROUNDS; round++) {
        error += relax();
        memcpy(grids.pressure.at, grids.next.at, sizeof grids.pressure.at);
    }
    return error;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    double sum;
    if (!strcmp(name, "adi"))
        sum = adi();
    else if (!strcmp(name, "align"))
        sum = align();
    else if (!strcmp(name, "jacobi"))
        sum = jacobi();
    else
        return 2;
    printf("sum %.3f\n", sum);
    return 0;
}
