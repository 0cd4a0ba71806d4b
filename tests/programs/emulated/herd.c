/* herd: many forked processes alive at once; each does some work, some fork
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int seed)
{
    static unsigned char table[4096];
    unsigned sum = seed;
    for (int i = 0; i < 20000; i++)
        sum = sum * 1103515245 + ++table[sum % sizeof table];
    return sum >> 16 & 0x3f;
}

int main(int count, char **arguments)
{
    int most = count > 1 ? atoi(arguments[1]) : 100, sum = 0, status, gate[2];
    char byte;
    if (pipe(gate))
        return 1;
    for (int i = 0; i < most; i++) {
        int child = fork();
        if (child < 0)
            return 2;
        if (child)
            continue;
        close(gate[1]);
        if (read(gate[0], &byte, 1))
            _exit(99);
        int own = work(i);
        if (i % 50 == 49) {
            if (!fork())
                _exit(work(i + 1));
            wait(&status);
            own += WEXITSTATUS(status);
        }
        _exit(own);
    }
    close(gate[1]);
    while (wait(&status) > 0)
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000000;
    printf("%d processes: %d\n", most, sum);
    return 0;
}
