/* ranges [narrow]: calls about ranges of memory that are not the program's: those
 * of the file `memfd:hardmeter` where that is mapped, else free ones. Each says
 * what it returns, which is the same in both; the program works on meanwhile.
 * narrow: by `int 0x80`, of ranges in the lowest 4 GiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, REGIONS = 3 };
static int narrow;
typedef struct {
    char *start;
    size_t bytes;
} Range;

/* One of the emulator's, by its place among them from the highest on, or a free
 * one. */
static Range foreign(unsigned which)
{
    char line[512];
    Range found[64];
    unsigned known = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps) && known < 64) {
        char *end;
        if (!strstr(line, "memfd:hardmeter"))
            continue;
        sscanf(line, "%p-%p", (void **)&found[known].start, (void **)&end);
        found[known].bytes = end - found[known].start;
        if (!narrow || (uintptr_t)end >> 32 == 0)
            known++;
    }
    fclose(maps);
    if (known)
        return found[known - 1 - which % known];
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (narrow ? MAP_32BIT : 0);
    Range free = {mmap(0, 64 * PAGE, PROT_NONE, flags, -1, 0), 62 * PAGE};
    munmap(free.start, 64 * PAGE);
    free.start += PAGE;
    return free;
}

static volatile char memory[1 << 16];
static unsigned work(void)
{
    unsigned sum = 0;
    for (unsigned at = 0; at < sizeof memory; at += 64)
        sum += ++memory[at];
    return sum & 0xff;
}

static void say(const char *what, long result)
{
    int error = errno;
    printf("%s: %s %u\n", what, result == -1 ? strerrorname_np(error) : "done", work());
    fflush(stdout);
}

/* Whether a page is mapped and can be read, and written. */
static const char *rights(char *page)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends))
        return "?";
    int reads = write(ends[1], page, 1) == 1;
    if (!reads)
        write(ends[1], &byte, 1);
    int writes = read(ends[0], page, 1) == 1;
    close(ends[0]), close(ends[1]);
    return reads ? writes ? "rw" : "r" : writes ? "w" : "none";
}

#define TRY(CALL) (r = foreign(which), say(#CALL, (long)(CALL)))

static long call32(long number, long first, long second, long third)
{
    long result = number;
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(first), "c"(second), "d"(third)
                     : "memory", "r8", "r9", "r10", "r11");
    errno = -(int)result;
    return (int)result < 0 ? -1 : 0;
}

static void none(int number)
{
    puts("there are no such calls");
    exit(0);
}

static void each_narrow(void)
{
    signal(SIGSEGV, none);
    for (unsigned which = 0; which < REGIONS; which++) {
        Range r;
        TRY(call32(125, (long)r.start, r.bytes, PROT_NONE)); /* mprotect */
        TRY(call32(219, (long)r.start, r.bytes, MADV_REMOVE));
        TRY(call32(462, (long)r.start, PAGE, 0)); /* mseal */
        TRY(call32(91, (long)r.start, r.bytes, 0)); /* munmap */
    }
}

static void each(unsigned regions)
{
    for (unsigned which = 0; which < regions; which++) {
        Range r;
        TRY(mprotect(r.start, r.bytes, PROT_NONE));
        TRY(mprotect(r.start + PAGE, PAGE, PROT_READ));
        TRY(syscall(SYS_pkey_mprotect, r.start, r.bytes, PROT_READ | PROT_EXEC, -1));
        TRY(madvise(r.start, r.bytes, MADV_REMOVE));
        TRY(madvise(r.start, r.bytes, MADV_DONTFORK));
        TRY(madvise(r.start, PAGE, MADV_DONTNEED));
        TRY(mremap(r.start, r.bytes, 2 * r.bytes, MREMAP_MAYMOVE));
        TRY(mremap(r.start, 0, PAGE, MREMAP_MAYMOVE));
        TRY(remap_file_pages(r.start, PAGE, 0, 0, 0));
        TRY(mlock(r.start, PAGE));
        TRY(syscall(SYS_mlock2, r.start, PAGE, 1));
        TRY(syscall(462, r.start, r.bytes, 0)); /* mseal */
        TRY(munmap(r.start, r.bytes));
        /* What is no range. */
        TRY(mprotect(r.start, 0, PROT_NONE));
        TRY(mprotect(r.start + 1, PAGE, PROT_NONE));
        TRY(mprotect(r.start, -PAGE, PROT_NONE));
        TRY(munmap(r.start, -PAGE));
        TRY(munmap(r.start, 0));
        TRY(madvise(r.start, -1, MADV_REMOVE));
        TRY(mmap(r.start, -PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
        /* What fails leaves all as it was. */
        TRY(mmap(r.start, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0));
        int pidfd = syscall(SYS_pidfd_open, getpid(), 0);
        r = foreign(which);
        struct iovec piece = {r.start, PAGE};
        say("process_madvise", syscall(SYS_process_madvise, pidfd, &piece, 1, MADV_COLD, 0));
        close(pidfd);

        /* From what is the program's to beyond it. */
        r = foreign(which);
        char *own = mmap(r.start - PAGE, PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        say("before", (long)own);
        say("across", mprotect(own, r.bytes + PAGE, PROT_READ));
        printf("%s\n", rights(own));
        say("fail across", (long)mmap(own, 2 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, -1, 0));
        printf("%s\n", rights(own));
        say("advise across", madvise(own, r.bytes + PAGE, MADV_DONTNEED));
        say("move across", (long)mremap(own, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE));
        say("unmap across", munmap(own, 2 * PAGE));
        printf("%s\n", rights(own));

        /* To there. */
        r = foreign(which);
        char *there = mmap(r.start + PAGE, PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        say("unless taken", (long)there);
        say("leave", munmap(there, PAGE));
        r = foreign(which);
        own = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        there = mremap(own, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, r.start);
        say("move there", (long)there);
        say("leave", munmap(there, PAGE));
        int segment = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
        r = foreign(which);
        there = shmat(segment, r.start - 2 * PAGE, SHM_REMAP);
        say("attach there", (long)there);
        shmctl(segment, IPC_RMID, 0);
        say("leave", shmdt(there));
    }
}

static void *thread(void *none)
{
    each(1);
    return none;
}

int main(int count, char **words)
{
    if (count > 1) {
        narrow = 1;
        each_narrow();
        return 0;
    }
    each(REGIONS);
    puts("child");
    fflush(stdout);
    if (!fork()) {
        each(1);
        _exit(0);
    }
    wait(0);
    puts("vfork");
    fflush(stdout);
    if (!vfork()) {
        each(1);
        _exit(0);
    }
    wait(0);
    puts("thread");
    fflush(stdout);
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    return 0;
}
