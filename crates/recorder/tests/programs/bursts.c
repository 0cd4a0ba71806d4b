/* For each line on stdin, touches as many fresh pages as argv[1] says and
 * prints "done"; in between it does nothing at all. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char line[16] = "warm";

int main(int argc, char **argv)
{
    long pages = argc > 1 ? atol(argv[1]) : 0, size = sysconf(_SC_PAGESIZE);
    while (read(0, line, sizeof line) > 0) {
        char *memory =
            mmap(0, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || madvise(memory, pages * size, MADV_NOHUGEPAGE))
            return 1;
        for (long i = 0; i < pages; i++)
            *(volatile char *)(memory + i * size) = 1;
        munmap(memory, pages * size);
        if (write(1, "done\n", 5) != 5)
            return 1;
    }
    return 0;
}
