/* siblings: code that a process made; its children change it, each for
 * itself. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*function)(void);

/* mov eax, n; ret */
static void put(unsigned char *at, int n)
{
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &n, 4);
    memcpy(at, code, sizeof code);
}

int main(void)
{
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    put(code, 1);
    int sum = ((function)code)();
    for (int i = 0; i < 5; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            int before = ((function)code)();
            put(code, 10 + i);
            _exit(before * 100 + ((function)code)());
        }
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
        sum += ((function)code)();
    }
    printf("sum %d\n", sum);
    return 0;
}
