/* vsyscall CALLS: says `ready`, waits for a line on stdin, then calls CALLS
 * times into the page of the vsyscalls. Each call is a page fault in user
 * mode in the half of the addresses that is the kernel's, whether the kernel
 * then emulates the call or not.
 * stdout at the end: calls COUNT */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf back;

static void refused(int signal)
{
    siglongjmp(back, signal);
}

int main(int argc, char **argv)
{
    volatile long done = 0;
    long calls = argc > 1 ? atol(argv[1]) : 1;
    char line[8];
    long (*volatile vtime)(time_t *) = (long (*)(time_t *))0xffffffffff600400;
    struct sigaction action = {.sa_handler = refused};
    sigaction(SIGSEGV, &action, NULL);
    if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof line) < 0)
        return 1;
    for (; done < calls; done++)
        if (!sigsetjmp(back, 1))
            vtime(NULL);
    printf("calls %ld\n", done);
    return 0;
}
