/* apart SPACES ID FROM PROGRAM [ARGUMENT...]: runs PROGRAM in new namespaces,
 * which belong to whoever runs this. SPACES: letters of u (user), U (user, and
 * in that another one), p (pid), m (mount). PROGRAM's user and group are ID of
 * the namespace; ID there is FROM here, with u and U.
 * stdout: PROGRAM's process, as seen from here; then what it says. */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *process, const char *file, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/%s", process, file);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        err(1, "%s: %s", path, text);
    close(fd);
}

/* One id of the new namespace of a process is one of here: more of them take
 * privileges, and then this is how it is done as well. */
static void map(const char *process, unsigned inside, unsigned outside)
{
    char line[64];
    snprintf(line, sizeof line, "%u %u 1", inside, outside);
    put(process, "setgroups", "deny");
    put(process, "uid_map", line);
    put(process, "gid_map", line);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        errx(2, "usage: apart SPACES ID FROM PROGRAM [ARGUMENT...]");
    const char *spaces = argv[1];
    unsigned id = atoi(argv[2]), from = atoi(argv[3]);
    int nested = strchr(spaces, 'U') != NULL, user = nested || strchr(spaces, 'u');
    struct clone_args wanted = {.exit_signal = SIGCHLD};
    wanted.flags |= user ? CLONE_NEWUSER : 0;
    wanted.flags |= strchr(spaces, 'p') ? CLONE_NEWPID : 0;
    wanted.flags |= strchr(spaces, 'm') ? CLONE_NEWNS : 0;
    int mapped[2];
    if (pipe(mapped))
        err(1, "pipe");
    long child = syscall(SYS_clone3, &wanted, sizeof wanted);
    if (child < 0)
        err(1, "clone3 of %s", spaces);
    if (child == 0) {
        char byte;
        close(mapped[1]);
        if (read(mapped[0], &byte, 1) != 1)
            return 1;
        close(mapped[0]);
        if (!user && setgroups(0, NULL))
            err(1, "setgroups");
        if (setresgid(id, id, id) || setresuid(id, id, id))
            err(1, "user %u", id);
        if (nested) {
            if (syscall(SYS_unshare, CLONE_NEWUSER))
                err(1, "another namespace");
            map("self", id, id);
        }
        execv(argv[4], argv + 4);
        err(1, "%s", argv[4]);
    }
    char number[24];
    snprintf(number, sizeof number, "%ld", child);
    if (user)
        map(number, id, from);
    puts(number);
    fflush(stdout);
    if (write(mapped[1], "!", 1) != 1)
        err(1, "write");
    int status;
    waitpid((pid_t)child, &status, 0);
    return status != 0;
}
