/* Touches 16 MiB line by line for as long as it is let, 100 s at most. */
#include <unistd.h>

static volatile char memory[16 << 20];

int main(void)
{
    alarm(100);
    for (unsigned at = 0;; at += 33 * 64)
        memory[at % sizeof memory]++;
}
