/* sleeper [hidden]: says `ready`, and sleeps until its stdin ends. With
 * `hidden` it is not dumpable first. Once a second it faults on a fresh page.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        prctl(PR_SET_DUMPABLE, 0);
    puts("ready");
    fflush(stdout);
    struct pollfd stdin_ends = {.fd = 0, .events = POLLIN};
    while (poll(&stdin_ends, 1, 1000) == 0) {
        char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *(volatile char *)page = 1;
        munmap(page, 4096);
    }
    return 0;
}
