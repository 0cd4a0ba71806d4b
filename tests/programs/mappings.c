/* Memory that a program maps itself, and how many pages of it touch() writes: "PAGES mapping of
 * BYTES from ROUTINE", as a report is to call it, and the same of a block that malloc(3) maps.
 *
 * Each page is written once after it was mapped, so that stores of touch() and page faults are as
 * many. ROUTINE is who mapped what the page is of: mmap(2) over the rest of another
 * mapping, what is left of a mapping on both sides of a hole, what mremap(2) moved and made
 * longer, and an address that two routines map one after the other. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))
#define PAGE 4096
#define THREADS 4
#define BOTH (PROT_READ | PROT_WRITE)
#define OWN (MAP_PRIVATE | MAP_ANONYMOUS)

NOINLINE static void touch(volatile char *at, long pages) {
    for (long i = 0; i < pages; i++) at[i * PAGE] = 1;
}

static char *checked(void *at) {
    if (at == MAP_FAILED) perror("mmap"), exit(1);
    return at;
}

NOINLINE static char *arena_new(long pages) {
    char *at = checked(mmap(NULL, pages * PAGE, BOTH, OWN, -1, 0));
    return at;
}

NOINLINE static char *load_file(long pages) {
    int file = open("mappings.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, pages * PAGE)) perror("mappings.bin"), exit(1);
    char *at = checked(mmap(NULL, pages * PAGE, BOTH, MAP_PRIVATE, file, 0));
    close(file);
    return at;
}

NOINLINE static char *split_up(long pages) {
    char *at = checked(mmap(NULL, 3 * pages * PAGE, BOTH, OWN, -1, 0));
    munmap(at + pages * PAGE, pages * PAGE);
    return at;
}

NOINLINE static char *fill_gap(char *at, long pages) {
    char *gap = checked(mmap(at, pages * PAGE, BOTH, OWN | MAP_FIXED_NOREPLACE, -1, 0));
    return gap;
}

NOINLINE static void replace(char *at, long pages) {
    checked(mmap(at, pages * PAGE, BOTH, OWN | MAP_FIXED, -1, 0));
}

NOINLINE static char *grow(char *at, long from, long to) {
    char *grown = checked(mremap(at, from * PAGE, to * PAGE, MREMAP_MAYMOVE));
    return grown;
}

NOINLINE static char *reserve(long pages) {
    char *at = checked(mmap(NULL, pages * PAGE, PROT_NONE, OWN, -1, 0));
    return at;
}

NOINLINE static char *first_of_two(long pages) {
    char *at = checked(mmap(NULL, pages * PAGE, BOTH, OWN, -1, 0));
    return at;
}

NOINLINE static char *to_be_grown(long pages) {
    char *at = checked(mmap(NULL, pages * PAGE, BOTH, OWN, -1, 0));
    return at;
}

NOINLINE static char *second_of_two(char *at, long pages) {
    char *again = checked(mmap(at, pages * PAGE, BOTH, OWN | MAP_FIXED_NOREPLACE, -1, 0));
    return again;
}

NOINLINE static void *of_thread(void *unused) {
    char *at = checked(mmap(NULL, 8 * PAGE, BOTH, OWN, -1, 0));
    touch(at, 8);
    munmap(at, 8 * PAGE);
    return unused;
}

NOINLINE static char *blocks(long pages) {
    char *at = malloc(pages * PAGE);
    if (!at) exit(1);
    return at;
}

int main(void) {
    char *arena = arena_new(64);
    touch(arena, 20);
    char *file = load_file(9);
    touch(file, 9);
    char *split = split_up(10);
    touch(split, 10), touch(split + 20 * PAGE, 10);
    touch(fill_gap(split + 10 * PAGE, 10), 10);
    replace(arena + 40 * PAGE, 10);
    touch(arena + 38 * PAGE, 2), touch(arena + 40 * PAGE, 10), touch(arena + 50 * PAGE, 3);
    char *small = to_be_grown(4);
    touch(small, 4);
    char *grown = grow(small, 4, 48);
    touch(grown + 4 * PAGE, 44);
    char *place = reserve(60);
    char *moved = mremap(grown, 48 * PAGE, 60 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    touch(checked(moved) + 48 * PAGE, 12);
    char *first = first_of_two(16);
    touch(first, 16);
    munmap(first, 16 * PAGE);
    touch(second_of_two(first, 16), 16);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, of_thread, NULL)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    /* The first page has the allocator's own words. */
    char *block = blocks(72);
    touch(block + PAGE, 70);
    puts("25 mapping of 256 KiB from arena_new");
    puts("9 mapping of mappings.bin, 36 KiB, from load_file");
    puts("20 mapping of 120 KiB from split_up");
    puts("10 mapping of 40 KiB from fill_gap");
    puts("10 mapping of 40 KiB from replace");
    puts("60 mapping of 16 KiB to 240 KiB from to_be_grown");
    puts("16 mapping of 64 KiB from first_of_two");
    puts("16 mapping of 64 KiB from second_of_two");
    printf("%d %d mappings of 32 KiB from of_thread\n", THREADS * 8, THREADS);
    puts("70 block from blocks");
    free(block);
    return 0;
}
