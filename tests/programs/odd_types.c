/* Structures and unions of every odd kind, to compare layouts with pahole's. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plain { char a; int b; char c; double d; short e; };
struct bits { unsigned a : 3; unsigned b : 5; unsigned : 0; unsigned c : 9; int d : 23; char e; unsigned f : 1; };
struct bits_apart { char a; long long b : 40; long long c : 24; short d : 9; short e : 7; unsigned char f : 2; };
struct bits_across { uint32_t a : 20; uint32_t b : 20; uint64_t c : 50; uint8_t d : 7; uint16_t e : 3; };
struct __attribute__((packed)) tight { char a; int b; short c; long long d; unsigned e : 7; unsigned f : 30; };
struct __attribute__((aligned(128))) wide { int a; char b[130]; };
struct aligned_member { char a; int b __attribute__((aligned(32))); char c; };
struct nameless { int kind; union { int i; float f; struct { char lo, hi; short rest; }; double d; }; struct { int x; char y; } point; int last; };
union either { char bytes[24]; struct { long a; struct plain b; } both; unsigned flags : 12; };
struct matrix { int a[3][5]; char names[4][7][2]; struct plain cells[2][2]; };
struct flexible { uint16_t count; struct plain items[]; };
struct old_flexible { uint32_t count; char bytes[0]; };
struct node { struct node *next, **previous; int (*compare)(const struct node *, const void *, ...); void *const fixed; const volatile char *volatile text; enum color { RED, GREEN = 7, BLUE = -2 } color; struct hidden *hidden; };
struct outer { struct inner { char a; long b; } in[3]; struct inner *other; union either one; struct bits bits[2]; _Bool yes; __int128 huge; long double real; _Complex float wave; };
struct empty { };
struct has_empty { struct empty e; int a; struct empty f; };
typedef struct { int a; char b; long c; } typed;
typedef struct { typed t; struct { typed u[2]; }; } typed_more;
struct uses { typed t; typed_more m; typed *p; int (*table[4])(typed, int); int (*rows)[8]; };
struct __attribute__((packed)) tight_bits { uint8_t a : 3; uint16_t b : 11; uint32_t c : 17; uint64_t d : 33; };
typedef int four_ints __attribute__((vector_size(16)));
struct vectors { char a; four_ints v; char b; };
struct big { char page[4096]; struct plain tail; };

struct plain plain; struct bits bits; struct bits_apart bits_apart; struct bits_across bits_across; struct tight tight;
struct wide wide; struct aligned_member aligned_member; struct nameless nameless; union either either; struct matrix matrix;
struct flexible *flexible; struct old_flexible old_flexible; struct node node; struct outer outer; struct has_empty has_empty;
struct uses uses; struct tight_bits tight_bits; struct vectors vectors; struct big big;

int main(void)
{
    struct local { char a; struct { short b; int c; } in; long d; } local = { 0 };
    printf("%zu\n", sizeof local + offsetof(struct nameless, last));
    return 0;
}
