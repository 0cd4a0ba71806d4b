/* strings ROUNDS: fills 64 KiB by one repeated instruction ROUNDS times, under
 * an alarm that comes all the time.
 *
 * stdout: fill ADDRESS: the instruction. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long alarms;
static char bytes[1 << 16] __attribute__((aligned(4096)));
extern char fill[];

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    printf("fill %p\n", fill);
    fflush(stdout);
    signal(SIGALRM, on_alarm);
    ualarm(500, 500);
    for (long round = 0; round < rounds; round++) {
        void *to = bytes;
        long count = sizeof bytes;
        __asm__ volatile(".globl fill\n"
                         "fill: rep stosb\n"
                         : "+D"(to), "+c"(count)
                         : "a"(round)
                         : "memory");
    }
    ualarm(0, 0);
    return alarms > 0 ? 0 : 1;
}
