/* maker PAGES [wait]: PAGES page faults on fresh pages by its own routine
 * `built_in`, and as many by code that it makes, `made_here`, of which it tells
 * in /tmp/perf-PID.map, PID as it sees itself.
 *
 * With `wait` it writes `ready`, begins when a line comes on stdin, writes
 * `done` and lives until stdin ends. Without, it sleeps half a second between
 * the making of the code and the faults, and ends after them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* movb $1,(%rdi); add $0x1000,%rdi; dec %rsi; jne -15; ret */
static const unsigned char code[] = {0xc6, 0x07, 0x01, 0x48, 0x81, 0xc7, 0x00, 0x10, 0x00,
                                     0x00, 0x48, 0xff, 0xce, 0x75, 0xf1, 0xc3};

__attribute__((noinline)) void built_in(char *pages, uint64_t count)
{
    for (uint64_t page = 0; page < count; page++)
        ((volatile char *)pages)[page * 4096] = 1;
}

static char *fresh(uint64_t count)
{
    char *pages =
        mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || madvise(pages, count * 4096, MADV_NOHUGEPAGE))
        exit(2);
    return pages;
}

int main(int argc, char **argv)
{
    char line[64];
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    int waits = argc > 2 && !strcmp(argv[2], "wait");
    char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 2;
    memcpy(made, code, sizeof code);
    snprintf(line, sizeof line, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(line, "w");
    if (!map)
        return 3;
    fprintf(map, "%llx %zx made_here\n", (unsigned long long)(uintptr_t)made, sizeof code);
    if (fclose(map))
        return 3;
    if (waits) {
        puts("ready");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            return 4;
    } else {
        struct timespec half = {0, 500000000};
        nanosleep(&half, NULL);
    }
    built_in(fresh(count), count);
    ((void (*)(char *, uint64_t))(uintptr_t)made)(fresh(count), count);
    if (waits) {
        puts("done");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin))
            ;
    }
    return 0;
}
