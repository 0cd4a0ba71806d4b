/* chase [STEPS]: follows a random cycle through 64 MiB, a line a step. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    uint64_t rest[7];
};
#define NODES (64u * 1024 * 1024 / sizeof(struct node))

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

__attribute__((noinline)) static struct node *chase(struct node *at, long steps)
{
    while (steps--)
        at = at->next;
    return at;
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 4000000;
    struct node *nodes = aligned_alloc(64, NODES * sizeof *nodes);
    uint32_t *order = malloc(NODES * sizeof *order);
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; i > 0; i--) { /* one cycle through all */
        uint32_t other = (uint32_t)(next_random() % i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i].next = &nodes[order[i]];
    printf("%ld steps, end %ld\n", steps, (long)(chase(nodes, steps) - nodes));
    return 0;
}
