/* lines HOW: two threads, and how they share a line of memory.
 *
 *   true        both add to one number
 *   false       each adds to a number of its own in one struct, in one line
 *   neighbours  each adds to a variable of its own; both lie in one line
 *   apart       each adds to a number of its own, in a line of its own
 *   read        one wrote a table before; both read it
 *
 * stdout: sum SUM. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 1000000

static struct {
    _Alignas(64) volatile long first;
    volatile long second;
} together;
static struct {
    _Alignas(64) volatile long number;
} apart[2];
static _Alignas(64) volatile long table[8];
/* Two variables in one line: compilers order theirs as they like. */
extern volatile long left, right;
__asm__(".pushsection .data\n"
        ".balign 64\n"
        ".globl left, right\n"
        ".type left, @object\n"
        ".size left, 8\n"
        "left: .quad 0\n"
        ".type right, @object\n"
        ".size right, 8\n"
        "right: .quad 0\n"
        ".balign 64\n"
        ".popsection\n");

static volatile long *own[2];
static volatile long sums[2 * 64];

static void *adds(void *number)
{
    volatile long *at = own[(long)number];
    for (int round = 0; round < ROUNDS; round++)
        ++*at;
    return NULL;
}

static void *reads(void *number)
{
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        sum += table[round % 8];
    sums[(long)number * 64] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    void *(*work)(void *) = adds;
    pthread_t threads[2];
    if (!strcmp(how, "true")) {
        own[0] = own[1] = &together.first;
    } else if (!strcmp(how, "false")) {
        own[0] = &together.first;
        own[1] = &together.second;
    } else if (!strcmp(how, "neighbours")) {
        own[0] = &left;
        own[1] = &right;
    } else if (!strcmp(how, "apart")) {
        own[0] = &apart[0].number;
        own[1] = &apart[1].number;
    } else if (!strcmp(how, "read")) {
        work = reads;
        for (int index = 0; index < 8; index++)
            table[index] = index;
    } else {
        return 2;
    }
    for (long number = 0; number < 2; number++)
        if (pthread_create(&threads[number], NULL, work, (void *)number))
            return 1;
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    printf("sum %ld\n", together.first + together.second + left + right + apart[0].number
                            + apart[1].number + sums[0] + sums[64]);
    return 0;
}
