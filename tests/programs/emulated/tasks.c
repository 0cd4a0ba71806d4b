/* tasks: programs that make, stop, filter and trace others. `tasks NAME...` does
 * some of it, `tasks` all, each in a process of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static volatile sig_atomic_t got;
static void count(int signal)
{
    (void)signal;
    got++;
}
static void handle(int signal, void (*how)(int), int flags)
{
    struct sigaction action = {.sa_handler = how, .sa_flags = flags};
    sigaction(signal, &action, 0);
}

static void spawned(void)
{
    char *true_[] = {"sh", "-c", "exit $0", "5", 0}, *none[] = {"/none", 0};
    pid_t pid;
    int status;
    for (int turn = 0; turn < 20; turn++) {
        printf("%d ", posix_spawnp(&pid, "sh", 0, 0, true_, environ));
        waitpid(pid, &status, 0);
        printf("%d ", WEXITSTATUS(status));
    }
    printf("%d\n", posix_spawn(&pid, "/none", 0, 0, none, environ));
    int before = 1;
    for (int turn = 0; turn < 20; turn++) {
        if (!(pid = vfork())) {
            before++;
            _exit(turn);
        }
        waitpid(pid, &status, 0);
        printf("%d ", WEXITSTATUS(status));
    }
    printf("%d\n", before);
    if (!(pid = vfork())) {
        execlp("echo", "echo", "by vfork", NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    fflush(stdout);
    int fd = open("/bin/echo", O_RDONLY | O_CLOEXEC);
    char *words[] = {"echo", "by its descriptor", 0};
    if (!(pid = fork())) {
        fexecve(fd, words, environ);
        _exit(1);
    }
    waitpid(pid, &status, 0);
}

static void many(void)
{
    enum { CHILDREN = 150 };
    pid_t pids[CHILDREN];
    int go[2], sum = 0, status;
    if (pipe(go))
        exit(9);
    for (int child = 0; child < CHILDREN; child++)
        if (!(pids[child] = fork())) {
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1))
                _exit(99);
            _exit(child % 100);
        }
    close(go[0]);
    close(go[1]);
    for (int child = 0; child < CHILDREN; child++) {
        waitpid(pids[child], &status, 0);
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 10000;
    }
    printf("%d\n", sum);
}
static void deep(void)
{
    int status, depth = 0;
    pid_t pid = 0;
    while (depth < 80 && !(pid = fork()))
        depth++;
    if (depth == 80)
        _exit(0);
    waitpid(pid, &status, 0);
    status = WEXITSTATUS(status) + 1;
    if (depth)
        _exit(status);
    printf("%d\n", status);
}
static void *sit(void *barrier)
{
    pthread_barrier_wait(barrier);
    return (void *)1;
}
static void threads(void)
{
    enum { THREADS = 300 };
    static pthread_t ids[THREADS];
    pthread_barrier_t barrier;
    long sum = 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&barrier, 0, THREADS);
    for (int at = 0; at < THREADS; at++)
        if (pthread_create(ids + at, &small, sit, &barrier))
            exit(8);
    for (int at = 0; at < THREADS; at++) {
        void *value;
        pthread_join(ids[at], &value);
        sum += (long)value;
    }
    printf("%ld\n", sum);
}

static void stopped(void)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        raise(SIGSTOP);
        _exit(6);
    }
    waitpid(pid, &status, WUNTRACED);
    printf("%d %d\n", WIFSTOPPED(status), WSTOPSIG(status));
    kill(pid, SIGCONT);
    waitpid(pid, &status, WCONTINUED);
    printf("%d\n", WIFCONTINUED(status));
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    handle(SIGCONT, count, 0);
    got = 0;
    if (!(pid = fork())) {
        while (!got)
            usleep(1000);
        _exit(got);
    }
    usleep(20000);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    printf("%d\n", WIFSTOPPED(status));
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    handle(SIGTSTP, count, 0);
    got = 0;
    raise(SIGTSTP);
    printf("%d\n", (int)got);
    signal(SIGTTOU, SIG_IGN);
    raise(SIGTTOU);
    puts("on");
}

static void filtered(void)
{
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    handle(SIGSYS, count, 0);
    got = 0;
    int status;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        puts("none here");
    printf("%ld", syscall(SYS_getppid));
    printf(" %d\n", errno);
    syscall(SYS_getpgrp);
    printf("%d\n", (int)got);
    fflush(stdout);
    if (!fork()) {
        syscall(SYS_getsid, 0);
        _exit(1);
    }
    wait(&status);
    printf("%d %d\n", WIFSIGNALED(status), WTERMSIG(status));
    if (!fork()) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        if (write(1, "strict\n", 7) < 0)
            _exit(4);
        syscall(SYS_exit, 3);
    }
    wait(&status);
    printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    fflush(stdout);
    if (!fork()) {
        execlp("echo", "echo", "filtered", NULL);
        _exit(1);
    }
    wait(&status);
    printf("%d\n", status);
}

static int stack_of_child(void *at)
{
    *(int *)at = 5;
    return 9;
}
static void *runs_another(void *none)
{
    execlp("echo", "echo", "by a thread", NULL);
    return none;
}
static void clones(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int value = 0, status;
    pid_t pid = clone(stack_of_child, stack + sizeof stack, CLONE_VM | SIGCHLD, &value);
    waitpid(pid, &status, 0);
    printf("%d %d\n", value, WEXITSTATUS(status));
    value = 0;
    pid = clone(stack_of_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
    waitpid(pid, &status, 0);
    printf("%d %d\n", value, WEXITSTATUS(status));
    value = 0;
    pid = clone(stack_of_child, stack + sizeof stack, CLONE_FILES | CLONE_FS, &value);
    waitpid(pid, &status, __WALL);
    printf("%d %d\n", value, WEXITSTATUS(status));
    value = 0;
    pid = clone(stack_of_child, stack + sizeof stack, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, &value);
    waitpid(pid, &status, 0);
    printf("%d\n", pid > 0 ? WEXITSTATUS(status) : 9);
    fflush(stdout);
    if (!fork()) {
        pthread_t thread;
        pthread_create(&thread, 0, runs_another, 0);
        pthread_join(thread, 0);
        _exit(1);
    }
    wait(&status);
    printf("%d\n", status);
    if (!fork()) {
        if (!fork()) {
            usleep(20000);
            _exit(0);
        }
        _exit(0);
    }
    wait(&status);
    printf("%d\n", status);
    if (!fork()) {
        printf("%d\n", setresuid(65534, 65534, 65534) | (getuid() != 65534 && geteuid() == 0));
        fflush(stdout);
        execlp("id", "id", "-u", NULL);
    }
    wait(&status);
    if (!fork()) {
        setsid();
        unshare(CLONE_NEWNS | CLONE_NEWPID);
        if (!fork()) {
            printf("%d\n", getpid() < 3 || geteuid());
            fflush(stdout);
            _exit(0);
        }
        wait(&status);
        _exit(0);
    }
    wait(&status);
}

static int attaches(void *to)
{
    pid_t pid = *(pid_t *)to;
    int status, result = 1;
    if (!ptrace(PTRACE_ATTACH, pid, 0, 0) && waitpid(pid, &status, __WALL) == pid &&
        !ptrace(PTRACE_DETACH, pid, 0, 0))
        result = 0;
    return result;
}
static void traced(void)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(1);
        raise(SIGSTOP);
        _exit(4);
    }
    waitpid(pid, &status, 0);
    printf("%d\n", WIFSTOPPED(status));
    ptrace(PTRACE_CONT, pid, 0, 0);
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    // As the leak checks of sanitizers do it.
    static char stack[65536] __attribute__((aligned(16)));
    pid_t own = getpid();
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid = clone(attaches, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED,
                &own);
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
    }
    printf("%d\n", WEXITSTATUS(status));
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {{"spawned", spawned}, {"many", many},         {"deep", deep},     {"threads", threads},
           {"stopped", stopped}, {"filtered", filtered}, {"clones", clones}, {"traced", traced}};

int main(int count_, char **names)
{
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++) {
        int chosen = count_ < 2;
        for (int name = 1; name < count_; name++)
            chosen |= !strcmp(names[name], all[at].name);
        if (!chosen)
            continue;
        printf("%s: ", all[at].name);
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            all[at].run();
            exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status)
            printf("status %#x\n", status);
    }
}
