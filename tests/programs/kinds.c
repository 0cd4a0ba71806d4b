/* kinds: writes 1,000 words, a page apart, to memory of each kind that programs
 * get; the routine that writes has the kind's name. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1000 };

#define KIND(NAME)                                                                                 \
    __attribute__((noinline)) static void NAME(volatile char *at)                                  \
    {                                                                                              \
        for (long page = 0; page < PAGES; page++)                                                  \
            at[page * PAGE] = 1;                                                                   \
    }
KIND(heap)
KIND(grown)
KIND(segment)
KIND(memory_file)
KIND(moved)
KIND(anonymous)

static void *map(int flags, int fd, long pages)
{
    return mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
}

__attribute__((noinline)) static void deep(void)
{
    volatile char room[(PAGES + 1) * PAGE];
    grown(room);
}

int main(void)
{
    char *end = sbrk(0);
    while ((char *)sbrk(0) < end + (PAGES + 1) * PAGE)
        sbrk(64 * PAGE);
    heap(end + PAGE);
    deep();
    int id = shmget(IPC_PRIVATE, PAGES * PAGE, IPC_CREAT | 0600);
    void *attached = shmat(id, 0, 0);
    shmctl(id, IPC_RMID, 0);
    segment(attached);
    int fd = memfd_create("some", 0);
    if (ftruncate(fd, PAGES * PAGE))
        return 1;
    memory_file(map(MAP_SHARED, fd, PAGES));
    anonymous(map(MAP_PRIVATE | MAP_ANONYMOUS, -1, PAGES));
    void *small = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 1);
    moved(mremap(small, PAGE, PAGES * PAGE, MREMAP_MAYMOVE));
    return 0;
}
