/* Blocks of an allocator in the program itself: own_malloc.c. */
#include "heap.h"

enum { ASKED = __LINE__ + 1 };
__attribute__((noinline)) static void *for_another(void) { return malloc(300); }

int main(void) {
    begin();
    for (int round = 0; round < 50; round++) {
        void *block = malloc(100);
        written(block, 100, __LINE__ - 1, 7);
        free(block);
        void *other = for_another();
        written(other, 300, ASKED, 11);
        free(other);
    }
    void *items = calloc(3, 40);
    written(items, 120, __LINE__ - 1, 5);
    items = realloc(items, 900);
    written(items, 900, __LINE__ - 1, 9);
    void *last = malloc(1);
    written(last, 1, __LINE__ - 1, 13);
    tell("heap_aliased.c");
    return 0;
}
