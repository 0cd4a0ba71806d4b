/* corner [child]: code with nothing free within reach of it; in a child, whose
 * parent works when it has ended. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char memory[1 << 20];

int main(int count, char **words)
{
    if (count > 1 && fork()) {
        int status;
        wait(&status);
        for (unsigned at = 0; at < sizeof memory; at += 64)
            memory[at]++;
        printf("child %d\n", WEXITSTATUS(status));
        return 3;
    }
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
