/* patches: code that changes, loses its rights or was never there, in ways
 * that a translator may not notice. The argument says which. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, READ = PROT_READ, WRITE = PROT_WRITE, EXEC = PROT_EXEC };

typedef int (*function)(void);

static sigjmp_buf again;
static void *fault;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    printf("signal %d code %d %s\n", signal, info->si_code,
           info->si_addr == fault ? "there" : "elsewhere");
    siglongjmp(again, 1);
}

/* mov eax, number; ret */
static void write_code(unsigned char *to, unsigned char number)
{
    unsigned char code[] = {0xb8, number, 0, 0, 0, 0xc3};
    memcpy(to, code, sizeof code);
}

static int run(const void *code)
{
    function volatile call = (function)code;
    return call();
}

static unsigned char *page(int pages, int rights)
{
    void *at = mmap(NULL, pages * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(9);
    return at;
}

static void in_child(void (*what)(unsigned char *), unsigned char *code)
{
    fflush(stdout);
    if (!fork()) {
        what(code);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

static void patch_twice(unsigned char *code)
{
    code[1] = 2;
    printf("child %d\n", run(code));
    code[1] = 3;
    printf("child %d\n", run(code));
}

static void map_own(unsigned char *code)
{
    unsigned char *own = page(1, READ | WRITE | EXEC);
    write_code(own, 40 + code[1]);
    printf("child's own %d\n", run(own));
}

static void after_fork(void)
{
    unsigned char *code = page(1, READ | WRITE | EXEC);
    write_code(code, 1);
    printf("%d\n", run(code));
    in_child(patch_twice, code);
    printf("parent %d\n", run(code));
    code[1] = 9;
    printf("parent %d\n", run(code));
    int gate[2];
    if (pipe(gate))
        exit(9);
    fflush(stdout);
    if (!fork()) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1))
            _exit(1);
        printf("child after its parent's change %d\n", run(code));
        map_own(code);
        fflush(stdout);
        _exit(0);
    }
    code[1] = 10;
    printf("parent %d\n", run(code));
    map_own(code);
    fflush(stdout);
    close(gate[1]);
    wait(NULL);
}

static void by_reading(void)
{
    unsigned char *two = page(2, READ | WRITE | EXEC), *code = two + PAGE, bytes[2 * PAGE];
    write_code(code, 1);
    printf("%d\n", run(code));
    memset(bytes, 0x90, sizeof bytes);
    write_code(bytes + PAGE, 7);
    FILE *file = tmpfile();
    fwrite(bytes, 1, sizeof bytes, file);
    fflush(file);
    lseek(fileno(file), 0, SEEK_SET);
    long count = read(fileno(file), two, sizeof bytes);
    printf("read %ld: %d\n", count, run(code));
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
        exit(9);
    write_code(bytes + 100, 9);
    send(pair[0], bytes, 200, 0);
    send(pair[0], "second", 6, 0);
    code[1] = 5;
    printf("%d\n", run(code));
    count = recv(pair[1], code - 100, 200, 0);
    printf("received %ld: %d\n", count, run(code));
}

static void without_rights(void)
{
    unsigned char *code = page(1, READ | WRITE | EXEC);
    fault = code;
    write_code(code, 1);
    printf("%d\n", run(code));
    mprotect(code, PAGE, READ);
    if (!sigsetjmp(again, 1))
        printf("ran %d\n", run(code));
    if (!sigsetjmp(again, 1)) {
        *code = 0x90;
        printf("wrote\n");
    }
    mprotect(code, PAGE, PROT_NONE);
    if (!sigsetjmp(again, 1))
        printf("ran %d\n", run(code));
    mprotect(code, PAGE, READ | WRITE);
    write_code(code, 3);
    mprotect(code, PAGE, READ | EXEC);
    printf("%d\n", run(code));
    mprotect(code, PAGE, READ | WRITE);
    write_code(code, 4);
    mprotect(code, PAGE, READ | EXEC);
    printf("%d\n", run(code));
}

/* Pages that only can be executed, and ones written behind their rights. */
static void hidden(void)
{
    unsigned char *code = page(1, READ | WRITE);
    write_code(code, 1);
    mprotect(code, PAGE, EXEC);
    printf("%d\n", run(code));
    code = page(1, READ | WRITE);
    write_code(code, 2);
    mprotect(code, PAGE, READ | EXEC);
    printf("%d\n", run(code));
    unsigned char more[6];
    write_code(more, 3);
    int memory = open("/proc/self/mem", O_RDWR);
    if (pwrite(memory, more, sizeof more, (off_t)(code + 64)) == sizeof more)
        printf("%d\n", run(code + 64));
}

static void moved(void)
{
    unsigned char *code = page(1, READ | WRITE | EXEC), *to = page(1, READ);
    write_code(code, 1);
    printf("%d\n", run(code));
    to = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    to[1] = 2;
    printf("%d\n", run(to));
    munmap(to, PAGE);
    fault = to;
    if (!sigsetjmp(again, 1))
        printf("ran %d\n", run(to));
    mmap(to, PAGE, READ | WRITE | EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    write_code(to, 4);
    printf("%d\n", run(to));
}

/* To no address, one without memory, and one that is the kernel's. */
static void nowhere(void)
{
    fault = NULL;
    if (!sigsetjmp(again, 1))
        run((void *)0x4141414141414141);
    if (!sigsetjmp(again, 1))
        run((void *)-1);
    for (int times = 1; times <= 40; times++) {
        fault = (void *)(times * 0x200000000UL + 0x10000000000UL);
        if (!sigsetjmp(again, 1))
            run(fault);
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int has_calls = 0;
    while (fgets(line, sizeof line, maps))
        has_calls |= strstr(line, "[vsyscall]") != NULL;
    if (has_calls) {
        long (*clock)(long *) = (void *)0xffffffffff600400, now = clock(NULL);
        printf("time %d\n", now - time(NULL) <= 1 && time(NULL) - now <= 1);
    }
}

/* More places far from each other than there is translated code for. */
static void far(void)
{
    for (int times = 1; times <= 40; times++) {
        void *at = (void *)(times * 0x200000000UL + 0x10000000000UL);
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        if (mmap(at, PAGE, READ | WRITE | EXEC, flags, -1, 0) != at)
            exit(9);
        write_code(at, times);
        if (run(at) != times)
            printf("wrong at %d\n", times);
    }
    puts("done");
}

/* New memory of ours, where the program may open no more files. */
static void filed(void)
{
    struct rlimit few;
    getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &few);
    far();
    getrlimit(RLIMIT_NOFILE, &few);
    printf("limit %ld\n", (long)few.rlim_cur);
}

static void locked(void)
{
    mlockall(MCL_CURRENT | MCL_FUTURE);
    unsigned char *code = page(1, READ | WRITE | EXEC);
    write_code(code, 1);
    printf("%d\n", run(code));
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } ways[] = {
        {"fork", after_fork}, {"read", by_reading}, {"rights", without_rights},
        {"hidden", hidden},   {"moved", moved},     {"nowhere", nowhere},
        {"far", far},         {"locked", locked},
        {"filed", filed},
    };
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++)
        if (count > 1 && !strcmp(arguments[1], ways[way].name))
            ways[way].call();
    return 0;
}
