/* Accesses of known type in C: lists, also by an embedded link; arrays by index and by
 * pointer; structures in each other, unions, bit fields, an array at the end, tables of
 * pointers, data behind void pointers, structures on the stack and in static memory. */
#include "typed.h"
#include <stdlib.h>
#include <string.h>

struct link { struct link *after, *prior; };
struct spot { int east, north; };
struct node {
    struct node *next;
    long key;
    struct spot corner[3];
    union { double wide; long whole; } value;
    unsigned low : 3, high : 5;
    char name[16];
};
struct item { long weight; struct link chain; int rank; };
typedef struct { char label[24]; long amount; short grade; } entry_t;
typedef entry_t *entry_p;
struct bucket { struct item **slots; size_t used; };
struct vector { int length; float numbers[]; };
struct context { long total; int (*compare)(const void *, const void *, void *); void *user; };
struct limits { long least, most; };

struct tower {
    struct tower *below;
    double score;
    struct { struct tower *forward; unsigned long span; } level[];
};
struct chunk { unsigned long before, size; struct chunk *fd, *bk; };
struct pair { struct pair *follow; long mark; };
struct index { char *label; struct pair **halves[2]; unsigned long mask[2]; };

static entry_t table[500];
static struct bucket buckets[16];
static struct { long hits; long visits[8]; } counters;
static struct node *head;
static struct link ring = {&ring, &ring};
static volatile long sink;

NOINLINE static void build(int count) {
    for (int i = 0; i < count; i++) {
        struct node *n = malloc(sizeof *n);
        OBJECT(struct node, n, sizeof *n);
        n->key = i;
        n->corner[i % 3].north = i;
        n->corner[1].east = 2;
        n->value.wide = i;
        n->low = i & 3;
        n->name[3] = 'x';
        n->next = head;
        head = n;
    }
}

NOINLINE static long walk(const struct node *n) {
    long sum = 0;
    for (; n; n = n->next) {
        sum += n->key + n->corner[2].north + n->low;
        if (n->key & 1) sum += n->value.whole;
        else sum += n->name[n->key & 7];
    }
    return sum;
}

NOINLINE static void enlist(int count) {
    for (int i = 0; i < count; i++) {
        struct item *it = malloc(sizeof *it);
        OBJECT(struct item, it, sizeof *it);
        it->weight = i, it->rank = i % 7;
        struct link *last = ring.prior;
        it->chain.after = &ring, it->chain.prior = last;
        last->after = &it->chain, ring.prior = &it->chain;
    }
}

#define COPIED 32

/* No variable leads to what it copies: other accesses to such blocks tell. */
NOINLINE static void copy(void *to, const void *from) { memcpy(to, from, COPIED); }

NOINLINE static void copy_blocks(void) {
    char room[COPIED];
    for (int round = 0; round < 6; round++) {
        for (struct node *n = head; n; n = n->next) copy(room, n), sink += room[8];
        for (struct link *at = ring.after; at != &ring; at = at->after)
            copy(room, (char *)at - offsetof(struct item, chain)), sink += room[0];
    }
}

NOINLINE static void fill_node(struct node *n, int i) { n->key = i, n->corner[0].east = i; }
NOINLINE static void fill_pairs(struct pair *p, int i) { p->mark = i, p[3].mark = i; }

/* Blocks that tell nothing of others: a pool that begins with a node, and blocks of one size
 * from one place, of which each second holds something else. */
NOINLINE static void copy_mixed(void) {
    char room[COPIED];
    struct node *pool = calloc(10, sizeof *pool);
    pool->key = sink, pool->next = NULL, pool->value.whole = sink;
    copy(room, pool), sink += room[0];
    for (int i = 0; i < 20; i++) {
        void *block = calloc(1, sizeof(struct node));
        if (i & 1) fill_node(block, i);
        else fill_pairs(block, i);
        copy(room, block), sink += room[8];
    }
}

#define CONTAINER(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

NOINLINE static long ringed(void) {
    long sum = 0;
    for (struct link *at = ring.after; at != &ring; at = at->after) {
        struct item *it = CONTAINER(at, struct item, chain);
        sum += it->weight * it->rank;
    }
    return sum;
}

NOINLINE static void hash(void) {
    for (struct link *at = ring.after; at != &ring; at = at->after) {
        struct item *it = CONTAINER(at, struct item, chain);
        struct bucket *b = &buckets[it->weight & 15];
        if (!b->slots) b->slots = calloc(64, sizeof *b->slots);
        b->slots[b->used++] = it;
    }
}

