/* corner: code with nothing free within reach of it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    const size_t reach = (size_t)4 << 30;
    unsigned char *at = mmap(NULL, 2 * reach, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    unsigned char *code = at + reach;
    mprotect(code, 4096, PROT_READ | PROT_WRITE);
    memcpy(code, "\xb8\x2a\0\0\0\xc3", 6); /* mov eax, 42; ret */
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    printf("before\n");
    fflush(stdout);
    printf("it says %d\n", ((int (*)(void))code)());
    fflush(stdout);
    usleep(100000);
    printf("after\n");
    return 6;
}
