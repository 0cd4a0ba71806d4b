/* Prints the address of a word, waits for a line, writes the word as many
 * times as argv[1] says. */
#include <stdio.h>
#include <stdlib.h>

static volatile long word;

int main(int argc, char **argv)
{
    long writes = argc > 1 ? atol(argv[1]) : 0;
    printf("%p\n", (void *)&word);
    fflush(stdout);
    getchar();
    for (long i = 0; i < writes; i++)
        word = i;
    return 0;
}
