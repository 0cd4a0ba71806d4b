/* nodes ROUNDS: walks a list of 512 structures 8 KiB apart, aligned to their
 * size, ROUNDS times. Their first lines lie in one set of a first-level cache
 * of 64 sets: each visit of a node misses once.
 *
 * stdout: sum SUM / visits COUNT. */
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
    char rest[8192 - 2 * sizeof(long)];
};

#define NODES 512

static struct node nodes[NODES] __attribute__((aligned(8192)));

static inline __attribute__((always_inline)) long value_of(const struct node *node)
{
    return node->value ^ node->value >> 3;
}

__attribute__((noinline)) long walk_nodes(const struct node *node)
{
    long sum = 0;
    while (node) {
        sum += value_of(node);
        node = node->next;
    }
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 4;
    for (long index = 0; index < NODES; index++) {
        nodes[index].value = index;
        nodes[index].next = index + 1 < NODES ? &nodes[index + 1] : NULL;
    }
    long sum = 0;
    for (long round = 0; round < rounds; round++)
        sum += walk_nodes(nodes);
    printf("sum %ld\nvisits %ld\n", sum, rounds * NODES);
    return 0;
}
