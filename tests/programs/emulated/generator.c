/* generator [PAGES]: code made and changed while it runs: pages switched
 * between writable and executable, pages that are both, one function over and
 * over at one place, a store into the next instruction, two mappings of one
 * memory, a thread that calls what another writes, code moved by mremap. With
 * PAGES, that many pages of fresh code besides. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t (*function)(uint64_t);

/* mov eax, n; add rax, rdi; ret */
static size_t put(unsigned char *at, uint32_t n)
{
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3};
    memcpy(code + 1, &n, 4);
    memcpy(at, code, sizeof code);
    return sizeof code;
}

static unsigned char *pages(size_t bytes, int protection)
{
    unsigned char *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

static uint64_t switched(void)
{
    unsigned char *code = pages(4096, PROT_READ | PROT_WRITE);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 200; i++) {
        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        put(code + i % 7 * 16, i);
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
        sum = sum * 3 + ((function)(code + i % 7 * 16))(i);
    }
    munmap(code, 4096);
    return sum;
}

static uint64_t both(void)
{
    unsigned char *code = pages(8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        unsigned char *at = code + 4096 - 5 + i % 3; /* across two pages */
        put(at, i);
        sum = sum * 3 + ((function)at)(i);
    }
    munmap(code, 8192);
    return sum;
}

/* The program's counter of rounds is in the immediate of an instruction of
 * the loop itself, in a page of its own. */
static uint64_t itself(void)
{
    unsigned char code[] = {
        0x31, 0xc0,                         /* xor eax, eax */
        0x31, 0xc9,                         /* xor ecx, ecx */
        0xff, 0xc1,                         /* inc ecx */
        0x89, 0x0d, 1, 0, 0, 0,             /* mov [rip+1], ecx: the next one's immediate */
        0xba, 0, 0, 0, 0,                   /* mov edx, imm */
        0x48, 0x01, 0xd0,                   /* add rax, rdx */
        0x81, 0xf9, 0xe8, 0x03, 0, 0,       /* cmp ecx, 1000 */
        0x75, 0xe8,                         /* jne inc */
        0xc3,
    };
    unsigned char *at = pages(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(at, code, sizeof code);
    uint64_t sum = ((function)at)(0);
    munmap(at, 4096);
    return sum;
}

static uint64_t aliased(void)
{
    int file = memfd_create("code", 0);
    if (ftruncate(file, 4096))
        return 0;
    unsigned char *write = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned char *run = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 500; i++) {
        put(write, i * 3);
        sum = sum * 3 + ((function)run)(i);
    }
    return sum;
}

static unsigned char *volatile slot;
static volatile uint32_t asked, done;
static volatile uint64_t answers;

static void *caller(void *unused)
{
    (void)unused;
    for (uint32_t i = 1; i <= 500; i++) {
        while (asked != i)
            sched_yield();
        answers = answers * 3 + ((function)slot)(i);
        done = i;
    }
    return NULL;
}

static uint64_t across(void)
{
    slot = pages(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    pthread_t thread;
    pthread_create(&thread, NULL, caller, NULL);
    for (uint32_t i = 1; i <= 500; i++) {
        put(slot, i * 11);
        asked = i;
        while (done != i)
            sched_yield();
    }
    pthread_join(thread, NULL);
    return answers;
}

static uint64_t moved(void)
{
    uint64_t sum = 0;
    unsigned char *room = pages(64 * 4096, PROT_NONE);
    for (uint32_t i = 0; i < 50; i++) {
        unsigned char *code = pages(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
        put(code, i);
        sum = sum * 3 + ((function)code)(1);
        unsigned char *to = mremap(code, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, room + i % 2 * 4096);
        sum = sum * 3 + ((function)to)(2);
        /* Other code where this was. */
        unsigned char *again = mmap(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        put(again, i * 100);
        sum = sum * 3 + ((function)again)(3);
        munmap(again, 4096);
    }
    return sum;
}

/* Code read from a file into an executable page by the kernel: no store of
 * the program's own writes it. */
static uint64_t read_in(void)
{
    unsigned char *code = pages(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    int ends[2];
    if (pipe(ends))
        return 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 200; i++) {
        unsigned char bytes[16];
        size_t length = put(bytes, i);
        if (write(ends[1], bytes, length) < 0 || read(ends[0], code, length) < 0)
            return 0;
        sum = sum * 3 + ((function)code)(i);
    }
    return sum;
}

static uint64_t endless(uint32_t count)
{
    uint64_t sum = 0;
    size_t bytes = 1 << 20;
    unsigned char *code = pages(bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* A page of calls' worth of small functions. */
        for (int k = 0; k < 64; k++) {
            if (at + 64 > bytes) {
                munmap(code, bytes);
                code = pages(bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
                at = 0;
            }
            put(code + at, i * 64 + (uint32_t)k);
            sum = sum * 3 + ((function)(code + at))(i);
            at += 64;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    printf("switched %llx\n", (unsigned long long)switched());
    printf("both %llx\n", (unsigned long long)both());
    printf("itself %llx\n", (unsigned long long)itself());
    printf("aliased %llx\n", (unsigned long long)aliased());
    printf("across %llx\n", (unsigned long long)across());
    printf("moved %llx\n", (unsigned long long)moved());
    printf("read in %llx\n", (unsigned long long)read_in());
    if (argc > 1)
        printf("endless %llx\n", (unsigned long long)endless((uint32_t)atoi(argv[1])));
    return 0;
}
