/* Touches as many fresh pages as argv[1] says, one write each. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long pages = argc > 1 ? atol(argv[1]) : 0, size = sysconf(_SC_PAGESIZE);
    char *memory = mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    madvise(memory, pages * size, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        *(volatile char *)(memory + i * size) = 1;
    return 0;
}
