/* Makes children, one after the other, and kills each as it is born: the
 * kernel stores a child's number before the child runs, and a second thread
 * waits for just that. Ends when a line comes in. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int newborn;
static volatile int stop;

static void *kill_newborns(void *unused)
{
    while (!stop) {
        int pid = __atomic_exchange_n(&newborn, 0, __ATOMIC_SEQ_CST);
        if (pid)
            kill(pid, SIGKILL);
    }
    return unused;
}

static void *listen_for_line(void *unused)
{
    getchar();
    stop = 1;
    /* A child that nobody kills any more would be waited for. */
    _exit(0);
    return unused;
}

int main(void)
{
    pthread_t killer, listener;
    pid_t parent = getpid();
    pthread_create(&killer, 0, kill_newborns, 0);
    pthread_create(&listener, 0, listen_for_line, 0);
    puts("");
    fflush(stdout);
    for (;;) {
        long pid = syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, 0, &newborn, 0, 0);
        if (pid < 0)
            return 1;
        if (pid == 0) {
            /* Should the kill miss, it must not stay behind. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            for (;;)
                pause();
        }
        waitpid(pid, 0, 0);
    }
}
