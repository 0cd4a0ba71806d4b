/* flags: saved and put back by the program under an alarm; no trap flag is
 * ever among them. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile long alarms, set;
static volatile char bytes[1 << 22];

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

int main(void)
{
    signal(SIGALRM, on_alarm);
    ualarm(1000, 1000);
    for (long at = 0; alarms < 200; at += 4160) {
        unsigned long flags;
        bytes[at & ((1 << 22) - 1)]++;
        __asm__ volatile("sub $128, %%rsp\n"
                         "pushfq\n"
                         "mov (%%rsp), %0\n"
                         "popfq\n"
                         "add $128, %%rsp\n"
                         : "=&r"(flags)::"memory", "cc");
        set += flags >> 8 & 1;
    }
    printf("trap flags %ld\n", set);
    return 0;
}
