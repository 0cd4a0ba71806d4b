/* may_sample PID: whether the kernel lets this user sample page faults of
 * process PID in user mode, as a program that asks it directly.
 * stdout: `yes`, or `no` and the errno's name. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .disabled = 1,
        .inherit = 1,
    };
    if (argc != 2)
        return 2;
    if (syscall(SYS_perf_event_open, &attr, atoi(argv[1]), -1, -1, 0) >= 0)
        puts("yes");
    else
        printf("no %s\n", strerrorname_np(errno));
    return 0;
}
