/* large KIND: walks 64 MiB three times, a load in each 4 KiB; of hugetlbfs
   (kind "reserved"), of memory that asked for large pages ("asked"), that
   refused them ("refused"), that asked when it had small ones ("late"), and
   that was large and is mapped anew ("again"). Prints
   the loads made and where the memory is; "none" where there is none. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (1UL << 20)
#define BYTES (64 * MIB)

static volatile char *map(int flags, void *at)
{
    void *found = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "";
    volatile char *memory;
    if (!strcmp(kind, "reserved")) {
        memory = map(MAP_HUGETLB, NULL);
        if (!memory) {
            puts("none");
            return 0;
        }
    } else {
        char *room = mmap(NULL, BYTES + 2 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uintptr_t start = ((uintptr_t)room + 2 * MIB - 1) & ~(2 * MIB - 1);
        memory = map(MAP_FIXED, (void *)start);
        int advice = strcmp(kind, "refused") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
        if (!strcmp(kind, "late"))
            for (unsigned long at = 0; at < BYTES; at += 2 * MIB)
                memory[at] = 1;
        if (madvise((void *)memory, BYTES, advice)) {
            puts("none");
            return 0;
        }
        if (!strcmp(kind, "again")) {
            memset((void *)memory, 1, BYTES);
            memory = map(MAP_FIXED, (void *)start);
            madvise((void *)memory, BYTES, MADV_NOHUGEPAGE);
        }
    }
    int sum = 0;
    unsigned long loads = 0;
    for (int turn = 0; turn < 3; turn++)
        for (unsigned long at = 0; at < BYTES; at += 4096, loads++)
            sum += memory[at];
    printf("%lu %p %d\n", loads, (void *)memory, sum);
    return 0;
}
