/* names COUNT [wait]: COUNT times, one write each to `counter` (8 bytes),
 * `small` (4, static) and byte 3 of `bytes` (13), by one call of `step`; one
 * call of `lib_add` (names_lib.c); one write to each of two variables called
 * `twice` (4, static), here and in names_twin.c. With `wait` it reads a line
 * first. What is watched is not zero at the start, so that it lies in .data,
 * which nobody writes to before. */
#include <stdio.h>
#include <stdlib.h>

long lib_add(long by);
void write_twin(int value);

volatile long counter = 1;
static volatile int small = 1;
volatile char bytes[13] = "x";
__thread long of_thread = 1;
static volatile int twice = 2;

__attribute__((noinline)) void step(long by)
{
    counter = by;
    small = (int)by;
    bytes[3] = (char)by;
}

int main(int argc, char **argv)
{
    char line[8];
    long left = argc > 1 ? atol(argv[1]) : 1;
    if (argc > 2 && !fgets(line, sizeof line, stdin))
        return 1;
    for (; left > 0; left--) {
        step(left);
        lib_add(left);
        twice = (int)left;
        write_twin((int)left);
        of_thread += left;
    }
    return of_thread == 7;
}