NOINLINE static long look(long wanted) {
    struct bucket *b = buckets + (wanted & 15);
    for (size_t i = 0; i < b->used; i++)
        if (b->slots[i]->weight == wanted) return b->slots[i]->rank;
    return -1;
}

NOINLINE static long by_index(entry_t *entries, int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) sum += entries[i].amount + entries[i].grade;
    return sum;
}

NOINLINE static long by_pointer(entry_p at, entry_p end) {
    long sum = 0;
    for (; at < end; at++) sum += at->amount - at->label[1];
    return sum;
}

NOINLINE static void scatter(entry_t *entries, const int *order, int count) {
    for (int i = 0; i < count; i++) {
        entries[order[i]].amount += i;
        entries[order[i]].grade = i;
        counters.visits[i & 7]++;
    }
    counters.hits += count;
}

NOINLINE static float add(struct vector *v) {
    float sum = 0;
    for (int i = 0; i < v->length; i++) sum += v->numbers[i] * v->numbers[v->length - 1 - i];
    return sum;
}

#define LEVELS 6

/* The compiler counts the level from one, so that what it adds begins before the array. */
NOINLINE static unsigned long skip(const struct tower *at, double score) {
    unsigned long rank = 0;
    for (int i = LEVELS - 1; i >= 0; i--)
        while (at->level[i].forward && at->level[i].forward->score < score) {
            rank += at->level[i].span;
            at = at->level[i].forward;
        }
    return rank;
}

NOINLINE static struct tower *raise_towers(int count) {
    size_t bytes = sizeof(struct tower) + LEVELS * sizeof(((struct tower *)0)->level[0]);
    printf("type struct tower %zu\nmember struct tower 0 8 below\n", bytes);
    printf("member struct tower 8 8 score\n");
    for (int i = 0; i < LEVELS; i++)
        printf("member struct tower %d 8 forward\nmember struct tower %d 8 span\n", 16 + 16 * i, 24 + 16 * i);
    struct tower *first = calloc(1, bytes), *last[LEVELS];
    OBJECT(struct tower, first, bytes);
    for (int i = 0; i < LEVELS; i++) last[i] = first;
    for (int n = 1; n < count; n++) {
        struct tower *it = calloc(1, bytes);
        OBJECT(struct tower, it, bytes);
        it->score = n;
        for (int i = 0; i < LEVELS && n % (1 << i) == 0; i++) {
            last[i]->level[i].forward = it;
            last[i]->level[i].span = 1 << i;
            last[i] = it;
        }
    }
    return first;
}

/* What follows lies as many bytes behind as the chunk has: no index of an array. */
NOINLINE static unsigned long neighbours(const struct chunk *at, const struct chunk *end) {
    unsigned long sum = 0;
    while (at < end) {
        unsigned long bytes = at->size;
        sum += ((const struct chunk *)((const char *)at + bytes))->size & 1;
        at = (const struct chunk *)((const char *)at + bytes);
    }
    return sum;
}

NOINLINE static long find(const struct index *in, unsigned long mark) {
    for (int half = 0; half < 2; half++)
        for (const struct pair *it = in->halves[half][mark & in->mask[half]]; it; it = it->follow)
            if (it->mark == (long)mark) return half;
    return -1;
}

