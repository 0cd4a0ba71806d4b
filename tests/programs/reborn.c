/* reborn PID UID PROGRAM: runs PROGRAM as user UID in a process whose number is
 * PID, which a process that has ended had before. Needs CAP_SYS_ADMIN. */
#define _GNU_SOURCE
#include <err.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        errx(2, "usage: reborn PID UID PROGRAM");
    pid_t number = atoi(argv[1]);
    struct clone_args wanted = {
        .exit_signal = SIGCHLD,
        .set_tid = (uintptr_t)&number,
        .set_tid_size = 1,
    };
    long child = syscall(SYS_clone3, &wanted, sizeof wanted);
    if (child < 0)
        err(1, "clone3 of process %d", number);
    if (child == 0) {
        uid_t user = (uid_t)atoi(argv[2]);
        if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user))
            err(1, "user %u", user);
        execl(argv[3], argv[3], (char *)NULL);
        err(1, "%s", argv[3]);
    }
    int status;
    waitpid((pid_t)child, &status, 0);
    return status != 0;
}
