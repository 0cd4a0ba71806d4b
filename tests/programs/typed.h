/* What a program tells of its objects, so that each access can be judged by its
 * address: "type NAME SIZE", "member TYPE OFFSET SIZE NAME", "object START BYTES TYPE".
 * Member names are there once in the whole program; those that lie over each other, as
 * those of unions do, are one name with bars. */
#ifndef TYPED_H
#define TYPED_H
#include <stddef.h>
#include <stdio.h>
#define TYPE(type) printf("type %s %zu\n", #type, sizeof(type))
#define MEMBER_AS(type, path, name) \
    printf("member %s %zu %zu %s\n", #type, offsetof(type, path), sizeof(((type *)0)->path), name)
#define MEMBER(type, path) MEMBER_AS(type, path, #path)
#define OBJECT(type, start, bytes) printf("object %p %zu %s\n", (void *)(start), (size_t)(bytes), #type)
#define NOINLINE __attribute__((noinline))
#endif
