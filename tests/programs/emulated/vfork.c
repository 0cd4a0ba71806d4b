/* vfork: children that work in their parent's memory before they exec, and
 * while another thread of the parent works as well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char bytes[2][1 << 20];
static volatile int over;

static void walk(int which, int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int at = 0; at < 1 << 20; at += 64)
            bytes[which][at]++;
}

static void *beside(void *none)
{
    while (!over)
        walk(1, 1);
    return none;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, beside, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t child = vfork();
        if (!child) {
            walk(0, 5);
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        printf("exit %d after %d rounds\n", WEXITSTATUS(status), bytes[0][64]);
        fflush(stdout);
    }
    over = 1;
    pthread_join(thread, NULL);
    return 3;
}
