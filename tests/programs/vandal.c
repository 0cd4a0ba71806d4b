/* vandal HOW: a program that finds memory which is not its own in its address
 * space, by the name of its file in /proc/self/maps, and does to it what HOW
 * says; then it works out a sum. Whatever becomes of itself, nobody who watches
 * it may come to harm. HOW is
 *   random    random words, all over
 *   ones      all ones
 *   ring      random words into what lies last, and its first page: the ring
 *   forged    records of its own making in the ring
 *   lock      the ring's lock, and mappings told of for ever
 *   keep      the ring's lock, once and for good
 *   mem       random words by /proc/self/mem, what is not writable too
 *   vm        by process_vm_writev from a child
 *   advise    MADV_DONTNEED, MADV_REMOVE
 *   cut       ftruncate and fallocate of its files
 *   protect   no access to it any more
 *   unmap     none of it any more
 *   move      elsewhere
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char *start, *end;
    int writable;
    char name[64];
} Region;
static Region regions[256];
static unsigned known;
static pid_t parent;

static void look(void)
{
    char line[512], mode[8], file[256];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps) && known < 256) {
        Region *r = regions + known;
        *file = 0;
        if (sscanf(line, "%p-%p %7s %*s %*s %*s %255[^\n]", (void **)&r->start, (void **)&r->end,
                   mode, file) < 3 || !strstr(file, "memfd:hardmeter"))
            continue;
        r->writable = mode[1] == 'w';
        snprintf(r->name, sizeof r->name, "%lx-%lx", (long)r->start, (long)r->end);
        known++;
    }
    if (maps)
        fclose(maps);
}

static uint64_t state = 88172645463325252u;
static uint64_t random_word(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % 3 ? state : state % 5 ? state & 0xffff : -(state & 0xff);
}

static void scatter(char *start, char *end, uint64_t (*word)(void))
{
    uint64_t bytes = end - start;
    for (unsigned turn = 0; turn < 20000; turn++)
        *(volatile uint64_t *)(start + (state % bytes & ~7ul)) = word(), random_word();
}
static uint64_t ones(void) { return -1; }

static void forge(char *ring, uint64_t size)
{
    _Atomic uint64_t *head = (void *)(ring + 1024);
    static const struct { uint32_t kind; uint16_t misc, size; } shapes[] = {
        {9, 2, 8}, {9, 0x4002, 65528}, {10, 2, 72}, {81, 0, 8}, {71, 0, 48}, {66, 0, 16},
        {64, 0, 136}, {80, 0, 24}, {83, 0, 65528}, {3, 2, 40}, {1, 2, 0}, {9, 2, 4}, {70, 0, 24}};
    for (unsigned turn = 0; turn < 300; turn++) {
        uint64_t at = *head % size;
        unsigned which = turn % (sizeof shapes / sizeof *shapes);
        for (unsigned word = 1; word < shapes[which].size / 8u; word++)
            *(volatile uint64_t *)(ring + 4096 + (at + 8 * word) % size) = random_word();
        memcpy(ring + 4096 + at, shapes + which, 8);
        *head += shapes[which].size ? shapes[which].size : 8;
        usleep(300);
    }
}

static void vandalise(const char *how)
{
    uint64_t big[512];
    for (unsigned word = 0; word < 512; word++)
        big[word] = random_word();
    Region *last = regions;
    for (unsigned at = 0; at < known; at++) {
        Region *r = regions + at;
        uint64_t bytes = r->end - r->start;
        char path[128];
        if (!strcmp(how, "random") && r->writable)
            scatter(r->start, r->end, random_word);
        if (!strcmp(how, "ones") && r->writable)
            scatter(r->start, r->end, ones);
        if (!strcmp(how, "mem")) {
            int fd = open("/proc/self/mem", O_RDWR);
            for (unsigned turn = 0; turn < 200; turn++)
                if (pwrite(fd, big, 64, (off_t)(r->start + (random_word() % bytes & ~63ul))) < 0)
                    break;
            close(fd);
        }
        if (!strcmp(how, "vm") && !fork()) {
            alarm(5);
            struct iovec mine = {big, sizeof big};
            for (unsigned turn = 0; turn < 200; turn++) {
                struct iovec its = {r->start + (random_word() % bytes & ~4095ul), sizeof big};
                process_vm_writev(parent, &mine, 1, &its, 1, 0);
            }
            _exit(0);
        }
        if (!strcmp(how, "advise") && r->writable)
            madvise(r->start, bytes, MADV_REMOVE), madvise(r->start, bytes, MADV_DONTNEED);
        if (!strcmp(how, "cut")) {
            snprintf(path, sizeof path, "/proc/self/map_files/%s", r->name);
            int fd = open(path, O_RDWR);
            if (fd >= 0 && (!ftruncate(fd, 0) || !ftruncate(fd, 1l << 40)))
                puts("cut");
            if (fd >= 0)
                fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1l << 30);
            close(fd);
        }
        if (!strcmp(how, "protect"))
            mprotect(r->start, bytes, PROT_NONE);
        if (!strcmp(how, "unmap"))
            munmap(r->start, bytes);
        if (!strcmp(how, "move"))
            mremap(r->start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)(1l << 40));
        if (r->start > last->start)
            last = r;
    }
    /* The ring is the one whose second page tells where its data are. */
    for (unsigned at = 0; at < known; at++) {
        Region *r = regions + at;
        if (!r->writable || *(uint64_t *)(r->start + 1040) != 4096)
            continue;
        if (!strcmp(how, "ring"))
            scatter(r->start, r->start + 4096, random_word), scatter(r->start, r->end, random_word);
        if (!strcmp(how, "forged"))
            forge(r->start, r->end - r->start - 4096);
        if (!strcmp(how, "keep")) {
            puts("kept");
            fflush(stdout);
            *(volatile uint64_t *)(r->start + 2048) = 1;
        }
        if (!strcmp(how, "lock"))
            for (unsigned turn = 0; turn < 20000; turn++) {
                *(volatile uint64_t *)(r->start + 2048) = 1;
                munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                       4096);
            }
    }
}

static volatile char memory[1 << 20];

int main(int count, char **words)
{
    alarm(5);
    parent = getpid();
    /* Records come before, meanwhile and after. */
    for (unsigned at = 0; at < 1u << 20; at += 64)
        memory[at]++;
    look();
    printf("found %u\n", known);
    fflush(stdout);
    vandalise(count > 1 ? words[1] : "random");
    while (wait(0) > 0) {
    }
    uint64_t sum = 0;
    for (unsigned at = 0; at < 1u << 20; at += 64)
        sum += memory[at]++;
    printf("sum %lu\n", (unsigned long)sum);
    return 0;
}
