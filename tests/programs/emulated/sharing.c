/* sharing ROUNDS: two threads take turns. In its turn each reads and writes a
 * line, writes a second one, and writes a third that is its own.
 *
 * stdout: load ADDRESS, store ADDRESS, other ADDRESS, own ADDRESS: the
 * instructions that do it. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct line {
    long word;
    char rest[120];
} __attribute__((aligned(128)));

static struct line turn, read_and_written, written, owned[2];
static long rounds, done;
extern char shared_load[], shared_store[], other_store[], own_store[];

__attribute__((noinline)) static void one_turn(long me)
{
    __asm__ volatile(".globl shared_load, shared_store, other_store, own_store\n"
                     "shared_load: mov (%0), %%rax\n"
                     "inc %%rax\n"
                     "shared_store: mov %%rax, (%0)\n"
                     "other_store: mov %%rax, (%1)\n"
                     "own_store: mov %%rax, (%2)\n" ::"r"(&read_and_written.word),
                     "r"(&written.word), "r"(&owned[me].word)
                     : "rax", "memory");
}

static void *take_turns(void *number)
{
    long me = (long)number;
    for (long i = 0; i < rounds; i++) {
        while (__atomic_load_n(&turn.word, __ATOMIC_ACQUIRE) != me)
            sched_yield();
        one_turn(me);
        __atomic_store_n(&turn.word, !me, __ATOMIC_RELEASE);
    }
    /* Who ended before the other's last turn would take its cache along, and
     * the line that it had modified. */
    __atomic_add_fetch(&done, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < 2)
        sched_yield();
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 100;
    printf("load %p\nstore %p\nother %p\nown %p\n", shared_load, shared_store, other_store, own_store);
    fflush(stdout);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take_turns, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return read_and_written.word == 2 * rounds ? 0 : 1;
}
