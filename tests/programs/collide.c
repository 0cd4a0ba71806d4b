/* collide FAULTS: page faults from 17 addresses that would lie in the same
 * slots of a kernel's table (crates/recorder/kernel/table.h) of 4,096 if its seed were 0:
 * one of each of the first 16 on each CPU, then FAULTS of the last.
 * stdout: site ADDRESS of the last. */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SITES 17

static uint32_t slot(uint64_t ip)
{
    uint64_t hash = (ip ^ 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
    return (uint32_t)(hash >> 32) % 4096;
}

/* mov byte [rdi], 1; ret */
static void plant(uint64_t at)
{
    char *page = (char *)(at & ~4095ULL);
    int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (mmap(page, 8192, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
        err(1, "mmap %p", (void *)page);
    memcpy((void *)at, "\xc6\x07\x01\xc3", 4);
}

static char *fresh(size_t pages)
{
    char *memory =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        err(1, "mmap");
    madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
    return memory;
}

static void touch(uint64_t site, char *page)
{
    ((void (*)(char *))site)(page);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        errx(2, "usage: collide FAULTS");
    size_t faults = strtoul(argv[1], NULL, 10);
    uint64_t sites[SITES];
    int found = 0;
    uint32_t wanted = slot(0x10000000);
    for (uint64_t page = 0x10000000; found < SITES; page += 8192)
        for (uint64_t at = page; at < page + 4096; at += 8)
            if (slot(at) == wanted) {
                plant(at);
                sites[found++] = at;
                break;
            }
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    char *first = fresh((size_t)cpus * SITES);
    for (long cpu = 0; cpu < cpus; cpu++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set))
            continue;
        for (int site = 0; site < SITES - 1; site++, first += 4096)
            touch(sites[site], first);
    }
    char *pages = fresh(faults);
    for (size_t page = 0; page < faults; page++)
        touch(sites[SITES - 1], pages + page * 4096);
    printf("site %#llx\n", (unsigned long long)sites[SITES - 1]);
    return 0;
}