static int by_rank(const void *a, const void *b, void *user) {
    const struct item *const *x = a, *const *y = b;
    *(long *)user += 1;
    return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

NOINLINE static void each(struct context *c, struct item **items, size_t count) {
    for (size_t i = 1; i < count; i++)
        c->total += c->compare(&items[i - 1], &items[i], c->user);
}

NOINLINE static void bound(const int *numbers, int count, struct limits *out) {
    out->least = numbers[0], out->most = numbers[0];
    for (int i = 1; i < count; i++) {
        if (numbers[i] < out->least) out->least = numbers[i];
        if (numbers[i] > out->most) out->most = numbers[i];
    }
}

NOINLINE static long spread(const int *numbers, int count) {
    struct limits limits;
    bound(numbers, count, &limits);
    return limits.most - limits.least;
}

int main(void) {
    TYPE(struct node), TYPE(struct item), TYPE(entry_t), TYPE(struct bucket), TYPE(struct link);
    TYPE(struct context), TYPE(struct spot);
    MEMBER(struct node, next), MEMBER(struct node, key);
    for (int i = 0; i < 3; i++)
        for (int part = 0; part < 2; part++)
            printf("member struct node %zu 4 %s\n", offsetof(struct node, corner) + 8 * i + 4 * part,
                   part ? "north" : "east");
    MEMBER_AS(struct node, value, "wide|whole"), MEMBER(struct node, name);
    printf("member struct node %zu 4 low|high\n", offsetof(struct node, value) + 8);
    MEMBER(struct item, weight), MEMBER(struct item, rank);
    MEMBER_AS(struct item, chain.after, "after"), MEMBER_AS(struct item, chain.prior, "prior");
    MEMBER(struct link, after), MEMBER(struct link, prior);
    MEMBER(entry_t, label), MEMBER(entry_t, amount), MEMBER(entry_t, grade);
    MEMBER(struct bucket, slots), MEMBER(struct bucket, used);
    MEMBER(struct context, total), MEMBER(struct context, compare), MEMBER(struct context, user);
    printf("type counters %zu\n", sizeof counters);
    printf("member counters 0 8 hits\nmember counters 8 64 visits\n");
    OBJECT(entry_t, table, sizeof table), OBJECT(struct bucket, buckets, sizeof buckets);
    OBJECT(struct link, &ring, sizeof ring), OBJECT(counters, &counters, sizeof counters);
    build(200), enlist(200);
    entry_t *mine = calloc(300, sizeof *mine);
    OBJECT(entry_t, mine, 300 * sizeof *mine);
    int *order = malloc(300 * sizeof *order);
    for (int i = 0; i < 300; i++) order[i] = i * 7 % 300;
    struct vector *v = malloc(sizeof *v + 100 * sizeof(float));
    printf("type struct vector %zu\nmember struct vector 0 4 length\n", sizeof *v + 100 * sizeof(float));
    printf("member struct vector 4 400 numbers\n");
    OBJECT(struct vector, v, sizeof *v + 100 * sizeof(float));
    v->length = 100;
    for (int i = 0; i < 100; i++) v->numbers[i] = i;
    TYPE(struct pair), TYPE(struct index), MEMBER(struct pair, follow), MEMBER(struct pair, mark);
    MEMBER(struct index, label), MEMBER(struct index, halves), MEMBER(struct index, mask);
    struct tower *towers = raise_towers(64);
    TYPE(struct chunk), MEMBER(struct chunk, before), MEMBER(struct chunk, size);
    MEMBER(struct chunk, fd), MEMBER(struct chunk, bk);
    char *arena = calloc(1, 4096);
    char *brim = arena;
    for (; brim < arena + 4000; brim += ((struct chunk *)brim)->size) {
        OBJECT(struct chunk, brim, sizeof(struct chunk));
        ((struct chunk *)brim)->size = 16;
        /* One of 16 bytes is followed by one of more. */
        brim += 16;
        OBJECT(struct chunk, brim, sizeof(struct chunk));
        ((struct chunk *)brim)->size = 48;
    }
    OBJECT(struct chunk, brim, sizeof(struct chunk));
    struct index *index = calloc(1, sizeof *index);
    OBJECT(struct index, index, sizeof *index);
    for (int half = 0; half < 2; half++) {
        index->mask[half] = half ? 15 : 7;
        index->halves[half] = calloc(index->mask[half] + 1, sizeof(struct pair *));
    }
    for (int i = 0; i < 100; i++) {
        struct pair *it = calloc(1, sizeof *it), **bin = &index->halves[i & 1][i & index->mask[i & 1]];
        OBJECT(struct pair, it, sizeof *it);
        it->mark = i, it->follow = *bin, *bin = it;
    }
    hash();
    for (int i = 0; i < 100; i++) sink += skip(towers, i % 64) + find(index, i);
    sink += neighbours((struct chunk *)arena, (struct chunk *)brim);
    for (int round = 0; round < 3; round++) {
        sink += walk(head) + ringed() + by_index(table, 500) + by_pointer(mine, mine + 300);
        scatter(mine, order, 300), scatter(table, order, 300);
        for (int i = 0; i < 200; i++) sink += look(i);
        sink += add(v) + spread(order, 300);
    }
    copy_blocks();
    copy_mixed();
    long compared = 0;
    struct context context = {0, by_rank, &compared};
    OBJECT(struct context, &context, sizeof context);
    for (int i = 0; i < 16; i++) each(&context, buckets[i].slots, buckets[i].used);
    sink += context.total;
    return 0;
}
