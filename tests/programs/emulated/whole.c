/* whole: calls that name all of memory, which fail, and work before and
 * between them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static volatile char memory[1 << 20];

static void work(void)
{
    for (unsigned at = 0; at < sizeof memory; at += 64)
        memory[at]++;
}

int main(void)
{
    size_t all = ~(size_t)4095;
    work();
    int result = munmap(NULL, all);
    printf("munmap %d, %s\n", result, strerror(errno));
    work();
    /* Nothing is mapped at its begin. */
    result = mprotect(NULL, all, PROT_READ);
    printf("mprotect %d, %s\n", result, strerror(errno));
    work();
    return 4;
}
