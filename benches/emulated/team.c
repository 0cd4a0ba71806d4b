/* team: OpenMP's loops, reductions, sections, tasks and locks, by four
 * threads; sums of whole numbers, which no order changes. */
#include <omp.h>
#include <stdio.h>

static long fib(int n)
{
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) if (n > 8)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    static int array[1 << 18];
    long sum = 0, odd = 0, fibs = 0, entered = 0;
    omp_set_num_threads(4);
#pragma omp parallel for schedule(dynamic, 1024)
    for (int i = 0; i < 1 << 18; i++) array[i] = i * 7 % 1001;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1 << 18; i++) sum += array[i];
#pragma omp parallel
    {
        for (int i = 0; i < 200; i++) {
#pragma omp critical
            entered++;
#pragma omp barrier
        }
#pragma omp for
        for (int i = 0; i < 1 << 16; i++)
            if (array[i] & 1) {
#pragma omp atomic
                odd++;
            }
#pragma omp single
        fibs = fib(16);
    }
    printf("%ld %ld %ld %ld\n", sum, odd, fibs, entered);
    return 0;
}
