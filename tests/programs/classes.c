/* classes PAGES [jit]: touches fresh pages, each once, by one memory
 * instruction of each of several classes; site N touches PAGES + N of them.
 *
 * stdout holds the truth, written before the first touch: lines
 *   site NAME COUNT
 * NAME is the routine's, whose one instruction that faults its name tells.
 *
 * With `jit`, one more site lies in memory without a file; it says `ready`,
 * reads a line, touches, says `done`, and lives until its stdin ends.
 *
 * Linked static and at fixed addresses, so two runs differ in nothing. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Site: its name, what is done before, the instruction on (%rdi), what is
 * done after. The whole section is within one page. */
#define SITES(site)                                                                                \
    site(addps, "", "addps (%rdi), %xmm0", "")                                                     \
    site(mulpd, "", "mulpd (%rdi), %xmm0", "")                                                     \
    site(addss, "", "addss (%rdi), %xmm0", "")                                                     \
    site(cvttsd2si, "", "cvttsd2si (%rdi), %eax", "")                                              \
    site(paddd_mm, "", "paddd (%rdi), %mm0", "emms")                                               \
    site(paddq_xmm, "", "paddq (%rdi), %xmm0", "")                                                 \
    site(fadds, "fld1", "fadds (%rdi)", "fstp %st(0)")                                             \
    site(fldl, "", "fldl (%rdi)", "fstp %st(0)")                                                   \
    site(movaps_load, "", "movaps (%rdi), %xmm0", "")                                              \
    site(movups_store, "", "movups %xmm0, (%rdi)", "")                                             \
    site(movq_mm_store, "", "movq %mm0, (%rdi)", "emms")                                           \
    site(mov_load, "", "mov (%rdi), %eax", "")                                                     \
    site(mov_store, "", "mov %eax, (%rdi)", "")                                                    \
    site(add_both, "", "addl $1, (%rdi)", "")

#define DECLARE(name, before, instruction, after) extern void class_##name(char *page);
#define CODE(name, before, instruction, after)                                                     \
    ".globl class_" #name "\n.type class_" #name ", @function\n"                                   \
    "class_" #name ":\n" before "\n" instruction "\n" after "\nret\n"                              \
    ".size class_" #name ", . - class_" #name "\n"
#define ENTRY(name, before, instruction, after) {"class_" #name, class_##name},

__asm__(".pushsection .text.classes, \"ax\"\n.balign 4096\n" SITES(CODE) ".popsection\n");
SITES(DECLARE)

static const struct {
    const char *name;
    void (*touch)(char *page);
} sites[] = {SITES(ENTRY)};
#define COUNT (sizeof sites / sizeof sites[0])

static char *fresh(size_t pages)
{
    char *base =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || madvise(base, pages * 4096, MADV_NOHUGEPAGE)) {
        perror("classes: mmap");
        exit(1);
    }
    return base;
}

/* addps (%rdi), %xmm0; ret */
static void jit(size_t pages)
{
    static const unsigned char code[] = {0x0f, 0x58, 0x07, 0xc3};
    char line[80];
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *base = fresh(pages);
    if (memory == MAP_FAILED) {
        perror("classes: mmap");
        exit(1);
    }
    memcpy(memory, code, sizeof code);
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(1);
    for (size_t page = 0; page < pages; page++)
        ((void (*)(char *))memory)(base + page * 4096);
    puts("done");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        continue;
}

int main(int argc, char **argv)
{
    size_t pages = argc > 1 ? strtoull(argv[1], NULL, 0) : 50;
    if (argc > 2 && strcmp(argv[2], "jit") == 0) {
        jit(pages);
        return 0;
    }
    char *base[COUNT];
    for (size_t site = 0; site < COUNT; site++) {
        base[site] = fresh(pages + site);
        printf("site %s %zu\n", sites[site].name, pages + site);
    }
    fflush(stdout);
    for (size_t page = 0; page < pages + COUNT; page++)
        for (size_t site = 0; site < COUNT; site++)
            if (page < pages + site)
                sites[site].touch(base[site] + page * 4096);
    return 0;
}
