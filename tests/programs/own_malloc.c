/* An allocator as musl's is: each function has a name of its own beside the known one, and there
 * are no unwind tables. Blocks that are given back are not given again. */
#include <stddef.h>
#include <string.h>

static _Alignas(16) char room[8 << 20];
static size_t used;

static void *own_malloc(size_t size) {
    size_t bytes = (size + 31) & ~(size_t)15;
    size_t start = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
    if (bytes < size || start + bytes > sizeof room) return NULL;
    memcpy(room + start, &size, sizeof size);
    return room + start + 16;
}

static void own_free(void *block) { (void)block; }

void *malloc(size_t) __attribute__((weak, alias("own_malloc")));
void free(void *) __attribute__((weak, alias("own_free")));

void *calloc(size_t items, size_t each) {
    void *block = own_malloc(items * each);
    return block ? memset(block, 0, items * each) : NULL;
}

void *realloc(void *old, size_t size) {
    size_t before = 0;
    void *block = own_malloc(size);
    if (old) memcpy(&before, (char *)old - 16, sizeof before);
    if (block && old) memcpy(block, old, before < size ? before : size);
    return block;
}
