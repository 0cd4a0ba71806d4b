/* The kernel's own count of page faults, of this process, of the threads and
 * of the children it makes from now on. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kernel_count_open(void)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.inherit = 1;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* -1 when the counter could not be opened or read. */
static int64_t kernel_count_read(int fd)
{
    int64_t count;
    return read(fd, &count, sizeof count) == sizeof count ? count : -1;
}
