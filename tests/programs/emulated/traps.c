/* traps [NUMBER]: SIGTRAP, which breakpoints of a debugger use, as a program
 * uses it: caught, asked for, ignored, inherited, reset by a child. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int caught;
static volatile char bytes[1 << 20];

static void on_trap(int number)
{
    (void)number;
    caught++;
}

/* What stops an emulated program now and then: new code, new pages. */
static void work(void)
{
    for (int at = 0; at < 1 << 20; at += 64)
        bytes[at]++;
    usleep(100);
}

static const char *now(void)
{
    struct sigaction action;
    sigaction(SIGTRAP, NULL, &action);
    return action.sa_handler == SIG_DFL   ? "default"
           : action.sa_handler == SIG_IGN ? "ignored"
           : action.sa_handler == on_trap ? "ours"
                                          : "another";
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        work();
        printf("after exec: %s\n", now());
        raise(SIGTRAP);
        printf("and goes on\n");
        return 5;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("at first: %s\n", now());
    signal(SIGTRAP, on_trap);
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    work();
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("set: %s\n", now());
    raise(SIGTRAP);
    kill(getpid(), SIGTRAP);
    __asm__ volatile("int3");
    printf("caught %d, %s\n", caught, now());
    /* The child sets the default for itself. */
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    char *words[] = {"sh", "-c", "kill -TRAP $$", NULL};
    pid_t child;
    int status;
    posix_spawn(&child, "/bin/sh", NULL, &attributes, words, environ);
    waitpid(child, &status, 0);
    printf("child's end %d, %s\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1, now());
    if (!(child = fork())) {
        raise(SIGTRAP);
        _exit(caught);
    }
    waitpid(child, &status, 0);
    printf("a fork caught %d\n", WEXITSTATUS(status));
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGTRAP, &ignore, &before);
    printf("before: %s\n", before.sa_handler == on_trap ? "ours" : "another");
    sigprocmask(SIG_BLOCK, &all, &old);
    work();
    sigprocmask(SIG_SETMASK, &old, NULL);
    raise(SIGTRAP);
    printf("ignored, %s\n", now());
    fflush(stdout);
    if (!(child = fork()))
        execl("/proc/self/exe", "traps", "1", (char *)NULL);
    waitpid(child, &status, 0);
    printf("exit %d\n", WEXITSTATUS(status));
    signal(SIGTRAP, SIG_DFL);
    if (!(child = fork())) {
        raise(SIGTRAP);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("by default: %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    return 0;
}
