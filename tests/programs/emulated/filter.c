/* filter: a program that has given up all system calls but a few. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_call(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    const ucontext_t *state = context;
    char *next = (char *)state->uc_mcontext.gregs[REG_RIP];
    caught = info->si_syscall == SYS_getppid && info->si_call_addr == next;
}

/* mov eax, number; ret */
static void write_code(unsigned char *code, int number)
{
    code[0] = 0xb8;
    memcpy(code + 1, &number, 4);
    code[5] = 0xc3;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write), ALLOW(exit_group), ALLOW(rt_sigreturn),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 1;
    syscall(SYS_getppid);
    long refused = syscall(SYS_getuid);
    int why = errno;
    /* Code that has not run before the filter. */
    char text[100];
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += snprintf(text, sizeof text, "%d %x %f\n", i, i, i / 3.0);
    /* Code that changes, behind the filter's back. */
    for (int i = 0; i < 10; i++) {
        write_code(page, i);
        sum += ((int (*)(void))page)();
    }
    int length = snprintf(text, sizeof text, "caught %d refused %ld errno %d sum %d\n", (int)caught,
                          refused, why, sum);
    write(1, text, (size_t)length);
    syscall(SYS_exit_group, 12);
    return 0;
}
