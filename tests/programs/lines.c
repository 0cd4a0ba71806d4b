/* lines HOW [ROUNDS]: two threads, or three, and how they share a line of memory.
 *
 *   true        both add to one number
 *   false       each adds to a number of its own in one struct, in one line
 *   neighbours  each adds to a variable of its own; both lie in one line
 *   apart       each adds to a number of its own, in a line of its own
 *   read        one wrote a table before; both read it
 *   atomic      both add to one number, each time at once
 *   producer    one writes a number, the other one reads it
 *   reader      one writes a number, the other one reads its neighbour
 *   heap        each adds to a number of its own in one array on the heap
 *   both        two add to one number, a third one to its neighbour
 *   summed      each adds to a number of its own in one struct, of which all was
 *               written before they began and is added up when they are done
 *
 * ROUNDS: how often each of them; a million where it is not said.
 * stdout: sum SUM, of what each has seen last; nobody else looks at the lines. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


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

#define MOST 3
static volatile long *own[MOST];
static long rounds = 1000000;
static volatile long sums[MOST * 64];
/* On a busy machine one would be done before the other begins, and share nothing. */
static pthread_barrier_t all;

static void *adds(void *number)
{
    volatile long *at = own[(long)number];
    pthread_barrier_wait(&all);
    for (long round = 0; round < rounds; round++)
        ++*at;
    sums[(long)number * 64] = *at;
    return NULL;
}

static void *reads(void *number)
{
    long sum = 0;
    pthread_barrier_wait(&all);
    for (long round = 0; round < rounds; round++)
        sum += table[round % 8];
    sums[(long)number * 64] = sum;
    return NULL;
}

static void *adds_at_once(void *number)
{
    pthread_barrier_wait(&all);
    for (long round = 0; round < rounds; round++)
        __atomic_fetch_add(own[(long)number], 1, __ATOMIC_RELAXED);
    sums[(long)number * 64] = *own[(long)number];
    return NULL;
}

static void *looks(void *number)
{
    const volatile long *at = own[(long)number];
    long sum = 0;
    pthread_barrier_wait(&all);
    for (long round = 0; round < rounds; round++)
        sum += *at;
    sums[(long)number * 64] = sum & 1;
    return NULL;
}

static void prepare(void)
{
    for (long round = 0; round < rounds; round++) {
        together.first = 0;
        together.second = 0;
    }
}

static long add_up(void)
{
    long sum = 0;
    for (long round = 0; round < rounds; round++)
        sum = together.first + together.second;
    return sum;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    void *(*work)(void *) = adds;
    void *(*others)(void *) = NULL;
    pthread_t threads[MOST];
    long count = 2;
    if (argc > 2)
        rounds = atol(argv[2]);
    if (!strcmp(how, "true")) {
        own[0] = own[1] = &together.first;
    } else if (!strcmp(how, "false")) {
        own[0] = &together.first;
        own[1] = &together.second;
    } else if (!strcmp(how, "summed")) {
        own[0] = &together.first;
        own[1] = &together.second;
        prepare();
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
    } else if (!strcmp(how, "atomic")) {
        work = adds_at_once;
        own[0] = own[1] = &together.first;
    } else if (!strcmp(how, "producer")) {
        others = looks;
        own[0] = own[1] = &together.first;
    } else if (!strcmp(how, "reader")) {
        others = looks;
        own[0] = &together.first;
        own[1] = &together.second;
    } else if (!strcmp(how, "heap")) {
        volatile long *numbers = aligned_alloc(64, 64);
        if (!numbers)
            return 1;
        numbers[0] = numbers[1] = 0;
        own[0] = &numbers[0];
        own[1] = &numbers[1];
    } else if (!strcmp(how, "both")) {
        count = 3;
        own[0] = own[1] = &together.first;
        own[2] = &together.second;
    } else {
        return 2;
    }
    if (pthread_barrier_init(&all, NULL, count))
        return 1;
    for (long number = 0; number < count; number++)
        if (pthread_create(&threads[number], NULL, number && others ? others : work,
                           (void *)number))
            return 1;
    for (int number = 0; number < count; number++)
        pthread_join(threads[number], NULL);
    long sum = strcmp(how, "summed") ? 0 : add_up();
    for (long number = 0; number < count; number++)
        sum += sums[number * 64];
    printf("sum %ld\n", sum);
    return 0;
}
