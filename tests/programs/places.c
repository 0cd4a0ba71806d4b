/* places: adds up numbers of NODES places APART bytes apart, then those STEP bytes
 * behind them, and so on, TIMES in all; all of it ROUNDS times. All four are
 * given to the compiler. Without a C library: each run is like the others, and
 * touches next to nothing else. */
#ifndef STEP
#define STEP 0
#endif

static volatile long places[(NODES * APART + TIMES * STEP) / sizeof(long) + 1]
    __attribute__((aligned(8192)));

void _start(void)
{
    long sum = 0;
    for (long round = 0; round < ROUNDS; round++)
        for (long time = 0; time < TIMES; time++)
            for (long node = 0; node < NODES; node++)
                sum += places[(node * APART + time * STEP) / sizeof(long)];
    __asm__ volatile("syscall" : : "a"(60L), "D"(sum & 0) : "rcx", "r11", "memory");
    __builtin_unreachable();
}
