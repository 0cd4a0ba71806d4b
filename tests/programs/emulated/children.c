/* children [LEVEL]: every way to make a process, and what its parent learns. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>

extern char **environ;

static volatile int *volatile nowhere = (volatile int *)8;

static void told(const char *what, int status)
{
    if (WIFEXITED(status))
        printf("%s: exit %d\n", what, WEXITSTATUS(status));
    else
        printf("%s: signal %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static int on_own_stack(void *number)
{
    *(volatile int *)number += 1;
    return 9;
}

static void *exec_elsewhere(void *path)
{
    execl(path, "children", "9", (char *)NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    int level = argc > 1 ? atoi(argv[1]) : 0;
    if (level == 9) {
        printf("after exec from a thread: main thread %d\n", getpid() == (pid_t)syscall(SYS_gettid));
        return 31;
    }
    if (level > 0) {
        char next[12];
        snprintf(next, sizeof next, "%d", level - 1);
        if (level > 1)
            execl("/proc/self/exe", "children", next, (char *)NULL);
        printf("chain's end, %s\n", argv[0]);
        return 4;
    }
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    printf("exe %s\n", strrchr(self, '/') + 1);
    fflush(stdout);
    int status;
    pid_t child;
    if (!(child = fork()))
        execl("/proc/self/exe", "children", "6", (char *)NULL);
    waitpid(child, &status, 0);
    told("exec chain", status);
    if (!(child = fork())) {
        pthread_t thread;
        pthread_create(&thread, NULL, exec_elsewhere, self);
        pause();
    }
    waitpid(child, &status, 0);
    told("exec from a thread", status);
    if (!(child = vfork())) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    told("vfork and exec", status);
    volatile int seen = 0;
    if (!(child = vfork())) {
        seen = 42;
        _exit(5);
    }
    waitpid(child, &status, 0);
    told("vfork", status);
    printf("memory of a vfork: %d\n", seen);
    for (int i = 0; i < 5; i++) {
        char *words[] = {"sh", "-c", "kill -9 $$", NULL};
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ))
            perror("posix_spawn");
        waitpid(child, &status, 0);
    }
    told("posix_spawn, killed", status);
    char *none[] = {"none", NULL};
    printf("posix_spawn of nothing: %d\n", posix_spawn(&child, "/nonexistent", NULL, NULL, none, environ));
    fflush(stdout);
    told("system", system("echo from system; exit 6"));
    FILE *pipe = popen("printf 'a\\nb\\n' | wc -l", "r");
    char line[100] = "";
    printf("popen: %s", fgets(line, sizeof line, pipe) ? line : "nothing\n");
    pclose(pipe);
    fflush(stdout);
    char *stack = malloc(65536);
    volatile int number = 0;
    child = clone(on_own_stack, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)&number);
    waitpid(child, &status, 0);
    told("clone, same memory", status);
    printf("memory of a clone: %d\n", number);
    child = clone(on_own_stack, stack + 65536, CLONE_VM | SIGCHLD, (void *)&number);
    waitpid(child, &status, 0);
    printf("memory of a clone that runs beside: %d\n", number);
    child = clone(on_own_stack, stack + 65536, SIGCHLD, (void *)&number);
    waitpid(child, &status, 0);
    printf("memory of a clone apart: %d\n", number);
    int sum = 0;
    pid_t many[30];
    for (int i = 0; i < 30; i++)
        if (!(many[i] = fork())) {
            volatile int work = 0;
            for (int k = 0; k < 10000; k++)
                work += k;
            _exit(i);
        }
    for (int i = 0; i < 30; i++) {
        waitpid(many[i], &status, 0);
        sum += WEXITSTATUS(status);
    }
    printf("thirty forks: %d\n", sum);
    int signals[] = {SIGSEGV, SIGABRT, SIGKILL, SIGTERM, SIGILL, SIGFPE, SIGTRAP};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!(child = fork())) {
            prctl(PR_SET_DUMPABLE, 0);
            if (signals[i] == SIGSEGV)
                *nowhere = 1;
            if (signals[i] == SIGABRT)
                abort();
            if (signals[i] == SIGILL)
                __builtin_trap();
            if (signals[i] == SIGTRAP)
                __asm__ volatile("int3");
            kill(getpid(), signals[i]);
            pause();
        }
        waitpid(child, &status, 0);
        told("killed", status);
    }
    if (!(child = fork())) {
        raise(SIGSTOP);
        _exit(8);
    }
    waitpid(child, &status, WUNTRACED);
    printf("stopped: %d by %d\n", WIFSTOPPED(status), WIFSTOPPED(status) ? WSTOPSIG(status) : 0);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    told("continued", status);
    return 0;
}
