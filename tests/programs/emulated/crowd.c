/* crowd: threads, a 5 ms alarm, a hundred faults left by siglongjmp, children
 * that exit and one that execs, all at once. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long total;
static volatile sig_atomic_t alarms;
static sigjmp_buf back;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static volatile int *volatile nowhere = (volatile int *)8;

static void on_fault(int signal)
{
    siglongjmp(back, signal);
}

static void *work(void *number)
{
    char *bytes = calloc(1 << 20, 1);
    long sum = (long)number;
    for (int round = 0; round < 20; round++)
        for (int at = 0; at < 1 << 20; at += 64)
            sum += ++bytes[at];
    __atomic_fetch_add(&total, sum, __ATOMIC_SEQ_CST);
    free(bytes);
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    ualarm(5000, 5000);
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    signal(SIGSEGV, on_fault);
    volatile int faults = 0;
    for (volatile int i = 0; i < 100; i++)
        if (sigsetjmp(back, 1))
            faults++;
        else
            *nowhere = 1;
    int codes = 0;
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) {
            if (i == 4)
                execl("/bin/true", "true", (char *)NULL);
            _exit(i);
        }
        int status;
        while (waitpid(child, &status, 0) < 0)
            ;
        codes += WEXITSTATUS(status);
    }
    while (!alarms)
        usleep(1000);
    ualarm(0, 0);
    printf("total %ld faults %d codes %d alarms %d\n", total, faults, codes, alarms > 0);
    return 0;
}
